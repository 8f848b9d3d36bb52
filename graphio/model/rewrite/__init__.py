"""Rewriting models before their bytes are made: fewer nodes that give the same values.

Exact passes keep every bit (in cinfer; the Python runtime stays within its tolerance) and run
always. Approximate ones change roundings and run only on request. What was applied is
listed in the model. A pass is a module with a function `apply`; its file says what it does.
The layout of weights in the file is chosen afterwards, by `with_packed_weights`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from graphio.model.rewrite import (
    attention,
    batch_norm,
    chains,
    common,
    dead_code,
    folding,
    fused_matmuls,
    gelu,
    identities,
    layer_norm,
    transposed_operands,
    transposes,
)
from graphio.model.rewrite.packed_weights import with_packed_weights
from graphio.model.rewrite.work import Array, Shared, Work
from graphio.schema.draft import Draft
from graphio.schema.model_pb2 import Model

__all__ = ["LEVELS", "PASSES", "Pass", "rewrite", "rewrite_draft", "with_packed_weights"]

LEVELS = ("none", "exact", "approximate")


class Pass(NamedTuple):
    """A rewrite.

    Attributes:
        name: as models list it.
        apply: changes a graph; returns the number of changes.
        exact: whether every bit stays.
    """

    name: str
    apply: Callable[[Work], int]
    exact: bool = True


#: in the order in which they run
PASSES: Sequence[Pass] = (
    Pass("remove_identities", identities.apply),
    Pass("fold_constants", folding.apply),
    Pass("merge_common", common.apply),
    Pass("cancel_transposes", transposes.apply),
    Pass("fold_batch_norm", batch_norm.fold, exact=False),
    Pass("recognise_gelu", gelu.apply, exact=False),
    Pass("recognise_layer_norm", layer_norm.apply, exact=False),
    Pass("recognise_attention", attention.apply, exact=False),
    Pass("spread_batch_norm", batch_norm.spread),
    Pass("turn_products", transposed_operands.apply),
    Pass("remove_dead_code", dead_code.apply),
    Pass("fuse_elementwise", chains.apply),
    Pass("fuse_products", fused_matmuls.apply),
)


def rewrite(
    model: Model,
    arrays: Sequence[Array],
    level: str = "exact",
    passes: Sequence[Pass] = PASSES,
) -> tuple[Model, list[Array]]:
    """A model that gives the same values with fewer nodes.

    Names of outputs, of fed values, of targets and of everything that the file's tables name stay,
    and so do sources and devices. No pass folds a variable that a signature assigns.

    Args:
        model: left as it is.
        arrays: its data section.
        level: "exact" keeps every bit; "approximate" runs those passes too that change roundings;
            "none" runs none.
        passes: what runs, in this order.

    Returns:
        The model and its arrays; the arguments themselves where no pass applies.

    Raises:
        ValueError: an unknown level.
    """
    if level not in LEVELS:
        raise ValueError(f"level is {level!r}, expected one of {', '.join(LEVELS)}")
    if level == "none":
        return model, list(arrays)
    draft = Draft.of(model, arrays)
    if not rewrite_draft(draft, level, passes):
        return model, list(arrays)
    return draft.message(), draft.arrays


def rewrite_draft(draft: Draft, level: str = "exact", passes: Sequence[Pass] = PASSES) -> bool:
    """As rewrite, in place; returns whether a pass applied."""
    shared = Shared(draft)
    works = [Work(graph, shared) for graph in shared.graphs]
    counts: dict[str, int] = {}
    for each in passes:
        if each.exact or level == "approximate":
            count = sum(each.apply(work) for work in works)
            if count:
                counts[each.name] = counts.get(each.name, 0) + count
    if not counts:
        return False
    for work in works:
        work.finish()
    draft.name_opsets()
    exact = {each.name: each.exact for each in passes}
    for name, count in counts.items():
        draft.tables.rewrite.add(name=name, approximate=not exact[name], detail=f"{count} times")
    shared.pack()
    return True
