"""Names of ONNX nodes and values: in problems, and as names of operations."""

from __future__ import annotations

import re

import onnx

__all__ = ["title", "valid_name"]

_STRANGE = re.compile(r"[^A-Za-z0-9_.\\/>-]")
_START = re.compile(r"^[A-Za-z0-9.]")


def valid_name(name: str) -> str:
    """The name with "_" for each character that names of operations lack."""
    made = _STRANGE.sub("_", name).strip("/")
    return made if _START.match(made) else f"n{made}"


def title(node: onnx.NodeProto) -> str:
    """How a problem names a node: Conv 'conv1'; without a name by what it makes."""
    made = next((name for name in node.output if name), "")
    named = f"'{node.name}'" if node.name else f"that makes '{made}'" if made else "without outputs"
    return f"{node.op_type or 'a node without operator'} {named}"
