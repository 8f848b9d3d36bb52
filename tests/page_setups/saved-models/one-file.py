import numpy as np

import graphio as tf

x = tf.placeholder(tf.float32, [None, 3], name="x")
y = tf.layers.dense(x, 2)
session = tf.Session()
session.run(tf.global_variables_initializer())
images = np.ones((2, 3), np.float32)
