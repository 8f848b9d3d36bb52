"""onnx.backend.base.Backend for both engines, as tools of the ONNX ecosystem expect it.

from graphio.onnx.backend import CBackend
outputs = CBackend.run_model(onnx.load("model.onnx"), [x])
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper
from onnx.backend.base import Backend, BackendRep, namedtupledict

from graphio.onnx.conversion import SIGNATURE, load
from graphio.support import errors

__all__ = ["CBackend", "Prepared", "PythonBackend", "plain"]


class Prepared(BackendRep):
    """A model in an engine.

    Attributes:
        signature: the engine's.
    """

    def __init__(self, model: Any) -> None:
        self.signature = model.signature(SIGNATURE)

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The outputs in the model's order, also by name; strings as str, as in ONNX's tools.

        Args:
            inputs: a sequence in the model's order, a mapping from names, or the only one.
            kwargs: accepted for the interface's sake.
        """
        names = list(self.signature.inputs)
        if isinstance(inputs, Mapping):
            values = [inputs[name] for name in names]
        elif isinstance(inputs, Sequence):
            values = list(inputs)
        else:
            values = [inputs]
        kinds = [spec.kinds for spec in self.signature.inputs.values()]
        made = self.signature.run([_value(v, k) for v, k in zip(values, kinds, strict=False)])
        named = namedtupledict("Outputs", list(self.signature.outputs))
        outputs: tuple[Any, ...] = named(*map(plain, made))
        return outputs


def plain(value: Any) -> Any:
    """An output whose strings are str where they are UTF-8; in graphio they are bytes."""
    if isinstance(value, list):
        return [plain(v) for v in value]
    if not isinstance(value, np.ndarray) or value.dtype != object:
        return value
    made = np.empty(value.size, object)
    made[:] = [_text(element) for element in value.ravel()]
    return made.reshape(value.shape)


def _text(element: Any) -> Any:
    try:
        return element.decode() if isinstance(element, bytes) else element
    except UnicodeDecodeError:
        return element


def _value(value: Any, kinds: Sequence[str]) -> Any:
    """An input's value as arrays; a list for a sequence, None for an absent optional."""
    if value is None and kinds[:1] == ("optional",):
        return None
    if isinstance(value, list) and "sequence" in kinds:
        return [np.asarray(v) for v in value]
    return np.asarray(value)


class _Engine(Backend):
    target = ""

    @classmethod
    def is_compatible(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> bool:
        """Whether the engine takes the model; false where an operator or type is missing."""
        try:
            load(model, cls.target)
        except errors.UnimplementedError:
            return False
        return True

    @classmethod
    def prepare(cls, model: onnx.ModelProto, device: str = "CPU", **kwargs: Any) -> Prepared:
        """Loads a model into the engine.

        Raises:
            As graphio.onnx.load; ValueError for a device other than the CPU.
        """
        if not cls.supports_device(device):
            raise ValueError(f"device is {device!r}, graphio computes on the CPU")
        return Prepared(load(model, cls.target))

    @classmethod
    def run_node(
        cls,
        node: onnx.NodeProto,
        inputs: Any,
        device: str = "CPU",
        outputs_info: Any = None,
        **kwargs: Any,
    ) -> tuple[Any, ...]:
        """Runs one node on arrays.

        Args:
            node: of the newest opset, or of `opset_version`.
            inputs: one array an input that the node names, in order.
            device: "CPU".
            outputs_info: accepted for the interface's sake.
            kwargs: opset_version: the opset that the node is written for.
        """
        names = [name for name in node.input if name]
        arrays = [np.asarray(v) for v in inputs]
        graph = helper.make_graph(
            [node],
            "node",
            [
                helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
                for n, a in zip(names, arrays, strict=True)
            ],
            [onnx.ValueInfoProto(name=name) for name in node.output if name],
        )
        version = kwargs.get("opset_version", onnx.defs.onnx_opset_version())
        opset = helper.make_opsetid(node.domain, version)
        model = helper.make_model(graph, opset_imports=[opset])
        return cls.prepare(model, device).run(arrays)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """True for "CPU", with or without a number."""
        return device.split(":")[0].upper() == "CPU"


class PythonBackend(_Engine):
    """The Python runtime."""


class CBackend(_Engine):
    """The C library."""

    target = "cinfer"
