"""Mixture: one of several distributions, chosen by a categorical one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphio.contrib.distributions.mixtures.padding import pad_mixture_dimensions
from graphio.distributions.categorical import Categorical
from graphio.distributions.distribution import Distribution
from graphio.distributions.parameters import another_seed
from graphio.distributions.reparameterization import NOT_REPARAMETERIZED
from graphio.framework import scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.folding import constant_value
from graphio.ops.array import surface as array
from graphio.ops.array.index import one_hot
from graphio.ops.array.shaping import where_v2
from graphio.ops.checks import asserts
from graphio.ops.math import elementwise, reduction
from graphio.ops.math.elementwise import add_n
from graphio.ops.nn.core import log_softmax, softmax

__all__ = ["Mixture"]


class Mixture(Distribution):
    """A mixture of distributions of one dtype, batch and event shape.

    A draw takes a sample of every component and keeps that of the chosen one.

    Args:
        cat: Categorical over the components.
        components: the distributions.
        validate_args: whether runs check that the batches have one shape.
        allow_nan_stats: see Distribution.
        use_static_graph: without an effect: draws are always made so.
        name: of the scope of its operations.

    Raises:
        TypeError: cat is not a Categorical, components is not a list of distributions, or their
            dtypes differ.
        ValueError: there are no components or not as many as classes, their shapes differ, or the
            events' rank is not known.
    """

    def __init__(
        self,
        cat: Categorical,
        components: Sequence[Distribution],
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        use_static_graph: bool = False,
        name: str = "Mixture",
    ) -> None:
        parameters = dict(locals())
        if not isinstance(cat, Categorical):
            raise TypeError(f"cat must be a Categorical distribution, but saw: {cat}")
        _require_components(components)
        self._known_event, self._known_batch = components[0].event_shape, cat.batch_shape
        for component in components:
            self._known_event = self._known_event.merge_with(component.event_shape)
            self._known_batch = self._known_batch.merge_with(component.batch_shape)
        ndims = self._known_event.ndims
        if ndims is None:
            raise ValueError(
                "Expected to know rank(event_shape) from components, but none of the components "
                "provide a static number of ndims"
            )
        self._event_ndims = ndims
        with scopes.name_scope(name, values=[cat.logits]) as scope:
            classes = constant_value(convert_to_tensor(cat.event_size))
            if classes is None:
                raise ValueError(
                    "Could not infer number of classes from cat and unable to compare this value "
                    "to the number of components passed in."
                )
            if int(classes) != len(components):
                raise ValueError(
                    f"cat.num_classes != len(components): {classes} vs. {len(components)}"
                )
            self._checks = [
                asserts.assert_equal(
                    cat.batch_shape_tensor(),
                    component.batch_shape_tensor(),
                    message=f"components[{i}] batch shape must match cat batch shape",
                )
                for i, component in enumerate(components if validate_args else ())
            ]
        self._cat, self._components = cat, list(components)
        parents = [parent for part in (cat, *components) for parent in part._graph_parents]
        super().__init__(
            components[0].dtype,
            NOT_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            parameters,
            parents,
            scope,
        )

    @property
    def cat(self) -> Categorical:
        """The distribution over the components."""
        return self._cat

    @property
    def components(self) -> list[Distribution]:
        """The distributions."""
        return self._components

    @property
    def num_components(self) -> int:
        """The number of the distributions."""
        return len(self._components)

    def _batch_shape_tensor(self) -> Any:
        return self._cat.batch_shape_tensor()

    def _batch_shape(self) -> Any:
        return self._known_batch

    def _event_shape_tensor(self) -> Any:
        return self._components[0].event_shape_tensor()

    def _event_shape(self) -> Any:
        return self._known_event

    # ---- sums over components, whose axis is added in front ----

    def _weights(self, function: Callable[..., Any], event: bool = True) -> Any:
        """A softmax of the classes' logits, in front; event: with axes of 1 for events."""
        found = array.stack(array.unstack(function(self._cat.logits), self.num_components, -1), 0)
        for _ in range(self._event_ndims if event else 0):
            found = array.expand_dims(found, -1)
        return found

    def _each(self, what: str, *arguments: Any) -> Any:
        return array.stack([getattr(c, what)(*arguments) for c in self._components], 0)

    def _mean(self) -> Any:
        with scopes.control_dependencies(self._checks):
            return reduction.reduce_sum(self._weights(softmax) * self._each("mean"), 0)

    def _stddev(self) -> Any:
        with scopes.control_dependencies(self._checks):
            means = self._each("mean")
            squares = elementwise.square(self._each("stddev")) + elementwise.square(means)
            weights = self._weights(softmax)
            mean = reduction.reduce_sum(weights * means, 0)
            variance = reduction.reduce_sum(weights * squares, 0) - elementwise.square(mean)
            return elementwise.sqrt(variance)

    def _log_sum(self, what: str, x: Any) -> Any:
        with scopes.control_dependencies(self._checks):
            x = convert_to_tensor(x, name="x")
            logs = self._weights(log_softmax, event=False)
            found = [
                logs[i] + getattr(component, what)(x)
                for i, component in enumerate(self._components)
            ]
            return reduction.reduce_logsumexp(array.stack(found, 0), [0])

    def _log_prob(self, value: Any) -> Any:
        return self._log_sum("log_prob", value)

    def _log_cdf(self, value: Any) -> Any:
        return self._log_sum("log_cdf", value)

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        with scopes.control_dependencies(self._checks):
            chosen = self._cat.sample(n, seed=seed)
            drawn = []
            for component in self._components:
                seed = another_seed(seed, "mixture")
                drawn.append(component.sample(n, seed=seed))
            axes = self._event_ndims
            mask = one_hot(chosen, self.num_components, True, False)
            mask = pad_mixture_dimensions(mask, self, self._cat, axes)
            samples = array.stack(drawn, -axes - 1)
            # not multiplied by the mask: 0 times an infinite number of another component is nan
            kept = where_v2(mask, samples, array.zeros_like(samples))
            return reduction.reduce_sum(kept, -1 - axes)

    def entropy_lower_bound(self, name: str = "entropy_lower_bound") -> Any:
        """The mean of the components' entropies, which the mixture's is not below (Huber et al.,
        2008)."""
        with (
            self._name_scope(name, values=[self._cat.logits]),
            scopes.control_dependencies(self._checks),
        ):
            weights = self._weights(softmax, event=False)
            return add_n([weights[i] * c.entropy() for i, c in enumerate(self._components)])


def _require_components(components: Any) -> None:
    if not components:
        raise ValueError("components must be a non-empty list or tuple")
    if not isinstance(components, (list, tuple)):
        raise TypeError(f"components must be a list or tuple, but saw: {components}")
    if not all(isinstance(component, Distribution) for component in components):
        raise TypeError(
            f"all entries in components must be Distribution instances but saw: {components}"
        )
    if any(component.dtype != components[0].dtype for component in components):
        raise TypeError(
            "All components must have the same dtype, but saw dtypes: "
            f"{[(component.name, component.dtype) for component in components]}"
        )
