"""Layers whose values are computed again for the gradient, instead of kept until then."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from graphio.autodiff.custom_gradients import custom_gradient, variables_between
from graphio.autodiff.gradients import gradients
from graphio.contrib.framework.arg_scope import arg_scope, current_arg_scope
from graphio.framework import scopes
from graphio.framework.graph import Tensor
from graphio.layers.base import Layer
from graphio.ops.array import surface as array
from graphio.ops.control_flow import branches
from graphio.ops.math import elementwise
from graphio.support import api_guard
from graphio.variables.variable_scope import get_variable_scope, variable_scope
from graphio.variables.variables import Variable

__all__ = ["RevBlock", "recompute_grad", "rev_block"]

#: a part of a reversible layer: of a tensor, and the side inputs if there are some
Part = Callable[..., Any]


def _within(scope: str, function: Part) -> Part:
    """The function with its variables in a scope."""

    def call(*arguments: Any) -> Any:
        with variable_scope(scope, use_resource=True):
            return function(*arguments)

    return call


def _for_each(functions: Any, count: int, part: str) -> list[Part]:
    """A function for each layer, in its scope."""
    listed = functions if isinstance(functions, list) else [functions] * count
    if len(listed) != count:
        raise ValueError(
            f"{part} has {len(listed)} functions for num_layers={count}: give one for each layer, "
            "or one for all"
        )
    return [_within(f"revlayer_{i}/{part}", f) for i, f in enumerate(listed)]


def _sums(lists: Sequence[Sequence[Any]]) -> list[Any]:
    """The sums of the gradients at the same position, None where there are none."""
    found = []
    for several in zip(*lists, strict=True):
        known = [dx for dx in several if dx is not None]
        found.append(elementwise.add_n(known) if known else None)
    return found


class RevBlock(Layer):
    """Reversible residual layers (Gomez et al. 2017); see rev_block.

    Args:
        f, g: functions of a tensor (and a list of side inputs), or lists of one for each layer.
        num_layers: how many layers.
        f_side_input, g_side_input: lists of tensors that all f and all g take; None: none.
        use_efficient_backprop: whether the gradient computes the layers' inputs from their
            outputs, so that a run need not keep them.
        name: of the layer's scope.

    Raises:
        ValueError: a list of functions has another length.
    """

    def __init__(
        self,
        f: Any,
        g: Any,
        num_layers: int = 1,
        f_side_input: list[Any] | None = None,
        g_side_input: list[Any] | None = None,
        use_efficient_backprop: bool = True,
        name: str = "revblock",
        **options: Any,
    ) -> None:
        super().__init__(name=name, **options)
        self.f, self.g = _for_each(f, num_layers, "f"), _for_each(g, num_layers, "g")
        self.num_layers = num_layers
        self.f_side_input, self.g_side_input = list(f_side_input or []), list(g_side_input or [])
        self._efficient = use_efficient_backprop

    def call(self, inputs: Any, *arguments: Any, forward: bool = True, **options: Any) -> Any:
        """The outputs for inputs, or the inputs for outputs."""
        scope = get_variable_scope()
        before = len(scope.global_variables())
        found = self._forward(*inputs) if forward else self._backward(*inputs)
        trained = scope.trainable_variables()
        for variable in scope.global_variables()[before:]:
            (self._own_trainable if variable in trained else self._own_others).append(variable)
        return found

    def forward(self, x1: Any, x2: Any) -> Any:
        """The outputs (y1, y2) for inputs."""
        return self.apply([x1, x2])

    def backward(self, y1: Any, y2: Any) -> Any:
        """The inputs (x1, x2) for outputs."""
        return self.apply([y1, y2], forward=False)

    # ---- values ----

    def _sides(self, given: Sequence[Tensor]) -> tuple[list[Any], list[Any]]:
        """The arguments of f and of g after the tensor: a list of side inputs, or none."""
        count = len(self.f_side_input)
        f, g = list(given[:count]), list(given[count:])
        return [f] if f else [], [g] if g else []

    def _forward(self, x1: Any, x2: Any) -> tuple[Any, Any]:
        inputs = [x1, x2, *self.f_side_input, *self.g_side_input]
        if not self._efficient:
            return self._outputs(*inputs)

        def with_gradient(*given: Any) -> Any:
            outputs = self._outputs(*given)

            def slopes(*dy: Any, variables: Sequence[Variable] = ()) -> Any:
                found = self._slopes(given[2:], outputs, dy, variables)
                by_inputs, by_variables = found
                return (by_inputs, by_variables) if variables else by_inputs

            return outputs, slopes

        found: tuple[Any, Any] = custom_gradient(with_gradient)(*inputs)
        return found

    def _outputs(self, x1: Any, x2: Any, *sides: Any) -> tuple[Any, Any]:
        f_side, g_side = self._sides(sides)
        for f, g in zip(self.f, self.g, strict=True):
            x1 = elementwise.add(x1, f(x2, *f_side))
            x2 = elementwise.add(x2, g(x1, *g_side))
            if self._efficient:
                x1, x2 = branches.tuple([x1, x2])
        return x1, x2

    def _backward(self, y1: Any, y2: Any) -> tuple[Any, Any]:
        f_side, g_side = self._sides([*self.f_side_input, *self.g_side_input])
        for f, g in zip(reversed(self.f), reversed(self.g), strict=True):
            y2 = elementwise.subtract(y2, g(y1, *g_side))
            y1 = elementwise.subtract(y1, f(y2, *f_side))
        return y1, y2

    # ---- gradients ----

    def _slopes(
        self, sides: Sequence[Tensor], ys: Any, dys: Any, variables: Sequence[Variable]
    ) -> tuple[list[Any], list[Any]]:
        """The gradients by the inputs, side inputs included, and by the variables."""
        fixed = [array.stop_gradient(side) for side in sides]
        f_side, g_side = self._sides(fixed)
        (y1, y2), (dy1, dy2) = ys, dys
        found = []
        with variable_scope(self.scope_name, reuse=True):
            for f, g in zip(reversed(self.f), reversed(self.g), strict=True):
                dy1, y1_, gy1, more = _step(g, y1, g_side, dy2, dy1, variables)
                found.append(_aligned(more, g_side, fixed))
                x2 = elementwise.subtract(y2, gy1)
                dy2, x2_, fx2, more = _step(f, x2, f_side, dy1, dy2, variables)
                found.append(_aligned(more, f_side, fixed))
                x1 = elementwise.subtract(y1_, fx2)
                # the values of one layer are computed before the next one begins
                y1, y2, dy1, dy2 = branches.tuple([x1, x2_, dy1, dy2])
        sums = _sums(found)
        return [dy1, dy2, *sums[: len(fixed)]], sums[len(fixed) :]


def _step(
    part: Part, x: Tensor, side: list[Any], dy: Any, dx: Any, variables: Sequence[Variable]
) -> tuple[Any, Tensor, Tensor, list[Any]]:
    """Computes a part again.

    Returns:
        dx with the gradient by the part's input; the input; the output; the gradients by side
        inputs and variables.
    """
    x = array.stop_gradient(x)
    y = part(x, *side)
    extra = [*(side[0] if side else []), *variables]
    by_input, *others = gradients(y, [x, *extra], dy)
    if by_input is not None:
        dx = elementwise.add(dx, by_input)
    return dx, x, y, others


def _aligned(found: list[Any], side: list[Any], all_sides: list[Tensor]) -> list[Any]:
    """Gradients by one part's side inputs and the variables, as those by all side inputs."""
    own = side[0] if side else []
    by_side = dict(zip(own, found, strict=False))
    return [*(by_side.get(tensor) for tensor in all_sides), *found[len(own) :]]


