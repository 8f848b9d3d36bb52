import os
import shutil

import numpy as np

import graphio as tf

shutil.copy(f"{os.environ['GRAPHIO_ROOT']}/tests/golden/foreign/torch_network.pt", "net.pt")
network = tf.train.load_values(
    "net.pt", transpose={"conv.weight": "conv2d", "fc1.weight": "linear"}
)
for name in ("conv.weight", "conv.bias", "fc1.weight", "fc1.bias"):
    ours = name.replace(".weight", "/kernel").replace(".", "/")
    tf.get_variable(ours, initializer=np.zeros(network[name].shape, np.float32))
session = tf.Session()
session.run(tf.global_variables_initializer())
