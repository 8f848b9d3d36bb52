"""Models of any opset of ai.onnx, from 1 on, rewritten as equal models of the newest.

models           applies the rules to all nodes; step: one node; facts: types and shapes
table            which rule an operator needs; compatible: changes that need none; rules_*
"""

from __future__ import annotations

from graphio.onnx.upgrade.models import NotUpgradable, upgrade
from graphio.onnx.upgrade.table import TARGET

__all__ = ["TARGET", "NotUpgradable", "upgrade"]
