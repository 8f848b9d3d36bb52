"""tf.contrib.stateless: random numbers that depend on their seed alone."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from graphio.framework import api_boundary, refusals
from graphio.ops.random.stateless import stateless_multinomial, stateless_truncated_normal
from graphio.ops.random.stateless import stateless_normal as stateless_random_normal
from graphio.ops.random.stateless import stateless_uniform as stateless_random_uniform

__all__ = [
    "stateless_multinomial",
    "stateless_random_normal",
    "stateless_random_uniform",
    "stateless_truncated_normal",
]

api_boundary.guard_namespace(sys.modules[__name__])

if not TYPE_CHECKING:
    __getattr__ = refusals.getter(__name__)
