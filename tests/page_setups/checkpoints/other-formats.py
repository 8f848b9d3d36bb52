import os

import numpy as np

import graphio as tf

shapes = {"conv.weight": (4, 3, 2, 2), "conv.bias": (4,), "fc.weight": (5, 4), "fc.bias": (5,)}
np.savez("net.npz", **{name: np.ones(shape, np.float32) for name, shape in shapes.items()})
os.rename("net.npz", "net.pt")  # the bytes say what it is
for name, shape in {"conv/kernel": (2, 2, 3, 4), "fc/kernel": (4, 5)}.items():
    tf.get_variable(name, shape)
    tf.get_variable(name.replace("kernel", "bias"), shape[-1:])
session = tf.Session()
