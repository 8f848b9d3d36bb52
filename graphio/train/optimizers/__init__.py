"""Optimizers, learning rates and moving averages.

optimizer        the base class; subclassing: for custom optimizers
gradient_descent plain descent and momentum; adam: Adam
adaptive         RMSProp, Adagrad, Adadelta; regularized: Ftrl and proximal ones
"""

from typing import TYPE_CHECKING

from graphio.support.old_paths import names_of

if not TYPE_CHECKING:
    __getattr__ = names_of(
        __name__, "graphio.train.optimizers.adam", "graphio.train.optimizers.gradient_descent"
    )
