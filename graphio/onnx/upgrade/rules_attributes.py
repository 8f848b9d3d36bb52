"""Rules for attributes: gone, renamed, turned into inputs, with other defaults or values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx

from graphio.onnx.upgrade.step import Step, Unsupported

__all__ = [
    "cast_to_number",
    "clip_bounds",
    "default",
    "dft_axis",
    "dropped",
    "inputs_from",
    "integral_p",
    "pad_value",
    "recurrent_direction",
    "renamed",
    "renamed_values",
    "required",
    "split_parts",
    "top_k",
]

Rule = Callable[[Step], None]

_FLOAT32_MAX = float(np.finfo(np.float32).max)


def dropped(*attributes: str) -> Rule:
    """Drops attributes that have no effect."""
    return lambda step: step.drop(*attributes)


def default(attribute: str, value: Any) -> Rule:
    """Writes out an attribute's old default, which later opsets have changed."""

    def rule(step: Step) -> None:
        if step.attribute(attribute) is None:
            step.set(attribute, value)

    return rule


def required(attribute: str, remedy: str) -> Rule:
    """The attribute was optional, but the standard did not say what its absence meant."""

    def rule(step: Step) -> None:
        if step.attribute(attribute) is None:
            raise Unsupported(f"it has no attribute {attribute!r}", remedy)

    return rule


def renamed(old: str, new: str) -> Rule:
    """The attribute has another name."""

    def rule(step: Step) -> None:
        found = step.attribute(old)
        if found is not None:
            found.name = new

    return rule


def renamed_values(attribute: str, values: dict[str, str]) -> Rule:
    """The attribute's values have other names."""

    def rule(step: Step) -> None:
        value = step.value(attribute)
        if value in values:
            step.set(attribute, values[value])

    return rule


def inputs_from(*attributes: str) -> Rule:
    """The attributes become the inputs after the first; absent ones stay absent."""

    def rule(step: Step) -> None:
        for i, attribute in enumerate(attributes, 1):
            made = step.constant_of(attribute)
            if made is not None:
                step.set_input(i, made)

    return rule


def cast_to_number(step: Step) -> None:
    """Cast 1 names the type: "FLOAT"."""
    name = step.value("to")
    if not isinstance(name, str):
        return
    number = dict(onnx.TensorProto.DataType.items()).get(name.upper())
    if not number:
        raise Unsupported(f"there is no type {name!r}", "cast to a type of ONNX, such as 'FLOAT'")
    step.set("to", number)


def clip_bounds(step: Step) -> None:
    """Clip 6 clips at float32's limits where no bounds are given, even float64."""
    data = step.input(0)
    wide = step.type(data) == onnx.TensorProto.DOUBLE and 6 <= step.version
    for i, (name, absent) in enumerate((("min", -_FLOAT32_MAX), ("max", _FLOAT32_MAX)), 1):
        if wide and step.attribute(name) is None:
            step.set(name, absent)
        bound = step.scalar_of(name, data)
        if bound is not None:
            step.set_input(i, bound)


def pad_value(step: Step) -> None:
    """Pad 2 has amounts and value as attributes; 0 is the default in both forms."""
    inputs_from("pads")(step)
    value = step.scalar_of("value", step.input(0))
    if value is not None:
        step.set_input(2, value)


def split_parts(step: Step) -> None:
    """Split 13 without sizes splits into as many parts as it has outputs."""
    if not step.input(1):
        step.keep_inputs(1)
        step.set("num_outputs", len(step.node.output))


def dft_axis(step: Step) -> None:
    """DFT 17 has the axis as an attribute, by default 1."""
    if step.attribute("axis") is None:
        step.set("axis", 1)
    made = step.constant_of("axis")
    assert made is not None
    step.set_input(2, made)


def top_k(step: Step) -> None:
    """TopK 1 has k as an attribute; the input is a vector."""
    step.set_input(1, step.constant([step.take("k")], "k"))


def integral_p(step: Step) -> None:
    """LpPool 1 has a real p."""
    p = step.value("p")
    if p is None:
        return
    if p != int(p):
        raise Unsupported(
            f"its p is {p:g}, and later opsets have integers only",
            "compose it from Abs, Pow and a pooling by average",
        )
    step.set("p", int(p))


def recurrent_direction(step: Step) -> None:
    """GRU 1 spells its default "foward"."""
    if step.value("direction") == "foward":
        step.set("direction", "forward")
