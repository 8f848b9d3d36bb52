"""tf.io: files, records, and texts of bytes."""

from __future__ import annotations

from typing import Any

from graphio.io import gfile

__all__ = ["gfile"]

#: names that live elsewhere
_OTHERS = {
    "graphio": (
        "FixedLenFeature", "FixedLenSequenceFeature", "VarLenFeature", "decode_base64",
        "decode_raw", "encode_base64", "parse_example", "parse_single_example",
    ),
    "graphio.python_io": (
        "TFRecordCompressionType", "TFRecordOptions", "TFRecordWriter", "tf_record_iterator",
    ),
    "graphio.train": ("write_graph",),
}  # fmt: skip


def __getattr__(name: str) -> Any:
    import importlib

    for module, names in _OTHERS.items():
        if name in names:
            return getattr(importlib.import_module(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
