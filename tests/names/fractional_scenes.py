"""Fractional pooling, for name_scenes: TensorFlow's draws and values."""

from __future__ import annotations

from typing import Any

import numpy as np
from name_scenes import Scene, numbers

REAL = numbers(2, 11, 8, 3)
#: value, ratio, pseudo_random, overlapping
SETTINGS = (
    (REAL, [1.0, 1.44, 1.73, 1.0], True, False),
    (REAL, [1.0, 1.44, 1.73, 1.0], False, False),
    (REAL, [1.0, 2.5, 1.3, 1.0], True, True),
    (REAL, [1.0, 1.1, 3.7, 1.0], False, True),
    (REAL.astype(np.float64), [1.0, 2.0, 2.0, 1.0], True, False),
    ((REAL * 50).astype(np.int32), [1.0, 1.6, 1.4, 1.0], True, True),
    ((REAL * 50).astype(np.int64), [1.0, 1.0, 2.2, 1.0], False, False),
)


def fractional(tf: Any) -> Any:
    """Maxima and means of each setting, with rows and columns."""
    pools = (tf.nn.fractional_max_pool, tf.nn.fractional_avg_pool)
    return [
        pool(*given, deterministic=True, seed=i + 1, seed2=2)
        for i, given in enumerate(SETTINGS)
        for pool in pools
    ]


SCENES: dict[str, Scene] = {"fractional": fractional}
