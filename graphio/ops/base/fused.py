"""Fused operators (model.rewrite) have no builders: they are made after gradients, and single
nodes again in a graph (graphio.schema.fused.unfused)."""

from __future__ import annotations

from graphio.framework.gradient_registry import not_differentiable
from graphio.schema.fused import LINEAR

not_differentiable("FusedElementwise", *LINEAR, domain="graphio")
