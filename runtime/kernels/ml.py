"""Keys looked up, and probabilities of classes from those of pairs."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.runtime.registry import Array, Call, Function, kernel
from graphio.support import errors


def _invalid(message: str) -> errors.InvalidArgumentError:
    return errors.InvalidArgumentError(message=message)


# ---- IndexOf ----


class _Sorted:
    """Keys in ascending order. Those of a model are constants: they are sorted once."""

    def __init__(self) -> None:
        self._last: tuple[Array, Array, Array] | None = None  # one: threads share it

    def of(self, keys: Array) -> tuple[Array, Array]:
        """Keys sorted, equal ones in their order, and their positions."""
        if self._last is not None and self._last[0] is keys:
            return self._last[1:]
        order = np.argsort(keys, kind="stable")
        made = keys[order], order
        if not keys.flags.writeable:
            self._last = keys, *made
        return made


@kernel("IndexOf", domain="graphio", types="PP", fresh=True)
def _index_of(call: Call) -> Function:
    ready = _Sorted()

    def run(x: Any, keys: Any) -> Array:
        if x.dtype.kind not in "fiubO" or x.dtype == np.float16:
            raise errors.UnimplementedError(
                message=f"x has type {x.dtype}, for which this operator has no kernel"
            )
        if keys.ndim != 1:
            raise _invalid(f"keys has shape {list(keys.shape)}, expected a vector")
        if not len(keys):
            return np.full(x.shape, -1, np.int64)
        values, order = ready.of(keys)
        at = np.minimum(np.searchsorted(values, x), len(keys) - 1)
        found: Array = np.where(values[at] == x, order[at], -1).astype(np.int64)
        return found

    return run


# ---- PairwiseCoupling ----


def _quadratic(r: Array, classes: int) -> Array:
    """(classes, classes, rows): the form that the probabilities minimise."""
    pair = np.empty((classes, classes, len(r)), r.dtype)
    column = 0
    for i in range(classes):
        for j in range(i + 1, classes):
            pair[i, j] = r[:, column]
            pair[j, i] = 1 - r[:, column]
            column += 1
    q = np.zeros_like(pair)
    for t in range(classes):
        for j in range(classes):
            if j != t:
                q[t, t] += pair[j, t] * pair[j, t]
                q[t, j] = -pair[j, t] * pair[t, j]
    return q


def _multiplied(q: Array, p: Array) -> tuple[Array, Array]:
    """Q p and p Q p, each sum a chain in the order of the classes."""
    qp = np.zeros_like(p)
    total = np.zeros_like(p[0])
    for t in range(len(p)):
        for j in range(len(p)):
            qp[t] += q[t, j] * p[j]
        total += p[t] * qp[t]
    return qp, total


def _sweep(q: Array, p: Array, qp: Array, total: Array) -> None:
    for t in range(len(p)):
        step = (total - qp[t]) / q[t, t]
        p[t] += step
        one = 1 + step
        total = (total + step * (step * q[t, t] + 2 * qp[t])) / one / one
        qp[:] = (qp + step * q[t]) / one
        p /= one


@kernel("PairwiseCoupling", domain="graphio", types="F", fresh=True)
def _pairwise_coupling(call: Call) -> Function:
    classes = call.integer("classes", 0)
    pairs = classes * (classes - 1) // 2
    if classes < 2:
        raise _invalid(f"classes is {classes}, expected 2 or more")

    def run(r: Any) -> Array:
        if r.ndim != 2 or r.shape[1] != pairs:
            raise _invalid(f"r has shape {list(r.shape)}, expected [rows,{pairs}]")
        q = _quadratic(r, classes)
        p = np.full((classes, len(r)), 1 / classes, r.dtype)
        least = r.dtype.type(0.005) / r.dtype.type(classes)
        going = np.arange(len(r))
        for _ in range(max(100, classes)):
            part = p[:, going]
            inner = q[:, :, going]
            qp, total = _multiplied(inner, part)
            wrong = ~(np.abs(qp - total).max(0) < least)
            going = going[wrong]
            if not len(going):
                break
            part = part[:, wrong]
            _sweep(inner[:, :, wrong], part, qp[:, wrong], total[wrong])
            p[:, going] = part
        return np.ascontiguousarray(p.T)

    return run
