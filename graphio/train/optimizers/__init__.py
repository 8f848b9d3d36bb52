"""Optimizers, learning rates and moving averages."""

from typing import TYPE_CHECKING

from graphio.support.old_paths import names_of

if not TYPE_CHECKING:
    __getattr__ = names_of(__name__, "graphio.train.optimizers.basic")
