"""Ensembles of decision trees: every row walks from each root to a leaf, whose weights count."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.runtime.registry import Array, Call, Function, kernel
from graphio.support import errors

_AGGREGATES = ("SUM", "AVERAGE", "MIN", "MAX")
_MODES = 6  # LEQ, LT, GTE, GT, EQ, NEQ
_MISSING = 128  # NaN goes the true way
_WALKS = 1 << 18  # walks at a time: what bounds the memory of a large batch


def _invalid(message: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(message=message)


def _vector(x: Array, dtype: Any, rank: int, what: str) -> None:
    if x.dtype != dtype or x.ndim != rank:
        raise _invalid(
            f"{what} is {x.dtype}{list(x.shape)}, expected {np.dtype(dtype)} of rank {rank}"
        )


def _check_shapes(x: Array, trees: tuple[Array, ...]) -> None:
    splits, features, modes, branches, roots, starts, targets, weights = trees
    _vector(x, x.dtype, 2, "x")
    for array, dtype, rank, what in (
        (splits, x.dtype, 1, "splits"),
        (features, np.int32, 1, "features"),
        (modes, np.uint8, 1, "modes"),
        (branches, np.int32, 2, "branches"),
        (roots, np.int32, 1, "roots"),
        (starts, np.int32, 1, "leaf_starts"),
        (targets, np.int32, 1, "targets"),
        (weights, weights.dtype if weights.dtype == np.float64 else x.dtype, 1, "weights"),
    ):
        _vector(array, dtype, rank, what)
    if not len(splits) == len(features) == len(modes) or branches.shape != (len(splits), 2):
        raise _invalid(
            f"{len(splits)} splits, {len(features)} features, {len(modes)} modes and branches "
            f"{list(branches.shape)}, expected one of each a node and branches [{len(splits)},2]"
        )
    if len(targets) != len(weights) or not len(starts):
        raise _invalid(
            f"{len(targets)} targets, {len(weights)} weights and {len(starts)} leaf_starts, "
            "expected as many weights as targets and one more start than leaves"
        )


def _check_nodes(x: Array, trees: tuple[Array, ...]) -> None:
    splits, features, modes, branches, _, starts, _, _ = trees
    count, leaves = len(splits), len(starts) - 1
    for i in np.flatnonzero((features < 0) | (features >= x.shape[1]))[:1]:
        raise _invalid(f"node {i} compares column {features[i]}, but x has {x.shape[1]} columns")
    for i in np.flatnonzero((modes & ~np.uint8(_MISSING)) >= _MODES)[:1]:
        raise _invalid(
            f"node {i} has mode {modes[i]}, expected 0 to 5, plus 128 where NaN goes the true way"
        )
    own = np.arange(count)[:, None]
    wrong = np.where(branches >= 0, (branches <= own) | (branches >= count), branches < -leaves)
    for i, way in np.argwhere(wrong)[:1]:
        raise _invalid(
            f"node {i} leads to {branches[i, way]}, expected a later node ({i + 1} to {count - 1})"
            f" or a leaf (-1 to {-leaves})"
        )


def _check_leaves(trees: tuple[Array, ...], n_targets: int) -> None:
    splits, _, _, _, roots, starts, targets, _ = trees
    count, leaves = len(splits), len(starts) - 1
    for t in np.flatnonzero((roots >= count) | (roots < -leaves))[:1]:
        raise _invalid(
            f"tree {t} starts at {roots[t]}, expected a node (below {count}) or a leaf "
            f"(-1 to {-leaves})"
        )
    if starts[0] != 0 or starts[-1] != len(targets):
        raise _invalid(
            f"leaf_starts go from {starts[0]} to {starts[-1]}, expected 0 to {len(targets)}, "
            "the number of weights"
        )
    for leaf in np.flatnonzero((starts[1:] < starts[:-1]) | (starts[1:] > len(targets)))[:1]:
        raise _invalid(
            f"leaf {leaf} has weights {starts[leaf]} to {starts[leaf + 1]}, expected ascending "
            f"indices below {len(targets)}"
        )
    before = np.concatenate([[-1], targets[:-1]])
    before[starts[:-1][starts[:-1] < len(targets)]] = -1
    for e in np.flatnonzero((targets <= before) | (targets >= n_targets))[:1]:
        leaf = int(np.searchsorted(starts, e, "right")) - 1
        raise _invalid(
            f"leaf {leaf} has a weight for target {targets[e]} after {before[e]}, expected "
            f"ascending targets below {n_targets}"
        )


def _holds(v: Array, split: Array, mode: Array) -> Array:
    """Whether each comparison goes the true way."""
    kinds = mode & ~np.uint8(_MISSING)
    found = np.zeros(v.shape, np.bool_)
    for kind, compare in enumerate(
        (np.less_equal, np.less, np.greater_equal, np.greater, np.equal, np.not_equal)
    ):
        at = kinds == kind
        if at.all():
            found = compare(v, split)
            break
        if at.any():
            found[at] = compare(v[at], split[at])
    missing = mode >= _MISSING
    return found | (missing & np.isnan(v)) if missing.any() else found


def _leaves(x: Array, trees: tuple[Array, ...]) -> Any:
    """(rows, trees): the leaf at which each walk ends."""
    splits, features, modes, branches, roots, _, _, _ = trees
    reached = np.broadcast_to(roots, (len(x), len(roots))).copy()
    while True:
        row, tree = np.nonzero(reached >= 0)
        if not len(row):
            return -1 - reached
        node = reached[row, tree]
        right = _holds(x[row, features[node]], splits[node], modes[node])
        reached[row, tree] = branches[node, np.where(right, 0, 1)]


_DENSE = 16  # a table of all leaves by all targets may have so many times the weights


class _Weights:
    """The values of the leaves, by leaf."""

    def __init__(self, trees: tuple[Array, ...], n_targets: int) -> None:
        self.starts, self.targets, self.weights = trees[5:]
        self.counts = np.diff(self.starts)
        self.n_targets = n_targets
        self.table: Array | None = None
        leaves = len(self.counts)
        if leaves * n_targets <= _DENSE * len(self.weights):
            self.table = np.zeros((leaves, n_targets), self.weights.dtype)
            self.table[np.repeat(np.arange(leaves), self.counts), self.targets] = self.weights

    def entries(self, column: Array) -> tuple[tuple[Array, Array], Array]:
        """Of one tree's leaves, row by row: positions in the result, and the weights for them."""
        counts = self.counts[column]
        row = np.repeat(np.arange(len(column)), counts)
        within = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
        entry = np.repeat(self.starts[column], counts) + within
        return (row, self.targets[entry]), self.weights[entry]

    def scores(self, leaves: Array, aggregate: str) -> Any:
        """(rows, n_targets): the leaves' weights, tree after tree."""
        total = aggregate in ("SUM", "AVERAGE")
        zero = self.weights.dtype.type(0)
        if total and self.table is not None:
            y = np.add.reduce(self.table[leaves], 1) + zero
        else:
            combine: Any = {"MIN": np.minimum, "MAX": np.maximum}.get(aggregate, np.add)
            first = {"MIN": np.inf, "MAX": -np.inf}.get(aggregate, 0)
            y = np.full((len(leaves), self.n_targets), first, self.weights.dtype)
            for column in leaves.T:
                at, weights = self.entries(column)
                y[at] = combine(y[at], weights)
            if not total:
                y[y == first] = 0
        if aggregate == "AVERAGE" and leaves.shape[1]:
            y /= y.dtype.type(leaves.shape[1])
        return y