@api_guard.makes_variables
def rev_block(
    x1: Any,
    x2: Any,
    f: Any,
    g: Any,
    num_layers: int = 1,
    f_side_input: list[Any] | None = None,
    g_side_input: list[Any] | None = None,
    is_training: bool = True,
) -> Any:
    """Reversible residual layers: y1 = x1 + f(x2), y2 = x2 + g(y1) (Gomez et al. 2017).

    For the gradient the inputs of each layer are computed from its outputs, so that a run need not
    keep them.

    Args:
        x1, x2: floating tensors of one shape.
        f, g: functions of a tensor (and a list of side inputs) that give one of the same shape, or
            lists of one for each layer. Their variables are in the scopes
            revblock/revlayer_0/f, revblock/revlayer_0/g and so on.
        num_layers: how many layers.
        f_side_input, g_side_input: lists of tensors that all f and all g take; None: none.
        is_training: False builds the layers as they are, with the usual gradients.

    Returns:
        y1 and y2 of the last layer.

    Raises:
        ValueError: a list of functions has another length than num_layers.
    """
    block = RevBlock(
        f, g, num_layers, f_side_input, g_side_input, is_training,
        _reuse=get_variable_scope().reuse,
    )  # fmt: skip
    return block.forward(x1, x2)


# ---- any function ----


