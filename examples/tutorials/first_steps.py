"""Graphs, tensors, variables, placeholders and sessions, in the order in which one meets them.

python examples/tutorials/first_steps.py
"""

from __future__ import annotations

import numpy as np

import graphio as tf


def constants() -> None:
    """A constant's value is part of the graph; printing a tensor shows what is known of it."""
    a = tf.constant([[1.0, 2.0], [3.0, 4.0]], name="a")
    b = tf.ones((2, 2))
    total = tf.matmul(a, b) + 1.0
    print(total)  # Tensor("add:0", shape=(2, 2), dtype=float32)
    print(tf.rank(total))  # a tensor, too: the rank is known when it is run
    with tf.Session() as sess:
        print(sess.run(total))
        print("rank", sess.run(tf.rank(total)))


def variables() -> None:
    """A variable keeps its value from run to run, and has none before its initializer ran."""
    counter = tf.get_variable("counter", shape=(), initializer=tf.zeros_initializer, dtype=tf.int32)
    increment = counter.assign_add(1)
    with tf.Session() as sess:
        try:
            sess.run(counter)
        except tf.errors.FailedPreconditionError as error:
            print("as expected:", error.message)
        sess.run(tf.global_variables_initializer())
        for _ in range(3):
            print("counter", sess.run(increment))
    try:
        tf.get_variable("counter", shape=())
    except ValueError as error:
        print("as expected:", str(error).splitlines()[0])


def placeholders() -> None:
    """A placeholder is fed in each run; None in its shape leaves a size open."""
    x = tf.placeholder(tf.float32, shape=(None, 2), name="x")
    length = tf.sqrt(tf.reduce_sum(tf.square(x), axis=1))
    print(length.shape)  # (?,)
    with tf.Session() as sess:
        print(sess.run(length, feed_dict={x: [[3.0, 4.0]]}))
        print(length.eval({x: np.eye(2)}))
        try:
            sess.run(length)
        except tf.errors.InvalidArgumentError as error:
            print("as expected:", error.message)
        try:
            sess.run(length, {x: np.zeros((2, 3))})
        except ValueError as error:
            print("as expected:", error)


def graphs() -> None:
    """Several models in one program are in separate graphs."""
    graph = tf.Graph()
    with graph.as_default():
        six = tf.constant(6.0, name="six")
        answer = tf.multiply(six, 7.0, name="answer")
        tf.add_to_collection("answers", answer)
    print([op.name for op in graph.get_operations()])
    with tf.Session(graph=graph) as sess:
        print(sess.run("answer:0"), sess.run(graph.get_collection("answers")))


def main() -> None:
    for lesson in (constants, variables, placeholders, graphs):
        print(f"--- {lesson.__name__}")
        with tf.Graph().as_default():
            lesson()


if __name__ == "__main__":
    main()
