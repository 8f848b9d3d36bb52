"""Metrics that choose a threshold, or count at many."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from graphio.evaluation import metrics_thresholds
from graphio.evaluation.metrics import Metric, matched, metric_variable, registered, weighted
from graphio.framework import dtypes, scopes
from graphio.framework.constants import constant, convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.array import index, order
from graphio.ops.array import surface as array
from graphio.ops.checks.asserts import assert_greater_equal, assert_less_equal
from graphio.ops.control_flow.groups import group
from graphio.ops.math import comparison, elementwise, reduction, scanning
from graphio.support import api_guard
from graphio.variables.variable_scope import variable_scope

__all__ = [
    "PrecisionRecallData",
    "precision_at_recall",
    "precision_recall_at_equal_thresholds",
    "recall_at_precision",
]

_TINY = 1e-7
