import numpy as np

import graphio as tf  # noqa: F401

images = np.zeros((100, 8, 8), np.float32)
labels = np.arange(100)
