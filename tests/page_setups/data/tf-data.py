import numpy as np
import pyarrow
import pyarrow.parquet

import graphio as tf  # noqa: F401

images = np.zeros((100, 8, 8), np.float32)
labels = np.arange(100)
table = pyarrow.table({"age": [3, None, 5], "name": ["a", "b", "c"]})
for year in ("2023", "2024"):
    pyarrow.parquet.write_table(table.slice(0, 1), f"{year}.parquet")
