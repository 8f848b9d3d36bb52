"""The targets, and the packages whose branches guide the fuzzer in each."""

from __future__ import annotations

GUIDED_BY = {
    "model_reader": ("graphio.schema", "graphio.runtime", "graphio.model.importing"),
    "checkpoint_reader": ("graphio.schema", "graphio.train"),
    "interop": ("graphio.train.interop",),
    "onnx_importer": ("graphio.onnx",),
    "tensorflow_importer": ("graphio.tensorflow_files",),
    "serving_requests": ("graphio.serving",),
}
