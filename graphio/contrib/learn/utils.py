"""tf.contrib.learn.utils: functions of inputs for serving."""

from __future__ import annotations

import sys

from graphio.contrib.learn.experiment import make_export_strategy
from graphio.contrib.learn.model_functions import (
    InputFnOps,
    build_default_serving_input_fn,
    build_parsing_serving_input_fn,
)
from graphio.framework import api_boundary, refusals

__all__ = [
    "InputFnOps",
    "build_default_serving_input_fn",
    "build_parsing_serving_input_fn",
    "make_export_strategy",
]

api_boundary.guard_namespace(sys.modules[__name__])
__getattr__ = refusals.getter(__name__)
