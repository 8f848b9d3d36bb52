"""The base class of distributions.

A subclass gives methods that begin with an underscore, such as `_log_prob(value)`; the public ones
convert arguments, open name scopes, and derive one quantity from another (prob from log_prob).
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

from graphio.distributions import divergence, shapes
from graphio.distributions.reparameterization import ReparameterizationType
from graphio.framework import api_boundary, dtypes, scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.folding import constant_value
from graphio.framework.graph import Tensor
from graphio.framework.tensor_shape import TensorShape, as_shape
from graphio.ops.array import surface as array
from graphio.ops.math import elementwise

__all__ = ["Distribution"]


class Distribution:
    """A random variable's distribution, or a batch of independent ones of the same kind.

    A sample has the shape sample_shape + batch_shape + event_shape: the event's is that of one
    draw, () for numbers; the batch's comes from the parameters, which broadcast.

    Args:
        dtype: of samples; None: any.
        reparameterization_type: FULLY_REPARAMETERIZED or NOT_REPARAMETERIZED.
        validate_args: True: runs fail whose parameters or values are invalid. False: they give
            wrong numbers.
        allow_nan_stats: True: a quantity that is undefined is nan. False: it is an error.
        parameters: the arguments that made the distribution.
        graph_parents: the tensors that it depends upon.
        name: of the scope of its operations; None: that of the class.

    Raises:
        ValueError: a member of graph_parents is not a tensor.
    """

    def __init__(
        self,
        dtype: Any,
        reparameterization_type: ReparameterizationType,
        validate_args: bool,
        allow_nan_stats: bool,
        parameters: Mapping[str, Any] | None = None,
        graph_parents: Sequence[Any] | None = None,
        name: str | None = None,
    ) -> None:
        parents = list(graph_parents or ())
        for i, parent in enumerate(parents):
            if parent is None or not Tensor.is_like(parent):
                raise ValueError(f"Graph parent item {i} is not a Tensor; {parent}.")
        if not name or not name.endswith("/"):  # not a scope's
            with scopes.name_scope(name or type(self).__name__) as entered:
                name = entered
        self._dtype = None if dtype is None else dtypes.as_dtype(dtype)
        self._reparameterization_type = reparameterization_type
        self._allow_nan_stats = allow_nan_stats
        self._validate_args = validate_args
        self._parameters = dict(parameters or {})
        self._graph_parents = parents
        self._name = name

    @classmethod
    @api_boundary.rolling_back
    def param_shapes(
        cls, sample_shape: Any, name: str = "DistributionParamShapes"
    ) -> dict[str, Tensor]:
        """The shapes that parameters need for samples of a shape, by their names, as tensors.

        Args:
            sample_shape: shape that a call of sample() is to return.
            name: of the operations.

        Raises:
            NotImplementedError: the class does not say.
        """
        with scopes.name_scope(name, values=[sample_shape]):
            return cls._param_shapes(sample_shape)

    @classmethod
    @api_boundary.rolling_back
    def param_static_shapes(cls, sample_shape: Any) -> dict[str, TensorShape]:
        """As param_shapes, but known shapes.

        Raises:
            ValueError: sample_shape is not known.
        """
        if isinstance(sample_shape, TensorShape):
            if not sample_shape.is_fully_defined():
                raise ValueError("TensorShape sample_shape must be fully defined")
            sample_shape = sample_shape.as_list()
        found = {}
        for name, shape in cls.param_shapes(sample_shape).items():
            known = constant_value(shape)
            if known is None:
                raise ValueError("sample_shape must be a fully-defined TensorShape or list/tuple")
            found[name] = TensorShape(known.tolist())
        return found

    @staticmethod
    def _param_shapes(sample_shape: Any) -> dict[str, Tensor]:
        raise NotImplementedError("_param_shapes not implemented")

    @property
    def name(self) -> str:
        """The scope of its operations."""
        return self._name

    @property
    def dtype(self) -> Any:
        """The dtype of samples."""
        return self._dtype

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments that made the distribution, by their names."""
        return {
            name: value
            for name, value in self._parameters.items()
            if name != "self" and not name.startswith("__")
        }

    @property
    def reparameterization_type(self) -> ReparameterizationType:
        """Whether samples have gradients by all parameters."""
        return self._reparameterization_type

    @property
    def allow_nan_stats(self) -> bool:
        """Whether a quantity that is undefined is nan, and no error."""
        return self._allow_nan_stats

    @property
    def validate_args(self) -> bool:
        """Whether runs check parameters and values."""
        return self._validate_args

    def copy(self, **override_parameters_kwargs: Any) -> Any:
        """A distribution of the same class and parameters but for those given."""
        return type(self)(**{**self.parameters, **override_parameters_kwargs})

    # ---- shapes ----

    def _batch_shape(self) -> Any:
        return TensorShape(None)

    def _event_shape(self) -> Any:
        return TensorShape(None)

    def _batch_shape_tensor(self) -> Tensor:
        self._missing("batch_shape_tensor")

    def _event_shape_tensor(self) -> Tensor:
        self._missing("event_shape_tensor")

    @property
    def batch_shape(self) -> TensorShape:
        """The shape of the batch of distributions as far as it is known."""
        return as_shape(self._batch_shape())

    @property
    def event_shape(self) -> TensorShape:
        """The shape of one draw as far as it is known."""
        return as_shape(self._event_shape())

    @api_boundary.rolling_back
    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Tensor:
        """The shape of the batch of distributions as int32 vector."""
        with self._name_scope(name):
            if self.batch_shape.is_fully_defined():
                sizes = self.batch_shape.as_list()
                return convert_to_tensor(sizes, dtypes.int32, name="batch_shape")
            return self._batch_shape_tensor()

    @api_boundary.rolling_back
    def event_shape_tensor(self, name: str = "event_shape_tensor") -> Tensor:
        """The shape of one draw as int32 vector."""
        with self._name_scope(name):
            if self.event_shape.is_fully_defined():
                sizes = self.event_shape.as_list()
                return convert_to_tensor(sizes, dtypes.int32, name="event_shape")
            return self._event_shape_tensor()

    @api_boundary.rolling_back
    def is_scalar_event(self, name: str = "is_scalar_event") -> Tensor:
        """Whether one draw is a scalar, as bool scalar."""
        with self._name_scope(name):
            found = shapes.is_scalar(self.event_shape, self.event_shape_tensor)
            return convert_to_tensor(found, name="is_scalar_event")

    @api_boundary.rolling_back
    def is_scalar_batch(self, name: str = "is_scalar_batch") -> Tensor:
        """Whether there is one distribution and no batch, as bool scalar."""
        with self._name_scope(name):
            found = shapes.is_scalar(self.batch_shape, self.batch_shape_tensor)
            return convert_to_tensor(found, name="is_scalar_batch")

    # ---- samples ----

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        self._missing("sample_n")

    @api_boundary.rolling_back
    def sample(self, sample_shape: Any = (), seed: int | None = None, name: str = "sample") -> Any:
        """Independent draws.

        Args:
            sample_shape: how many: an int32 scalar or vector.
            seed: integer; None: numbers that differ from session to session.
            name: of the operations.

        Returns:
            A tensor of shape sample_shape + batch_shape + event_shape.
        """
        return self._call_sample_n(sample_shape, seed, name)

    def _call_sample_n(
        self, sample_shape: Any, seed: int | None, name: str, **options: Any
    ) -> Tensor:
        with self._name_scope(name, values=[sample_shape]):
            shape = convert_to_tensor(sample_shape, dtypes.int32, name="sample_shape")
            shape, number = shapes.sample_vector(shape)
            drawn = self._sample_n(number, seed, **options)
            drawn = array.reshape(drawn, array.concat([shape, array.shape(drawn)[1:]], 0))
            return shapes.with_sample_shape(drawn, shape, self.batch_shape, self.event_shape)

    # ---- probabilities ----

    def _log_prob(self, value: Tensor) -> Tensor:
        self._missing("log_prob")

    def _prob(self, value: Tensor) -> Tensor:
        self._missing("prob")

    def _log_cdf(self, value: Tensor) -> Tensor:
        self._missing("log_cdf")

    def _cdf(self, value: Tensor) -> Tensor:
        self._missing("cdf")

    def _log_survival_function(self, value: Tensor) -> Tensor:
        self._missing("log_survival_function")

    def _survival_function(self, value: Tensor) -> Tensor:
        self._missing("survival_function")

    def _quantile(self, value: Tensor) -> Tensor:
        self._missing("quantile")

    @api_boundary.rolling_back
    def log_prob(self, value: Any, name: str = "log_prob") -> Tensor:
        """The logarithm of the density or probability at value.

        Args:
            value: tensor of a shape that broadcasts with batch_shape + event_shape.
            name: of the operations.

        Returns:
            A tensor of value's shape without the event's.
        """
        return self._call_log_prob(value, name)

    @api_boundary.rolling_back
    def prob(self, value: Any, name: str = "prob") -> Tensor:
        """The density or probability at value; see log_prob."""
        return self._call_prob(value, name)

    @api_boundary.rolling_back
    def log_cdf(self, value: Any, name: str = "log_cdf") -> Tensor:
        """The logarithm of cdf."""
        return self._call_log_cdf(value, name)

    @api_boundary.rolling_back
    def cdf(self, value: Any, name: str = "cdf") -> Tensor:
        """The probability of numbers up to value; see log_prob."""
        return self._call_cdf(value, name)

    @api_boundary.rolling_back
    def log_survival_function(self, value: Any, name: str = "log_survival_function") -> Tensor:
        """The logarithm of survival_function."""
        return self._call_log_survival_function(value, name)

    @api_boundary.rolling_back
    def survival_function(self, value: Any, name: str = "survival_function") -> Tensor:
        """The probability of numbers above value; see log_prob."""
        return self._call_survival_function(value, name)

    @api_boundary.rolling_back
    def quantile(self, value: Any, name: str = "quantile") -> Tensor:
        """The number of which cdf is value, a probability."""
        return self._call_quantile(value, name)

    def _call_log_prob(self, value: Any, name: str, **options: Any) -> Tensor:
        with self._with_value(value, name) as x:
            return _first_of(
                lambda: self._log_prob(x, **options),
                lambda: elementwise.log(self._prob(x, **options)),
            )

    def _call_prob(self, value: Any, name: str, **options: Any) -> Tensor:
        with self._with_value(value, name) as x:
            return _first_of(
                lambda: self._prob(x, **options),
                lambda: elementwise.exp(self._log_prob(x, **options)),
            )

    def _call_log_cdf(self, value: Any, name: str, **options: Any) -> Tensor:
        with self._with_value(value, name) as x:
            return _first_of(
                lambda: self._log_cdf(x, **options),
                lambda: elementwise.log(self._cdf(x, **options)),
            )

    def _call_cdf(self, value: Any, name: str, **options: Any) -> Tensor:
        with self._with_value(value, name) as x:
            return _first_of(
                lambda: self._cdf(x, **options),
                lambda: elementwise.exp(self._log_cdf(x, **options)),
            )

    def _call_log_survival_function(self, value: Any, name: str, **options: Any) -> Tensor:
        with self._with_value(value, name) as x:
            return _first_of(
                lambda: self._log_survival_function(x, **options),
                lambda: elementwise.log1p(-self.cdf(x, **options)),
            )

    def _call_survival_function(self, value: Any, name: str, **options: Any) -> Tensor:
        with self._with_value(value, name) as x:
            return _first_of(
                lambda: self._survival_function(x, **options),
                lambda: 1.0 - self.cdf(x, **options),
            )

    def _call_quantile(self, value: Any, name: str, **options: Any) -> Tensor:
        with self._with_value(value, name) as x:
            return self._quantile(x, **options)

    # ---- statistics ----

    def _entropy(self) -> Tensor:
        self._missing("entropy")

    def _mean(self) -> Tensor:
        self._missing("mean")

    def _variance(self) -> Tensor:
        self._missing("variance")

    def _stddev(self) -> Tensor:
        self._missing("stddev")

    def _covariance(self) -> Tensor:
        self._missing("covariance")

    def _mode(self) -> Tensor:
        self._missing("mode")

    def _cross_entropy(self, other: Distribution) -> Tensor:
        return divergence.cross_entropy(self, other, allow_nan_stats=self.allow_nan_stats)

    def _kl_divergence(self, other: Distribution) -> Tensor:
        return divergence.kl_divergence(self, other, allow_nan_stats=self.allow_nan_stats)

    @api_boundary.rolling_back
    def entropy(self, name: str = "entropy") -> Tensor:
        """Shannon's entropy, in nats, of shape batch_shape."""
        with self._name_scope(name):
            return self._entropy()

    @api_boundary.rolling_back
    def mean(self, name: str = "mean") -> Tensor:
        """The mean, of shape batch_shape + event_shape."""
        with self._name_scope(name):
            return self._mean()

    @api_boundary.rolling_back
    def variance(self, name: str = "variance") -> Tensor:
        """The mean of (x - mean)^2, of shape batch_shape + event_shape."""
        with self._name_scope(name):
            return _first_of(self._variance, lambda: elementwise.square(self._stddev()))

    @api_boundary.rolling_back
    def stddev(self, name: str = "stddev") -> Tensor:
        """The root of variance."""
        with self._name_scope(name):
            return _first_of(self._stddev, lambda: elementwise.sqrt(self._variance()))

    @api_boundary.rolling_back
    def covariance(self, name: str = "covariance") -> Tensor:
        """The covariance of an event's numbers: batch_shape + (k, k) for k numbers."""
        with self._name_scope(name):
            return self._covariance()

    @api_boundary.rolling_back
    def mode(self, name: str = "mode") -> Tensor:
        """The most probable value, of shape batch_shape + event_shape."""
        with self._name_scope(name):
            return self._mode()

    @api_boundary.rolling_back
    def cross_entropy(self, other: Distribution, name: str = "cross_entropy") -> Tensor:
        """The mean of -log(other(x)) for x drawn from this distribution."""
        with self._name_scope(name):
            return self._cross_entropy(other)

    @api_boundary.rolling_back
    def kl_divergence(self, other: Distribution, name: str = "kl_divergence") -> Tensor:
        """The divergence of other from this distribution; see tf.distributions.kl_divergence."""
        with self._name_scope(name):
            return self._kl_divergence(other)

    def __str__(self) -> str:
        shown = {"batch_shape": self.batch_shape, "event_shape": self.event_shape}
        known = "".join(f", {k}={v}" for k, v in shown.items() if v.ndims is not None)
        kind = type(self).__name__
        return f'tfp.distributions.{kind}("{self.name}"{known}, dtype={self.dtype.name})'

    def __repr__(self) -> str:
        return (
            f"<tfp.distributions.{type(self).__name__} '{self.name}' "
            f"batch_shape={self.batch_shape} event_shape={self.event_shape} "
            f"dtype={self.dtype.name}>"
        )

    # ---- parts of the methods ----

    def _missing(self, method: str) -> NoReturn:
        raise NotImplementedError(f"{method} is not implemented: {type(self).__name__}")

    @contextlib.contextmanager
    def _name_scope(self, name: str | None = None, values: Sequence[Any] = ()) -> Iterator[str]:
        with (
            scopes.name_scope(self.name),
            scopes.name_scope(name, values=[*(values or ()), *self._graph_parents]) as entered,
        ):
            yield entered

    @contextlib.contextmanager
    def _with_value(self, value: Any, name: str) -> Iterator[Tensor]:
        """The scope of a method, with its argument as tensor."""
        with self._name_scope(name, values=[value]):
            yield convert_to_tensor(value, name="value", preferred_dtype=self.dtype)


def _first_of(method: Callable[[], Tensor], other: Callable[[], Tensor]) -> Tensor:
    """The result of a method or, where a class has none, of another.

    Raises:
        NotImplementedError: the class has neither; the error is the first one's.
    """
    try:
        return method()
    except NotImplementedError as missing:
        try:
            return other()
        except NotImplementedError:
            raise missing from None
