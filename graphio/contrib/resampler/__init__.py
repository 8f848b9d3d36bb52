"""tf.contrib.resampler: images read at positions."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from graphio.contrib.resampler.sampling import resampler
from graphio.framework import api_boundary, refusals

__all__ = ["resampler"]

api_boundary.guard_namespace(sys.modules[__name__])

if not TYPE_CHECKING:
    __getattr__ = refusals.getter(__name__)