class _Ready:
    """Trees that were checked. Those of a model are constants, which are read-only: what is
    known of them holds in the next run."""

    def __init__(self, n_targets: int) -> None:
        self._n_targets = n_targets
        self._last: tuple[tuple[Array, ...], int, _Weights] | None = None  # one: threads share it

    def weights(self, x: Array, trees: tuple[Array, ...]) -> _Weights:
        """The weights. Raises InvalidArgumentError where the trees are none."""
        if self._last is not None:
            known, columns, weights = self._last
            if all(map(_is, trees, known)) and x.shape[1:] == (columns,):
                _vector(x, trees[0].dtype, 2, "x")
                return weights
        _check_shapes(x, trees)
        _check_nodes(x, trees)
        _check_leaves(trees, self._n_targets)
        made = _Weights(trees, self._n_targets)
        if not any(array.flags.writeable for array in trees):
            self._last = trees, x.shape[1], made
        return made


def _is(a: Array, b: Array) -> bool:
    return a is b


@kernel("TreeEnsemble", domain="graphio", since=1, types="", fresh=True)
def _tree_ensemble(call: Call) -> Function:
    n_targets, aggregate = call.integer("n_targets", 0), call.text("aggregate", "SUM")
    if n_targets < 1:
        raise _invalid(f"n_targets is {n_targets}, expected 1 or more")
    if aggregate not in _AGGREGATES:
        raise _invalid(f"aggregate is {aggregate!r}, expected SUM, AVERAGE, MIN or MAX")

    ready = _Ready(n_targets)

    def run(x: Array, *trees: Array) -> Array:
        if x.dtype not in (np.float32, np.float64):
            raise errors.UnimplementedError(
                message=f"x has type {x.dtype}, for which this operator has no kernel"
            )
        weights = ready.weights(x, trees)
        step = max(1, _WALKS // max(1, len(trees[4])))
        parts = [
            weights.scores(_leaves(x[i : i + step], trees), aggregate)
            for i in range(0, len(x), step)
        ]
        return np.concatenate(parts) if parts else np.zeros((0, n_targets), trees[-1].dtype)

    return run
