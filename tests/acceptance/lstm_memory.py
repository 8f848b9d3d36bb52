"""Trains an LSTM that reports the first token of a sequence, whose length varies."""

import numpy as np

import graphio as tf

TOKENS, LENGTH, UNITS = 4, 6, 16


def batch(rng, count=32):
    """Sequences, their lengths, and the first token of each."""
    tokens = rng.randint(0, TOKENS, [count, LENGTH])
    return tokens, rng.randint(2, LENGTH + 1, count), tokens[:, 0]


tf.set_random_seed(5)
sequences = tf.placeholder(tf.int32, [None, LENGTH], name="sequences")
lengths = tf.placeholder(tf.int32, [None], name="lengths")
targets = tf.placeholder(tf.int32, [None], name="targets")
cell = tf.nn.rnn_cell.BasicLSTMCell(UNITS)
outputs, state = tf.nn.dynamic_rnn(
    cell, tf.one_hot(sequences, TOKENS), sequence_length=lengths, dtype=tf.float32
)
logits = tf.layers.dense(state.h, TOKENS)
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=targets, logits=logits))
optimizer = tf.train.AdamOptimizer(0.02)
gradients, variables = zip(*optimizer.compute_gradients(loss), strict=True)
clipped, norm = tf.clip_by_global_norm(gradients, 1.0)
train = optimizer.apply_gradients(zip(clipped, variables, strict=True))

with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    rng = np.random.RandomState(2)
    for _ in range(150):
        tokens, ends, first = batch(rng)
        session.run(train, {sequences: tokens, lengths: ends, targets: first})
    tokens, ends, first = batch(rng, 200)
    scores, steps, last = session.run([logits, outputs, state], {sequences: tokens, lengths: ends})

assert np.mean(np.argmax(scores, axis=1) == first) > 0.95
for row, end in enumerate(ends):
    assert np.all(steps[row, end:] == 0), "outputs beyond a sequence's length are zeros"
    np.testing.assert_array_equal(steps[row, end - 1], last.h[row])
