import numpy as np
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression

import graphio as tf  # noqa: F401

x, y = load_iris(return_X_y=True)
pipeline = LogisticRegression(max_iter=500).fit(x, y)
rows = x[::10].astype(np.float32)
