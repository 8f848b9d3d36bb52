"""Descriptions that older TensorFlows kept in nodes of summaries."""

from __future__ import annotations

from typing import Any

from graphio.schema.summary_pb2 import SummaryDescription
from graphio.support import api_guard

__all__ = ["get_summary_description"]


@api_guard.unguarded
def get_summary_description(node_def: Any) -> SummaryDescription:
    """The description that a node of type TensorSummary has, as in graphs of TensorFlow 1.0.

    Args:
        node_def: a NodeDef.

    Raises:
        ValueError: it is of another type.
    """
    from google.protobuf import json_format  # imports regular expressions and more: rarely used

    if node_def.op != "TensorSummary":
        raise ValueError(f"Can't get_summary_description on {node_def.op}")
    text = node_def.attr["description"].s.decode()
    return json_format.Parse(text, SummaryDescription())
