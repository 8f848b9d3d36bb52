"""Rules for operators with a body."""

from __future__ import annotations

import onnx
from onnx import helper

from graphio.onnx.upgrade.step import Step, Unsupported

__all__ = ["scan_batches"]


def scan_batches(step: Step) -> None:
    """Scan 8 has a batch in dimension 0: a Scan over it around the Scan over the sequence."""
    if step.input(0):
        raise Unsupported(
            f"it has sequences of different lengths, {step.input(0)!r}",
            "leave that input out and mask the elements after the sequences' ends",
        )
    values = list(step.node.input[1:])
    inner = onnx.NodeProto()
    inner.CopyFrom(step.node)
    elements = [step.new_name(f"element_{i}") for i in range(len(values))]
    results = [step.new_name(f"result_{i}") for i in range(len(step.node.output))]
    inner.name = step.new_name("sequence")
    del inner.input[:], inner.output[:]
    inner.input.extend(elements)
    inner.output.extend(results)
    for attribute in inner.attribute:
        if attribute.name == "directions":
            attribute.name = "scan_input_directions"
    types = _types(step, len(results))
    body = helper.make_graph(
        [inner],
        step.new_name("batch"),
        [onnx.ValueInfoProto(name=n) for n in elements],
        [
            helper.make_tensor_value_info(n, t, None) if t else onnx.ValueInfoProto(name=n)
            for n, t in zip(results, types, strict=True)
        ],
    )
    step.set_inputs(*values)
    step.drop("body", "directions", "num_scan_inputs")
    step.set("body", body)
    step.set("num_scan_inputs", len(values))


def _types(step: Step, count: int) -> list[int]:
    """Element types of the body's results, 0 where it does not say."""
    body = step.value("body")
    return [body.output[i].type.tensor_type.elem_type for i in range(count)]
