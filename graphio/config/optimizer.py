"""tf.config.optimizer: wishes for rewrites of graphs; engines choose theirs, so that results and
times do not depend on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphio.support import api_guard

__all__ = ["get_experimental_options", "get_jit", "set_experimental_options", "set_jit"]

#: options that are on, off, or unset
_TOGGLES = (
    "layout_optimizer", "constant_folding", "shape_optimization", "remapping",
    "arithmetic_optimization", "dependency_optimization", "loop_optimization",
    "function_optimization", "debug_stripper", "scoped_allocator_optimization",
    "pin_to_host_optimization", "implementation_selector", "auto_mixed_precision",
)  # fmt: skip
#: options that are False where they are unset
_SWITCHES = ("disable_model_pruning", "disable_meta_optimizer")


class _Wishes:
    """The wishes of the process."""

    jit = False
    options: Mapping[str, Any] = {}


@api_guard.unguarded
def get_jit() -> bool:
    """The value of set_jit, at first False."""
    return _Wishes.jit


@api_guard.unguarded
def set_jit(enabled: bool) -> None:
    """Keeps a value; it has no effect: cinfer plans and fuses by itself."""
    _Wishes.jit = bool(enabled)


@api_guard.unguarded
def get_experimental_options() -> dict[str, Any]:
    """The options that were set, and the switches, at first False."""
    given = _Wishes.options
    found: dict[str, Any] = {n: bool(given[n]) for n in _TOGGLES if given.get(n) is not None}
    found.update({name: bool(given.get(name)) for name in _SWITCHES})
    if given.get("min_graph_nodes"):
        found["min_graph_nodes"] = int(given["min_graph_nodes"])
    return found


@api_guard.unguarded
def set_experimental_options(options: Mapping[str, Any]) -> None:
    """Adds options to those that were set; they have no effect.

    Args:
        options: by name, such as constant_folding, a bool; of min_graph_nodes a number. None
            unsets an option; other names are ignored.
    """
    _Wishes.options = {**_Wishes.options, **options}
