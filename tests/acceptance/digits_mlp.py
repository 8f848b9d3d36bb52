"""Trains a perceptron with one hidden layer on digits drawn as 3 x 5 pixels with noise."""

import numpy as np

import graphio as tf

GLYPHS = """
###  .#.  ###  ###  #.#  ###  ###  ###  ###  ###
#.#  ##.  ..#  ..#  #.#  #..  #..  ..#  #.#  #.#
#.#  .#.  ###  .##  ###  ###  ###  .#.  ###  ###
#.#  .#.  #..  ..#  ..#  ..#  #.#  .#.  #.#  ..#
###  ###  ###  ###  ..#  ###  ###  .#.  ###  ###
"""
ROWS = [line.split() for line in GLYPHS.split("\n") if line]
DIGITS = np.float32([[c == "#" for row in ROWS for c in row[digit]] for digit in range(10)])


def samples(rng, count):
    """Digits with noise, and what they are."""
    labels = rng.randint(0, 10, count)
    return DIGITS[labels] + 0.2 * rng.randn(count, 15).astype(np.float32), labels


images = tf.placeholder(tf.float32, [None, 15], name="images")
labels = tf.placeholder(tf.int64, [None], name="labels")
training = tf.placeholder_with_default(False, [], name="training")
hidden = tf.layers.dense(images, 32, activation=tf.nn.relu, name="hidden")
hidden = tf.layers.dropout(hidden, rate=0.1, training=training, seed=3)
logits = tf.layers.dense(hidden, 10, name="logits")
loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits))
step = tf.train.get_or_create_global_step()
train = tf.train.AdamOptimizer(0.02).minimize(loss, global_step=step)
accuracy = tf.reduce_mean(tf.cast(tf.equal(tf.argmax(logits, 1), labels), tf.float32))

with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    rng = np.random.RandomState(1)
    test_images, test_labels = samples(rng, 500)
    test = {images: test_images, labels: test_labels}
    untrained = session.run(accuracy, test)
    for _ in range(200):
        batch, batch_labels = samples(rng, 50)
        session.run(train, {images: batch, labels: batch_labels, training: True})
    trained, again, steps = [session.run(fetch, test) for fetch in (accuracy, accuracy, step)]

assert untrained < 0.5, untrained
assert trained > 0.95, trained
assert trained == again, "without dropout two runs agree"
assert steps == 200