@api_guard.unguarded
def recompute_grad(
    fn: Callable[..., Any] | None = None,
    use_data_dep: bool | None = None,
    tupleize_grads: bool = False,
) -> Callable[..., Any]:
    """A decorator: what the function computes is computed again for its gradient.

    Where it has a parameter is_recomputing, that is False at first and True for the gradient. Its
    variables must be made with use_resource=True, and each call needs a separate variable scope.

    Args:
        fn: of tensors, given by position. None: gives a decorator.
        use_data_dep: accepted; control dependencies keep the order here.
        tupleize_grads: whether all gradients are computed before one of them is used.

    Raises:
        ValueError: fn uses a tensor or variable of the code around it; at a call, an argument is
            not a tensor; at tf.gradients, fn has other variables than before.
    """
    if fn is None:
        return functools.partial(
            recompute_grad, use_data_dep=use_data_dep, tupleize_grads=tupleize_grads
        )
    function = fn
    _check_closure(function)
    knows = "is_recomputing" in inspect.signature(function).parameters

    @functools.wraps(function)
    def wrapped(*arguments: Any) -> Any:
        if not all(isinstance(x, Tensor) for x in arguments):
            raise ValueError("All inputs to function must be Tensors")
        scope, defaults = get_variable_scope(), current_arg_scope()

        def again(inputs: list[Tensor], recomputing: bool) -> Any:
            options = {"is_recomputing": recomputing} if knows else {}
            return function(*inputs, **options)

        def with_gradient(*given: Tensor) -> Any:
            outputs = again(list(given), False)

            def slopes(*dy: Any, variables: Sequence[Variable] = ()) -> Any:
                known = [x for x in dy if x is not None]
                with scopes.control_dependencies(known), arg_scope(defaults):
                    inputs = [array.identity(x) for x in given]
                    with variable_scope(scope, reuse=True):
                        results = again(inputs, True)
                listed = list(results) if isinstance(results, (list, tuple)) else [results]
                _check_variables(inputs, listed, variables)
                found = gradients(listed, [*inputs, *variables], list(dy))
                if tupleize_grads:
                    found = branches.tuple(found)
                by_inputs, others = found[: len(inputs)], found[len(inputs) :]
                return (by_inputs, others) if variables else by_inputs

            return outputs, slopes

        return custom_gradient(with_gradient)(*arguments)

    return wrapped


def _check_closure(function: Callable[..., Any]) -> None:
    for name, value in inspect.getclosurevars(function).nonlocals.items():
        if isinstance(value, (Tensor, Variable)):
            raise ValueError(
                f"fn decorated with @recompute_grad closes over Tensor {value.name} (local "
                f"variable name: {name}), for which no gradient would be computed: give it to fn "
                "as an argument"
            )


def _check_variables(
    inputs: Sequence[Tensor], outputs: Sequence[Tensor], before: Sequence[Variable]
) -> None:
    after = variables_between(inputs, outputs)
    if set(after) != set(before):
        names = [", ".join(sorted(v.op.name for v in found)) for found in (before, after)]
        raise ValueError(
            "The variables used on recompute were different than the variables originally used: "
            f"{names[1]} instead of {names[0]}. The function wrapped with @recompute_grad makes a "
            "variable scope with a default name and was called twice in the same enclosing scope: "
            "give each call a separate variable scope"
        )
