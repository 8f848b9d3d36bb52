import os
import zipfile

import numpy as np

import graphio as tf  # noqa: F401

zipfile.ZipFile(f"{os.environ['GRAPHIO_ROOT']}/tests/tensorflow_models/mlp.zip").extractall()
os.rename("mlp", "exported")
images = np.ones((2, 8), np.float32)
labels = np.zeros((2, 4), np.float32)
