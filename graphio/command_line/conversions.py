"""Options of `graphio convert` that have an effect, by source and target format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from graphio.command_line import opening

__all__ = ["FITS", "Fit", "unused_options"]

#: formats of a target
GIO, ONNX, WEIGHTS = ".gio", ".onnx", "weights"
_ANY = (*opening.MODELS, opening.CHECKPOINT, opening.WEIGHTS)


class Fit(NamedTuple):
    """The conversions for which an option has an effect.

    Attributes:
        sources: kinds of what is converted, as opening.kind_of gives them.
        targets: what it becomes: ".gio", ".onnx" or weights.
        means: the same in words.
    """

    sources: tuple[str, ...]
    targets: tuple[str, ...]
    means: str


_MODEL = "a model or a checkpoint's graph that becomes .gio or .onnx"
_TO_MODEL = Fit((*opening.MODELS, opening.CHECKPOINT), (GIO, ONNX), _MODEL)
_GRAPH = Fit((opening.CHECKPOINT,), (GIO, ONNX), "a checkpoint's graph that becomes .gio or .onnx")
#: by names of the command's parameters
FITS: Mapping[str, Fit] = {
    "signature": Fit(opening.MODELS, (GIO, ONNX), "a model that becomes .gio or .onnx"),
    "inputs": _GRAPH,
    "outputs": _GRAPH,
    "optimize": _TO_MODEL,
    "freeze": _TO_MODEL,
    "weights": _TO_MODEL,
    "strip": Fit(_TO_MODEL.sources, (GIO,), "a model or a checkpoint's graph that becomes .gio"),
    "opset": Fit(_ANY, (ONNX,), "what becomes .onnx"),
    "names": Fit(_ANY, (WEIGHTS,), "what becomes weights or a checkpoint"),
}


def unused_options(kind: str, target: str) -> dict[str, str]:
    """The parameters that do nothing between two kinds, with what they are for."""
    return {
        name: f"for {fit.means}"
        for name, fit in FITS.items()
        if kind not in fit.sources or target not in fit.targets
    }
