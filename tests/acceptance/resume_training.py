"""Saves a training, restores it in another graph, and gets the bits of an uninterrupted one."""

import numpy as np

import graphio as tf


def build():
    """A training step that draws its own noise, so that generators must be in the checkpoint."""
    graph = tf.Graph()
    with graph.as_default():
        tf.set_random_seed(11)
        weights = tf.get_variable("weights", [8], initializer=tf.zeros_initializer())
        noise = tf.random_normal([8], seed=1)
        loss = tf.reduce_sum(tf.square(weights - tf.linspace(-1.0, 1.0, 8) + 0.1 * noise))
        step = tf.train.get_or_create_global_step()
        train = tf.train.AdamOptimizer(0.05).minimize(loss, global_step=step)
        return graph, weights, train, tf.global_variables_initializer(), tf.train.Saver()


graph, weights, train, initialize, saver = build()
with tf.Session(graph=graph) as session:
    session.run(initialize)
    for _ in range(10):
        session.run(train)
    prefix = saver.save(session, "./model.ckpt", global_step=10)
    for _ in range(10):
        session.run(train)
    uninterrupted = session.run(weights)

assert prefix == "./model.ckpt-10" == tf.train.latest_checkpoint(".")
graph, weights, train, initialize, saver = build()
with tf.Session(graph=graph) as session:
    saver.restore(session, tf.train.latest_checkpoint("."))
    assert tf.train.global_step(session, graph.get_tensor_by_name("global_step:0")) == 10
    for _ in range(10):
        session.run(train)
    resumed = session.run(weights)

np.testing.assert_array_equal(resumed, uninterrupted)
assert np.any(resumed != 0)
