"""Heads: from the last layer of a model to its predictions, loss and metrics.

base      Head, and the parts that heads of one problem share
losses    losses of rows, and their weighted means
streams   metrics
single    heads of one problem
multi     a head of several
"""

from __future__ import annotations

import sys

from graphio.contrib.learn.head.base import Head
from graphio.contrib.learn.head.multi import multi_head
from graphio.contrib.learn.head.single import (
    binary_svm_head,
    multi_class_head,
    multi_label_head,
    poisson_regression_head,
    regression_head,
)
from graphio.contrib.learn.model_functions import no_op_train_fn
from graphio.framework import api_boundary, refusals

__all__ = [
    "Head",
    "binary_svm_head",
    "multi_class_head",
    "multi_head",
    "multi_label_head",
    "no_op_train_fn",
    "poisson_regression_head",
    "regression_head",
]

api_boundary.guard_namespace(sys.modules[__name__])
__getattr__ = refusals.getter(__name__)
