"""The categorical distribution."""

from __future__ import annotations

from typing import Any

from graphio.distributions import checks, shapes
from graphio.distributions.distribution import Distribution
from graphio.distributions.divergence import RegisterKL
from graphio.distributions.parameters import WithOdds, logits_and_probs
from graphio.distributions.reparameterization import NOT_REPARAMETERIZED
from graphio.framework import dtypes, scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.framework.tensor_shape import TensorShape
from graphio.ops.array import surface as array
from graphio.ops.array.arranging import sequence_mask
from graphio.ops.math import elementwise, reduction
from graphio.ops.nn.core import log_softmax, softmax
from graphio.ops.nn.crossentropy import sparse_softmax_cross_entropy_with_logits
from graphio.ops.random.core import multinomial

__all__ = ["Categorical", "divergence_of_classes", "drawn_classes"]


class Categorical(WithOdds, Distribution):
    """A class 0, 1, ... by probability softmax(logits).

    Args:
        logits: floating tensor (..., classes) of log-probabilities.
        probs: floating tensor (..., classes) of probabilities; instead of logits.
        dtype: of samples.
        validate_args: True: a run fails if probabilities are invalid, or a value is not a class's.
        allow_nan_stats: without effect, all statistics exist.
        name: of the scope of its operations.

    Raises:
        ValueError: logits and probs are given, or neither.
        TypeError: they are not floating.
    """

    def __init__(
        self,
        logits: Any = None,
        probs: Any = None,
        dtype: Any = dtypes.int32,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Categorical",
    ) -> None:
        parameters = dict(locals())
        given = [each for each in (logits, probs) if each is not None]
        with scopes.name_scope(name, values=given) as entered:
            self._logits, self._probs = logits_and_probs(
                logits, probs, validate_args=validate_args, multidimensional=True, name=entered
            )
            if validate_args:
                self._logits = checks.classes(self._logits)
            self._logits.shape.with_rank_at_least(1)
            self._event_size = _size_of_last_axis(self._logits)
        super().__init__(
            dtype=dtype,
            reparameterization_type=NOT_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._logits, self._probs],
            name=entered,
        )

    @property
    def event_size(self) -> Tensor:
        """The number of classes, int32."""
        return self._event_size

    def _batch_shape_tensor(self) -> Tensor:
        return array.shape(self.logits)[:-1]

    def _batch_shape(self) -> Any:
        return self.logits.shape[:-1]

    def _event_shape_tensor(self) -> Tensor:
        return shapes.no_axes()

    def _event_shape(self) -> Any:
        return TensorShape([])

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        kind = dtypes.int64 if self.dtype.size > 4 else dtypes.int32
        drawn = drawn_classes(self.logits, self.event_size, n, seed, kind)
        shape = array.concat([[n], self.batch_shape_tensor()], 0)
        return elementwise.cast(array.reshape(drawn, shape), self.dtype)

    def _cdf(self, value: Tensor) -> Tensor:
        k, probs = _together(self._valid(value), self.probs, self.dtype)
        rows = array.reshape(probs, [-1, self.event_size])
        below = sequence_mask(array.reshape(k, [-1]), self.event_size)
        shares = reduction.reduce_sum(array.where(below, rows, array.zeros_like(rows)), -1)
        return array.reshape(shares, array.shape(k))

    def _log_prob(self, value: Tensor) -> Tensor:
        k, logits = _together(self._valid(value), self.logits, self.dtype)
        return -sparse_softmax_cross_entropy_with_logits(labels=k, logits=logits)

    def _entropy(self) -> Tensor:
        return -reduction.reduce_sum(log_softmax(self.logits) * self.probs, -1)

    def _mode(self) -> Tensor:
        found = reduction.argmax(self.logits, -1)
        return elementwise.cast(found, self.dtype)

    def _valid(self, value: Tensor) -> Tensor:
        k = convert_to_tensor(value, name="k")
        return checks.casts_unchanged(k, dtypes.int32) if self.validate_args else k


def _size_of_last_axis(x: Tensor) -> Tensor:
    known = None if x.shape.ndims is None else x.shape[-1].value
    if known is not None:
        return convert_to_tensor(known, dtypes.int32, name="event_size")
    return array.shape(x, name="logits_shape")[-1]


def drawn_classes(
    logits: Tensor, classes: Tensor, n: Any, seed: int | None, dtype: Any = dtypes.int64
) -> Tensor:
    """n draws (n, rows) for each row of logits, whose other axes are put together."""
    rows = logits if logits.shape.ndims == 2 else array.reshape(logits, [-1, classes])
    return array.transpose(multinomial(rows, n, seed=seed, output_dtype=dtype))


def _together(value: Tensor, parameters: Tensor, dtype: Any) -> tuple[Tensor, Tensor]:
    """Classes and parameters with the same batch.

    Raises:
        TypeError: classes are neither integers nor floating.
    """
    if value.dtype.is_floating:
        value = elementwise.cast(value, dtypes.int32)
    elif not value.dtype.is_integer:
        raise TypeError(f"`value` should have integer `dtype` or `self.dtype` ({dtype})")
    known = parameters.shape.ndims is not None and parameters.shape[:-1].is_fully_defined()
    if known and value.shape.is_fully_defined() and parameters.shape[:-1] == value.shape:
        return value, parameters
    parameters = parameters * array.ones_like(shapes.with_last_axis(value), parameters.dtype)
    value = value * array.ones(array.shape(parameters)[:-1], value.dtype)
    if parameters.shape.ndims is not None:
        value.set_shape(parameters.shape[:-1])
    return value, parameters


def divergence_of_classes(a: Any, b: Any, name: str | None = None) -> Tensor:
    """The divergence of two distributions over classes that have logits."""
    with scopes.name_scope(name, "kl_categorical_categorical", values=[a.logits, b.logits]):
        apart = log_softmax(a.logits) - log_softmax(b.logits)
        return reduction.reduce_sum(softmax(a.logits) * apart, -1)


RegisterKL(Categorical, Categorical)(divergence_of_classes)
