"""Files that a real TensorFlow wrote, read without it: frozen graphs and SavedModels.

model = graphio.tensorflow_files.load("exported_model")
scores = model.signature("serving_default")(x=images)["output_0"]

May import train and below. The fields of the messages are in schema/tensorflow.proto.

    conversion, models   load, convert; reading: bytes; bodies: graphs and functions in one form
    missing              all operators that are unknown, in one error
    importing, calls     nodes in order; operators/: a row an operator; by_type: Graph.create_op
    control, frames      functions, branches; Switch, Merge, Enter, Exit as loops
    checkpoints, weights    values of variables; constants that were variables; values: tensors
    twins                signatures that compute the same
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphio.tensorflow_files.conversion import convert, load
    from graphio.tensorflow_files.models import Imported, Signature, import_model
    from graphio.tensorflow_files.reading import read_graph

__all__ = ["Imported", "Signature", "convert", "import_model", "load", "read_graph"]

#: The builder and its operators are loaded when a name is first used.
_MODULES = {
    "Imported": "models", "Signature": "models", "convert": "conversion", "import_model": "models",
    "load": "conversion", "read_graph": "reading",
}  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
