"""Trains a Wasserstein GAN on a normal distribution; a clip keeps the critic's weights bounded."""

import numpy as np

import graphio as tf

CLIP, MEAN = 0.1, 3.0


def generator(noise):
    with tf.variable_scope("generator"):
        return tf.layers.dense(noise, 1, name="shift")


def critic(values):
    with tf.variable_scope("critic", reuse=tf.AUTO_REUSE):
        return tf.layers.dense(tf.layers.dense(values, 16, tf.nn.relu, name="in"), 1, name="out")


tf.set_random_seed(7)
real = tf.placeholder(tf.float32, [None, 1], name="real")
fake = generator(tf.random_normal([64, 1]))
critic_loss = tf.reduce_mean(critic(fake)) - tf.reduce_mean(critic(real))
generator_loss = -tf.reduce_mean(critic(fake))
of_critic = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope="critic")
of_generator = tf.get_collection(tf.GraphKeys.TRAINABLE_VARIABLES, scope="generator")
update = tf.train.RMSPropOptimizer(0.01).minimize(critic_loss, var_list=of_critic)
with tf.control_dependencies([update]):
    train_critic = tf.group(*[v.assign(tf.clip_by_value(v, -CLIP, CLIP)) for v in of_critic])
train_generator = tf.train.RMSPropOptimizer(0.05).minimize(generator_loss, var_list=of_generator)

assert len(of_critic) == 4 and len(of_generator) == 2, "the critic's second use shares its weights"
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    rng = np.random.RandomState(4)
    before = np.mean(session.run(fake))
    for _ in range(120):
        for _ in range(3):
            sample = MEAN + 0.5 * rng.randn(64, 1).astype(np.float32)
            session.run(train_critic, {real: sample})
            largest = max(np.abs(w).max() for w in session.run(of_critic))
            assert largest <= np.float32(CLIP), largest
        session.run(train_generator)
    after = np.mean([session.run(fake) for _ in range(20)])

assert abs(before) < 1, before
assert abs(after - MEAN) < 1, f"the generator's mean is {after}, that of the data {MEAN}"
