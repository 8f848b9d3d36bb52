"""tf.keras, of which the data sets alone are there. May import profiler and below."""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from graphio.framework.refusals import refusal

__all__ = ["datasets"]

if TYPE_CHECKING:
    from graphio.keras import datasets
else:

    def __getattr__(name: str) -> Any:
        """datasets, which is imported when it is used first."""
        if name == "datasets":
            return importlib.import_module(f"{__name__}.{name}")
        text = refusal(f"keras.{name}") or (
            f"module {__name__!r} has no attribute {name!r}: of tf.keras there are the data sets "
            "alone; use tf.layers for layers and tf.train for training"
        )
        raise AttributeError(text, name=name, obj=sys.modules[__name__])
