"""Trees of ai.onnx.ml, whose nodes are attributes, as arrays in an order in which branches lead to
later nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from graphio.ops.ml.trees import MISSING, MODES, Trees

__all__ = ["Branching", "check_ranges", "in_order", "of_lists", "of_tensors"]

Values = np.ndarray[Any, Any]


@dataclass
class Branching:
    """Trees in any order; leaf l is written as -1 - l.

    Attributes:
        splits, features, modes, branches, roots: as in Trees.
        leaves: how many.
        owners, targets, weights: of each weight its leaf and its target, in the order of the file.
    """

    splits: Values
    features: Values
    modes: Values
    branches: Values
    roots: Values
    leaves: int
    owners: Values
    targets: Values
    weights: Values


# ---- TreeEnsembleClassifier and TreeEnsembleRegressor ----


def of_lists(attrs: Mapping[str, Any], kind: str) -> Branching:
    """The trees of a classifier (kind "class") or a regressor ("target").

    Raises:
        ValueError: the lists contradict each other.
    """
    _check_lengths(attrs, kind)
    names = [b"LEAF", *(f"BRANCH_{mode}".encode() for mode in MODES)]
    modes = [names.index(m) - 1 if m in names else _unknown(m) for m in attrs["nodes_modes"]]
    keys = list(zip(attrs["nodes_treeids"], attrs["nodes_nodeids"], strict=True))
    position = {key: i for i, key in enumerate(keys)}
    if len(position) < len(keys):
        twice = next(k for i, k in enumerate(keys) if position[k] != i)
        raise ValueError(f"tree {twice[0]} has two nodes {twice[1]}")
    count = len(keys)
    splits = _numbers(attrs, "nodes_values", count)
    missing = attrs.get("nodes_missing_value_tracks_true") or [0] * count
    inner = [i for i in range(count) if modes[i] >= 0]
    code = np.empty(count, np.int64)  # the new number of each node
    code[inner] = np.arange(len(inner))
    outer = np.asarray([i for i in range(count) if modes[i] < 0], np.int64)
    code[outer] = -1 - np.arange(len(outer))
    ways = (attrs["nodes_truenodeids"], attrs["nodes_falsenodeids"])
    branches = [[code[_child(position, keys[i], way[i])] for way in ways] for i in inner]
    roots: dict[int, int] = {}
    for i, (tree, _) in enumerate(keys):
        roots.setdefault(tree, int(code[i]))
    return Branching(
        splits[inner],
        np.asarray(attrs["nodes_featureids"], np.int64)[inner],
        np.asarray([modes[i] + (MISSING if missing[i] else 0) for i in inner], np.uint8),
        np.asarray(branches, np.int64).reshape(-1, 2),
        np.asarray([roots[tree] for tree in sorted(roots)], np.int64),
        len(outer),
        *_weights(attrs, kind, position, code),
    )


def _check_lengths(attrs: Mapping[str, Any], kind: str) -> None:
    """Refuses lists that are missing, or longer or shorter than others."""
    lists = {
        "nodes": ("nodeids", "treeids", "featureids", "truenodeids", "falsenodeids", "modes"),
        kind: ("ids", "treeids", "nodeids"),
    }
    for group, parts in lists.items():
        count = len(attrs.get(f"{group}_{parts[0]}") or ())
        of = "nodes" if group == "nodes" else f"{group}_{parts[0]}"
        for part in parts:
            name = f"{group}_{part}"
            if name not in attrs:
                raise ValueError(f"attribute '{name}' is missing")
            if len(attrs[name]) != count:
                raise ValueError(f"{name} has {len(attrs[name])} entries for {count} {of}")
    tracks = attrs.get("nodes_missing_value_tracks_true")
    if tracks and len(tracks) != len(attrs["nodes_nodeids"]):
        raise ValueError(
            f"nodes_missing_value_tracks_true has {len(tracks)} entries for "
            f"{len(attrs['nodes_nodeids'])} nodes"
        )


def _unknown(mode: bytes) -> int:
    expected = ", ".join(f"BRANCH_{name}" for name in MODES)
    found = mode.decode(errors="replace")
    raise ValueError(f"nodes_modes has {found!r}, expected {expected}, LEAF")


def _numbers(attrs: Mapping[str, Any], name: str, count: int) -> Values:
    """float32 from a list, or the dtype of the tensor form of the attribute."""
    tensor = attrs.get(f"{name}_as_tensor")
    found = np.asarray(attrs.get(name, ()), np.float32) if tensor is None else np.ravel(tensor)
    if len(found) != count:
        raise ValueError(f"{name} has {len(found)} entries, expected {count}")
    return found


def _child(position: Mapping[tuple[int, int], int], key: tuple[int, int], node: int) -> int:
    found = position.get((key[0], node))
    if found is None:
        raise ValueError(f"tree {key[0]}: node {key[1]} leads to node {node}, which is not there")
    return found


def _weights(
    attrs: Mapping[str, Any], kind: str, position: Mapping[tuple[int, int], int], code: Values
) -> tuple[Values, Values, Values]:
    """Weights at nodes that branch count for nothing, as in the reference."""
    trees, nodes, ids = (attrs[f"{kind}_{what}"] for what in ("treeids", "nodeids", "ids"))
    values = _numbers(attrs, f"{kind}_weights", len(ids))
    found = [position.get(key, -1) for key in zip(trees, nodes, strict=True)]
    if -1 in found:
        at = found.index(-1)
        raise ValueError(f"{kind}_nodeids: tree {trees[at]} has no node {nodes[at]}")
    owners = -1 - code[np.asarray(found, np.int64)]
    kept = owners >= 0
    return owners[kept], np.asarray(ids, np.int64)[kept], values[kept]


# ---- TreeEnsemble ----


_WAYS = ("truenodeids", "falsenodeids", "trueleafs", "falseleafs")


def of_tensors(attrs: Mapping[str, Any]) -> Branching:
    """The trees of a TreeEnsemble; a test for members of a set becomes a test for each.

    Raises:
        ValueError: the lists contradict each other.
    """
    modes = np.ravel(attrs["nodes_modes"]).astype(np.int64)
    count, member = len(modes), len(MODES)
    features = np.asarray(attrs["nodes_featureids"], np.int64)
    splits = np.ravel(attrs["nodes_splits"])
    missing = np.asarray(attrs.get("nodes_missing_value_tracks_true") or [0] * count, bool)
    targets, weights = attrs["leaf_targetids"], np.ravel(attrs["leaf_weights"])
    for what, found in (
        ("nodes_featureids", features),
        ("nodes_splits", splits),
        ("nodes_missing_value_tracks_true", missing),
        *((f"nodes_{way}", attrs[f"nodes_{way}"]) for way in _WAYS),
    ):
        if len(found) != count:
            raise ValueError(f"{what} has {len(found)} entries for {count} nodes")
    for way in ("true", "false"):
        for i, number in enumerate(attrs[f"nodes_{way}nodeids"]):
            if number < 0:
                raise ValueError(f"nodes_{way}nodeids has {number} at {i}, expected 0 or more")
    if len(targets) != len(weights):
        raise ValueError(f"{len(targets)} leaf_targetids and {len(weights)} leaf_weights")
    if np.any((modes < 0) | (modes > member)):
        raise ValueError(f"nodes_modes has {int(modes.max())}, expected 0 to {member}")
    branches = np.stack(
        [
            np.where(np.asarray(attrs[f"nodes_{way}leafs"], bool), -1 - ids, ids)
            for way in ("true", "false")
            for ids in [np.asarray(attrs[f"nodes_{way}nodeids"], np.int64)]
        ],
        1,
    )
    roots = np.asarray(attrs["tree_roots"], np.int64)
    for t, root in enumerate(roots):
        if not 0 <= root < count:
            raise ValueError(f"tree_roots has {root}, expected 0 to {count - 1}")
        if branches[root, 0] < 0 and branches[root, 0] == branches[root, 1]:
            roots[t] = branches[root, 0]  # nothing but a leaf
    own = np.arange(len(weights))
    goals = np.asarray(targets, np.int64)
    made = Branching(splits, features, modes, branches, roots, len(weights), own, goals, weights)
    if np.any(modes == member):
        sets = _sets(np.ravel(attrs.get("membership_values", ())), int(np.sum(modes == member)))
        made, missing = _tested_one_by_one(made, missing, sets)
    made.modes = (made.modes + np.where(missing, MISSING, 0)).astype(np.uint8)
    return made


def _sets(values: Values, requested: int) -> list[Values]:
    """The sets, each ended by NaN."""
    ends = np.flatnonzero(np.isnan(values))
    if len(ends) != requested:
        raise ValueError(
            f"membership_values has {len(ends)} sets for {requested} tests for members"
        )
    return [part[part == part] for part in np.split(values, ends + 1)[:requested]]


def _tested_one_by_one(
    found: Branching, missing: Values, sets: Sequence[Values]
) -> tuple[Branching, Values]:
    """x in {a, b} as x == a, else x == b: the first test has the node's number. The sets come in
    the order of a walk through the trees, true branch first, as in the reference."""
    member, equal = len(MODES), MODES.index("EQ")
    splits, features, modes = found.splits.tolist(), found.features.tolist(), found.modes.tolist()
    branches, flags = found.branches.tolist(), missing.tolist()
    for node, values in zip(_walked(found, member), sets, strict=True):
        yes, no = branches[node]
        at = node
        modes[node], splits[node] = equal, values[0] if len(values) else np.nan
        for value in values[1:]:
            branches[at] = [yes, len(modes)]
            at = len(modes)
            splits.append(value), features.append(features[node]), modes.append(equal)
            branches.append([yes, no]), flags.append(flags[node])
    made = replace(
        found,
        splits=np.asarray(splits, found.splits.dtype),
        features=np.asarray(features, np.int64),
        modes=np.asarray(modes, np.int64),
        branches=np.asarray(branches, np.int64),
    )
    return made, np.asarray(flags, bool)


def _walked(found: Branching, mode: int) -> list[int]:
    """Nodes of a mode in the order of a walk; each once."""
    seen: set[int] = set()
    made = []
    stack = [int(r) for r in found.roots[::-1]]
    while stack:
        node = stack.pop()
        if node < 0 or node in seen or node >= len(found.modes):
            continue
        seen.add(node)
        if found.modes[node] == mode:
            made.append(node)
        stack += [int(found.branches[node, 1]), int(found.branches[node, 0])]
    rest = np.flatnonzero(found.modes == mode)
    return made + [int(i) for i in rest if int(i) not in seen]


# ---- the order ----


def check_ranges(found: Branching, columns: int | None, targets: int) -> None:
    """Refuses columns and targets that are not there; columns None: as many as one counts.

    Raises:
        ValueError: the first such.
    """
    most = columns if columns is not None else (1 << 31) // 4
    for i in np.flatnonzero((found.features < 0) | (found.features >= most))[:1]:
        there = f"X has {columns} columns" if columns is not None else f"expected 0 to {most - 1}"
        raise ValueError(f"node {i} compares column {found.features[i]}, but {there}")
    for i in np.flatnonzero((found.targets < 0) | (found.targets >= targets))[:1]:
        raise ValueError(
            f"weight {i} is for target {found.targets[i]}, expected 0 to {targets - 1}"
        )


def in_order(found: Branching, dtype: Any, added: Any) -> Trees:
    """The trees with every branch leading to a later node, and each leaf's weights by target.

    Args:
        found: the trees.
        dtype: of the splits.
        added: of the weights.

    Raises:
        ValueError: a branch leads nowhere, or nodes lead around in a circle.
    """
    order = _sorted(found)
    code = np.arange(-found.leaves, len(order))  # indexed by -1 - leaf from behind
    code = np.roll(code, -found.leaves)
    code[order] = np.arange(len(order))
    owners, targets, weights = _by_leaf(found, added)
    starts = np.searchsorted(owners, np.arange(found.leaves + 1))
    return Trees(
        found.splits[order].astype(dtype),
        found.features[order].astype(np.int32),
        found.modes[order].astype(np.uint8),
        code[found.branches[order]].astype(np.int32).reshape(-1, 2),
        code[found.roots].astype(np.int32),
        starts.astype(np.int32),
        targets.astype(np.int32),
        weights,
    )


def _by_leaf(found: Branching, dtype: Any) -> tuple[Values, Values, Values]:
    """Weights by leaf and target; several for the same are added in the order of the file."""
    keys = np.stack([found.owners, found.targets], 1)
    each, inverse = np.unique(keys, axis=0, return_inverse=True)
    total = np.zeros(len(each), dtype)
    np.add.at(total, inverse.reshape(-1), found.weights.astype(dtype))
    return each[:, 0], each[:, 1], total


def _sorted(found: Branching) -> Values:
    """Nodes, parents first, each tree in one piece."""
    count, leaves = len(found.branches), found.leaves
    bad = (found.branches >= count) | (found.branches < -leaves)
    for i, way in np.argwhere(bad)[:1]:
        raise ValueError(f"node {i} leads to {found.branches[i, way]}, which is not there")
    children = found.branches.tolist()
    waiting = np.bincount(found.branches[found.branches >= 0], minlength=count).tolist()
    heads = [int(r) for r in found.roots if r >= 0 and not waiting[r]]
    strays = [i for i in range(count) if not waiting[i]]
    order: list[int] = []
    seen: set[int] = set()
    for head in [*heads, *strays]:
        stack = [] if head in seen else [head]
        while stack:
            node = stack.pop()
            order.append(node)
            seen.add(node)
            for child in reversed(children[node]):
                if child >= 0:
                    waiting[child] -= 1
                    if not waiting[child]:
                        stack.append(child)
    if len(order) < count:
        stuck = next(i for i in range(count) if i not in seen)
        raise ValueError(f"the nodes of a tree lead around in a circle, node {stuck} among them")
    return np.asarray(order, np.int64)
