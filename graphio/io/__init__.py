"""tf.io: files, records, pictures in files, and strings in base64.

May import execution and below. Names that other modules define are looked up when they are used.
"""

from __future__ import annotations

from typing import Any

from graphio.io import gfile

__all__ = ["gfile"]

#: names that are defined elsewhere
_OTHERS = {
    "graphio": (
        "FixedLenFeature", "FixedLenSequenceFeature", "PaddingFIFOQueue", "PriorityQueue",
        "QueueBase", "RandomShuffleQueue", "SparseFeature", "VarLenFeature", "decode_base64",
        "decode_compressed", "decode_csv", "decode_json_example", "decode_raw",
        "deserialize_many_sparse",
        "encode_base64", "matching_files", "parse_example", "parse_single_example",
        "parse_single_sequence_example", "parse_tensor", "read_file", "serialize_many_sparse",
        "serialize_sparse", "serialize_tensor", "write_file",
    ),
    "graphio.image": (
        "decode_and_crop_jpeg", "decode_bmp", "decode_gif", "decode_image", "decode_jpeg",
        "decode_png", "encode_jpeg", "encode_png", "extract_jpeg_shape", "is_jpeg",
    ),
    "graphio.ops.strings.sequence_example": ("parse_sequence_example",),
    "graphio.python_io": (
        "TFRecordCompressionType", "TFRecordOptions", "TFRecordWriter", "tf_record_iterator",
    ),
    "graphio.train": ("match_filenames_once", "write_graph"),
}  # fmt: skip
#: modules of these that work only with the builder loaded, which registers operators
_OF_THE_BUILDER = {
    "graphio.ops.strings.sequence_example",
}


def __getattr__(name: str) -> Any:
    import importlib

    from graphio.framework.refusals import refusal

    for module, names in _OTHERS.items():
        if name in names:
            if module in _OF_THE_BUILDER:
                import graphio

                graphio.Graph  # noqa: B018
            return getattr(importlib.import_module(module), name)
    raise AttributeError(refusal(name) or f"module {__name__!r} has no attribute {name!r}")
