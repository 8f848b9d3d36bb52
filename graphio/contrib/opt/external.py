"""Minimisation by scipy.optimize, outside of the graph."""

from __future__ import annotations

import importlib
import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from graphio.autodiff.gradients import gradients
from graphio.execution.session import get_default_session
from graphio.framework.constants import placeholder
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.support import logging
from graphio.variables.variables import trainable_variables

__all__ = ["ExternalOptimizerInterface", "ScipyOptimizerInterface"]

Function = Callable[[Any], Any]


class ExternalOptimizerInterface:
    """Minimises a loss by a function of Python; subclasses give `_minimize`.

    Args:
        loss: a scalar.
        var_list: variables to change; None: the trainable ones.
        equalities: tensors that shall be 0.
        inequalities: tensors that shall not be negative.
        var_to_bounds: from variables to pairs of lowest and highest values, each broadcast.
        optimizer_kwargs: of the function.
    """

    def __init__(
        self,
        loss: Tensor,
        var_list: Sequence[Any] | None = None,
        equalities: Sequence[Tensor] | None = None,
        inequalities: Sequence[Tensor] | None = None,
        var_to_bounds: Mapping[Any, Any] | None = None,
        **optimizer_kwargs: Any,
    ) -> None:
        self._vars = list(trainable_variables() if var_list is None else var_list)
        self._shapes = [tuple(v.get_shape().as_list()) for v in self._vars]
        ends = list(itertools.accumulate(math.prod(shape) for shape in self._shapes))
        self._slices = [slice(a, b) for a, b in zip([0, *ends], ends, strict=False)]
        self._bounds = None if var_to_bounds is None else self._packed_bounds(var_to_bounds)
        self._placeholders = [placeholder(v.dtype.base_dtype, v.get_shape()) for v in self._vars]
        self._updates = [v.assign(p) for v, p in zip(self._vars, self._placeholders, strict=True)]
        self._packed = self._pack([v.read_value() for v in self._vars])
        self._loss = [loss, self._gradient(loss)]
        self._equalities = [(x, self._gradient(x)) for x in equalities or ()]
        self._inequalities = [(x, self._gradient(x)) for x in inequalities or ()]
        self.optimizer_kwargs = optimizer_kwargs

    def _packed_bounds(self, given: Mapping[Any, Any]) -> list[tuple[float, float]]:
        sides: list[list[float]] = [[], []]
        for variable, shape in zip(self._vars, self._shapes, strict=True):
            bounds = given.get(variable, (-np.inf, np.inf))
            for side, bound in zip(sides, bounds, strict=True):
                side.extend(np.broadcast_to(bound, shape).ravel().tolist())
        return list(zip(*sides, strict=True))

    def _pack(self, tensors: Sequence[Tensor]) -> Tensor:
        return array.concat([array.reshape(x, [-1]) for x in tensors], 0)

    def _gradient(self, x: Tensor) -> Tensor:
        found = gradients(x, self._vars)
        zeros = [
            array.zeros_like(v) if g is None else g for g, v in zip(found, self._vars, strict=True)
        ]
        return self._pack(zeros)

    def minimize(
        self,
        session: Any = None,
        feed_dict: Mapping[Any, Any] | None = None,
        fetches: Sequence[Any] | None = None,
        step_callback: Callable[[Any], Any] | None = None,
        loss_callback: Callable[..., Any] | None = None,
        **run_kwargs: Any,
    ) -> None:
        """Minimises the loss and assigns the result to the variables.

        Args:
            session: None: the default session.
            feed_dict: of all runs.
            fetches: tensors whose values loss_callback gets after each evaluation of the loss.
            step_callback: called with the packed variables after each step.
            run_kwargs: of the last run.
        """
        sess: Any = session or get_default_session()
        feeds = dict(feed_dict or {})

        def function(tensors: Any, extra: Sequence[Any] = (), callback: Any = None) -> Function:
            def call(x: Any) -> Any:
                found = sess.run([tensors, list(extra)], {**self._fed(x), **feeds})
                if callback is not None:
                    callback(*found[1])
                return found[0]

            return call

        pairs = [
            [(function(x), function(slope)) for x, slope in constraints]
            for constraints in (self._equalities, self._inequalities)
        ]
        result = self._minimize(
            initial_val=sess.run(self._packed),
            loss_grad_func=function(self._loss, fetches or (), loss_callback),
            equality_funcs=[f for f, _ in pairs[0]],
            equality_grad_funcs=[g for _, g in pairs[0]],
            inequality_funcs=[f for f, _ in pairs[1]],
            inequality_grad_funcs=[g for _, g in pairs[1]],
            packed_bounds=self._bounds,
            step_callback=step_callback or (lambda x: None),
            optimizer_kwargs=self.optimizer_kwargs,
        )
        parts = self._fed(result).values()
        sess.run(self._updates, dict(zip(self._placeholders, parts, strict=True)), **run_kwargs)

    def _fed(self, x: Any) -> dict[Any, Any]:
        """The parts of packed variables, to feed in the place of the variables."""
        parts = zip(self._vars, self._slices, self._shapes, strict=True)
        return {v: np.reshape(x[part], shape) for v, part, shape in parts}

    def _minimize(self, **given: Any) -> Any:
        raise NotImplementedError(
            "To use ExternalOptimizerInterface, subclass from it and implement the _minimize() "
            "method."
        )


class ScipyOptimizerInterface(ExternalOptimizerInterface):
    """Minimises a loss by scipy.optimize.minimize, by default with the method L-BFGS-B.

    The arguments are those of ExternalOptimizerInterface; optimizer_kwargs are scipy's `method`,
    `options`, `tol` and others.

    Raises:
        ValueError: from minimize: an argument of scipy's is set by this class.
    """

    _DEFAULT_METHOD = "L-BFGS-B"

    def _minimize(self, **given: Any) -> Any:
        options = dict(given["optimizer_kwargs"])
        method = options.pop("method", self._DEFAULT_METHOD)
        constraints = [
            {"type": kind, "fun": f, "jac": g}
            for kind, name in (("eq", "equality"), ("ineq", "inequality"))
            for f, g in zip(given[f"{name}_funcs"], given[f"{name}_grad_funcs"], strict=True)
        ]
        own = {
            "jac": True, "callback": given["step_callback"], "method": method,
            "constraints": constraints, "bounds": given["packed_bounds"],
        }  # fmt: skip
        if "bounds" in options:
            raise ValueError("Bounds must be set using the var_to_bounds argument")
        for name in own.keys() & options.keys():
            raise ValueError(
                f"Optimizer keyword arg '{name}' is set automatically and cannot be injected "
                "manually"
            )

        def loss_and_slope(x: Any) -> Any:
            loss, slope = given["loss_grad_func"](x)
            return float(loss), np.asarray(slope, np.float64)

        scipy = importlib.import_module("scipy.optimize")  # which only this class needs
        found = scipy.minimize(loss_and_slope, given["initial_val"], **own, **options)
        logging.info(
            "Optimization terminated with: %s; value %f after %s evaluations",
            found.message, found.fun, getattr(found, "nfev", "?"),
        )  # fmt: skip
        return found.x
