"""Adapters for a conformance harness: `load(path)` gives what has `run({name: value})`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import graphio.onnx
from graphio import errors
from graphio.onnx.backend import plain
from graphio.support.version import graphio_version

try:  # the harness's own exception where it runs us: what it counts as "declined"
    from onnx_backend import Unsupported
except ImportError:

    class Unsupported(Exception):  # type: ignore[no-redef]
        """The engine declines the model: not implemented, rather than wrong."""


class GraphioEngine:
    """Models through the importer into one engine."""

    name = ""
    target = ""

    def version(self) -> str:
        return graphio_version

    def load(self, path: Path) -> Runner:
        try:
            model = graphio.onnx.load(path, self.target)
        except errors.UnimplementedError as error:
            raise Unsupported(str(error)) from error
        return Runner(model.signature(graphio.onnx.SIGNATURE))


class GraphioPython(GraphioEngine):
    """The Python runtime."""

    name = "graphio-python"


class GraphioC(GraphioEngine):
    """The C library."""

    name = "graphio-c"
    target = "cinfer"


class Runner:
    """One loaded model."""

    def __init__(self, signature: Any) -> None:
        self.signature = signature

    def run(self, feeds: dict[str, Any]) -> list[Any]:
        wanted = list(self.signature.inputs)
        try:
            return [plain(v) for v in self.signature.run([feeds[key] for key in wanted])]
        except errors.UnimplementedError as error:
            raise Unsupported(str(error)) from error
