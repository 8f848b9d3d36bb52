"""Parameters of distributions: log-odds and probabilities, softplus, seeds."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from graphio.distributions import checks
from graphio.framework import scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.array.shaping import where_v2
from graphio.ops.checks.asserts import assert_less_equal, assert_near, assert_non_negative
from graphio.ops.control_flow.branches import with_dependencies
from graphio.ops.math import elementwise, reduction
from graphio.ops.nn.core import softmax
from graphio.support import api_guard

__all__ = ["WithOdds", "another_seed", "logits_and_probs", "softplus_inverse"]


class WithOdds:
    """A part of distributions that have log-odds and probabilities."""

    _logits: Tensor
    _probs: Tensor

    @property
    def logits(self) -> Tensor:
        """The log-odds of 1 or, of several classes, their log-probabilities up to a constant."""
        return self._logits

    @property
    def probs(self) -> Tensor:
        """The probability of 1, or those of several classes."""
        return self._probs


def another_seed(seed: int | None, salt: str) -> int | None:
    """The seed of a further stream of draws: a function of seed and salt; None of None."""
    if seed is None:
        return None
    digits = hashlib.md5(f"{seed}{salt}".encode(), usedforsecurity=False).hexdigest()
    return int(digits[:8], 16) & 0x7FFFFFFF


def logits_and_probs(
    logits: Any = None,
    probs: Any = None,
    multidimensional: bool = False,
    validate_args: bool = False,
    name: str = "get_logits_and_probs",
    dtype: Any = None,
) -> tuple[Tensor, Tensor]:
    """Log-odds and probabilities, of which one is given.

    Args:
        logits: floating tensor of log-odds or, with multidimensional, of log-probabilities.
        probs: floating tensor of probabilities.
        multidimensional: whether the last axis has one number a class.
        validate_args: whether a run checks probabilities.
        name: of the operations.
        dtype: of the tensors; None: that of the argument.

    Raises:
        ValueError: both are given, or neither; a scalar where several classes are.
        TypeError: the dtype is not a floating one.
    """
    with scopes.name_scope(name, values=[each for each in (probs, logits) if each is not None]):
        if (probs is None) == (logits is None):
            raise ValueError("Must pass probs or logits, but not both.")
        if probs is None:
            odds = _floating(logits, "logits", dtype)
            if not multidimensional:
                return odds, elementwise.sigmoid(odds, name="probs")
            odds.shape.with_rank_at_least(1)
            odds = checks.classes(odds) if validate_args else odds
            return odds, softmax(odds, name="probs")
        shares = _floating(probs, "probs", dtype)
        if validate_args:
            shares = _valid(shares, multidimensional)
        with scopes.name_scope("logits"):
            logarithm = elementwise.log(shares)
            if multidimensional:
                return logarithm, shares
            return logarithm - elementwise.log1p(-shares), shares


def _floating(value: Any, name: str, dtype: Any) -> Tensor:
    found = convert_to_tensor(value, dtype, name=name)
    if not found.dtype.is_floating:
        raise TypeError(f"{name} must having floating type.")
    return found


def _valid(probs: Tensor, multidimensional: bool) -> Tensor:
    with scopes.name_scope("validate_probs"):
        needed = [assert_non_negative(probs)]
        one = array.ones([], probs.dtype)
        if multidimensional:
            probs = checks.classes(probs)
            total = reduction.reduce_sum(probs, -1)
            needed.append(assert_near(total, one, message="probs does not sum to 1."))
        else:
            words = "probs has components greater than 1."
            needed.append(assert_less_equal(probs, one, message=words))
        found: Tensor = with_dependencies(needed, probs)
        return found


@api_guard.operator
def softplus_inverse(x: Any, name: str | None = None) -> Tensor:
    """The number of which tf.nn.softplus is x: log(exp(x) - 1).

    Args:
        x: floating tensor of numbers above 0.
        name: of the operations.
    """
    with scopes.name_scope(name, "softplus_inverse", values=[x]):
        given = convert_to_tensor(x, name="x")
        least = np.log(np.finfo(given.dtype.as_numpy_dtype).eps) + 2.0
        small, large = given < np.exp(least), given > -least
        # 1 stands for the numbers of the other branches, so that gradients stay finite
        middle = where_v2(small | large, array.ones_like(given), given)
        found = middle + elementwise.log(-elementwise.expm1(-middle))
        positive = where_v2(small, given, array.ones_like(given))
        return where_v2(small, elementwise.log(positive), where_v2(large, given, found))
