"""The base of all layers: names, variables that are made once and shared, losses, updates.

A layer opens a variable scope at its first call. Its variables are get_variable's, so that reuse,
custom getters and the scope's defaults have their usual effect.
"""

from __future__ import annotations

import contextlib
import copy
import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ParamSpec, Protocol

from graphio.framework import api_boundary, dtypes, nest, scopes
from graphio.framework.collections import GraphKeys
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Graph, Operation, Tensor
from graphio.framework.graph_state import attachments
from graphio.framework.graph_state.attachments import Attachment
from graphio.framework.tensor_shape import Dimension, TensorShape
from graphio.framework.undo import Table
from graphio.layers import input_spec, keras_style
from graphio.layers.configs import named
from graphio.ops.array import surface as array
from graphio.ops.math import elementwise
from graphio.support import api_guard
from graphio.variables.partitioned_variables import parts_of
from graphio.variables.variable_scope import VariableScope, get_variable, variable_scope
from graphio.variables.variables import Variable

__all__ = ["Layer", "channels_axis", "functional", "size_of", "sizes_of"]

P = ParamSpec("P")
#: how many layers have a name without a number
_LAYERS: Attachment[Table[str, int]] = attachments.table("layer_names")
#: the layers' names of a graph, so that copies of layers have the same
_SHARED = (Graph, Tensor, Operation, Variable, VariableScope)


class Layer:
    """A part of a network with its variables; subclasses give `build` and `call`.

    Args:
        trainable: whether optimizers change its variables.
        name: of its scope, made unique; None: the class's name in lower case, with a number in
            the layer's own name.
        dtype: of its variables; None: that of the first input.

    Attributes:
        built: whether its variables are made.
        input_spec: what a call expects of its inputs: an InputSpec, a structure of them as that of
            the inputs, or None.
    """

    input_spec: Any = None

    def __init__(
        self, trainable: bool = True, name: Any = None, dtype: Any = None, **options: Any
    ) -> None:
        given, self._reuse = options.pop("_scope", None), options.pop("_reuse", None)
        self._keras_style = keras_style.is_on()
        if self._keras_style:
            keras_style.check_no_sharing(scope=given, reuse=self._reuse)
        self._activity_regularizer = options.pop("activity_regularizer", None)
        if options:
            raise TypeError(f"{type(self).__name__}: Keyword argument not understood: {options}")
        self.trainable = trainable
        self.built = False
        self._dtype = None if dtype is None else dtypes.as_dtype(dtype).base_dtype
        self._own_trainable: list[Variable] = []
        self._own_others: list[Variable] = []
        self._losses: list[Tensor] = []
        self._updates: list[Any] = []
        self._calls: list[tuple[Any, Any]] = []
        self._graph: Graph | None = None
        self._base_name = name or _snake(type(self).__name__)
        self._name = name.name if isinstance(name, VariableScope) else name
        if not self._name:
            self._name = _unique_name(self._base_name)
        self._scope: VariableScope | None = None
        self._current: VariableScope | None = None
        self._inside = False  # whether the layer is being called
        if given:
            with variable_scope(given) as opened:
                self._scope = opened

    def __repr__(self) -> str:
        ending = "" if self.built else ", not built"
        made = len(self._own_trainable) + len(self._own_others)
        return f"<{type(self).__name__} layer {self._name!r}: {made} variables{ending}>"

    # ---- calling ----

    @api_boundary.rolling_back
    def __call__(self, inputs: Any, *arguments: Any, **options: Any) -> Any:
        """The layer's result for inputs; the first call makes its variables.

        Raises:
            ValueError: the inputs' rank or number of channels is not what the layer takes. The
                graph and the layer are then as they were.
        """
        with scopes.get_default_graph().unchanged_on_error():
            before = dict(vars(self))
            lists = {name: list(v) for name, v in before.items() if isinstance(v, list)}
            try:
                return self._called(inputs, arguments, options)
            except BaseException:
                vars(self).clear()
                vars(self).update({**before, **lists})
                raise

    def _called(self, inputs: Any, arguments: Any, options: dict[str, Any]) -> Any:
        given = nest.map_structure(convert_to_tensor, inputs)
        if self.input_spec:
            input_spec.check(self.input_spec, given, self._name)
        with self._entered(options.pop("scope", None)):
            self._inside = True
            if not self.built:
                self._build(given)
            outputs = self.call(given, *arguments, **options)
            self.built = True  # only now where build did not say so
            if self._activity_regularizer is not None:
                self._regularize_activity(outputs)
        self._inside = False
        self._calls.append((given, outputs))
        return outputs

    @contextlib.contextmanager
    def _entered(self, scope: Any) -> Iterator[None]:
        """The scopes that a call is in."""
        if self._keras_style:
            keras_style.check_no_sharing(scope=scope)
            with scopes.name_scope(self._name):
                yield
            return
        self._open_scope(scope)
        assert self._scope is not None
        reuse = True if self.built else self._reuse
        with variable_scope(self._scope, reuse=reuse, auxiliary_name_scope=False) as opened:
            self._current = opened
            with scopes.name_scope(opened.original_name_scope):
                yield

    def apply(self, inputs: Any, *arguments: Any, **options: Any) -> Any:
        """The same as calling the layer."""
        return self(inputs, *arguments, **options)

    def build(self, input_shape: Any) -> None:
        """Makes the variables; input_shape is the first input's static shape."""
        self.built = True

    def call(self, inputs: Any, *arguments: Any, **options: Any) -> Any:
        """Builds the result."""
        return inputs

    def compute_output_shape(self, input_shape: Any) -> TensorShape:
        """The static shape of the result for inputs of a shape, in layers that say it.

        Raises:
            NotImplementedError: the layer does not.
        """
        raise NotImplementedError(
            f"{type(self).__name__} has no compute_output_shape: define it to return a TensorShape"
        )

    def _open_scope(self, scope: Any) -> None:
        if self._scope is not None:
            return
        if self._reuse:
            opening = variable_scope(self._base_name if scope is None else scope)
        else:
            opening = variable_scope(scope, default_name=self._base_name)
        with opening as opened:
            self._scope = opened

    def _build(self, given: Any) -> None:
        first = nest.flatten(given)[0]
        if self._dtype is None:
            self._dtype = first.dtype.base_dtype
        self._graph = first.graph.root
        shapes = nest.map_structure(lambda t: t.shape, given)
        self.build(shapes)

    # ---- variables, losses, updates ----

    def add_weight(
        self,
        name: str,
        shape: Any,
        dtype: Any = None,
        initializer: Any = None,
        regularizer: Any = None,
        trainable: bool = True,
        constraint: Any = None,
        partitioner: Any = None,
        **ignored: Any,
    ) -> Variable:
        """A variable of the layer, made or shared as its scope says; see tf.get_variable."""
        kind = dtypes.as_dtype(self._dtype or dtypes.float32 if dtype is None else dtype)
        trains = trainable and self.trainable
        if self._keras_style:
            made = keras_style.new_weight(name, shape, kind, initializer, trains, constraint)
            if regularizer is not None:
                self.add_loss(keras_style.regularized(made, name, regularizer))
        else:
            made = self._got_weight(
                name,
                shape=shape,
                dtype=kind,
                initializer=named("initializer", initializer),
                regularizer=regularizer,
                trainable=trains,
                constraint=constraint,
                partitioner=partitioner,
            )
        # A custom getter can make a variable that does not train, or give a tensor instead.
        trains = trainable and (getattr(made, "trainable", True) or not self.trainable)
        (self._own_trainable if trains else self._own_others).extend(parts_of(made))
        return made

    add_variable = add_weight

    def _got_weight(self, name: str, **options: Any) -> Variable:
        losses = scopes.get_default_graph().get_collection(GraphKeys.REGULARIZATION_LOSSES)
        with self._own_scope():
            made = get_variable(name, **options)
        after = scopes.get_default_graph().get_collection(GraphKeys.REGULARIZATION_LOSSES)
        self._losses.extend(after[len(losses) :])
        return made

    def _own_scope(self) -> contextlib.AbstractContextManager[Any]:
        """The scope of the layer's variables, also where build is called and not the layer."""
        if self._inside:
            return contextlib.nullcontext()
        self._open_scope(None)
        assert self._scope is not None
        reuse = True if self.built else self._reuse
        return variable_scope(self._scope, reuse=reuse, auxiliary_name_scope=False)

    def add_loss(self, losses: Any, inputs: Any = None) -> None:
        """Adds tensors to the layer's losses and to REGULARIZATION_LOSSES."""
        added = [loss for loss in _listed(losses) if loss is not None]
        self._losses.extend(added)
        for loss in added:
            scopes.get_default_graph().add_to_collection(GraphKeys.REGULARIZATION_LOSSES, loss)

    def add_update(self, updates: Any, inputs: Any = None) -> None:
        """Adds operations to the layer's updates and, but in Keras' style, to UPDATE_OPS."""
        self._updates.extend(_listed(updates))
        for update in () if self._keras_style else _listed(updates):
            scopes.get_default_graph().add_to_collection(GraphKeys.UPDATE_OPS, update)

    def _regularize_activity(self, outputs: Any) -> None:
        """The penalty of a batch is the mean over its elements."""
        for output in nest.flatten(outputs):
            with scopes.name_scope("ActivityRegularizer"):
                loss = self._activity_regularizer(output)
                count = elementwise.cast(sizes_of(output)[0], loss.dtype)
                self.add_loss(elementwise.truediv(loss, count))

    # ---- description ----

    @property
    def name(self) -> str:
        """The layer's name."""
        return str(self._name)

    @property
    def scope_name(self) -> str:
        """The name of its variable scope.

        Raises:
            ValueError: it was not called yet.
        """
        if self._scope is None:
            raise ValueError(
                f'No name available for layer scope because the layer "{self._name}" has not been '
                "used yet. The scope name is determined the first time the layer instance is called"
            )
        return self._scope.name

    @property
    def graph(self) -> Graph | None:
        """The graph of its variables; None before its first call."""
        return self._graph

    @property
    def dtype(self) -> Any:
        """The dtype of its variables; None where its first input is to decide."""
        return self._dtype

    @property
    def activity_regularizer(self) -> Any:
        """The function from an output to a loss, or None."""
        return self._activity_regularizer

    @property
    def trainable_variables(self) -> list[Variable]:
        """The variables that optimizers change."""
        return list(self._own_trainable) if self.trainable else []

    @property
    def non_trainable_variables(self) -> list[Variable]:
        """The variables that optimizers leave alone."""
        return [*(self._own_trainable if not self.trainable else []), *self._own_others]

    @property
    def variables(self) -> list[Variable]:
        """All its variables, the trainable ones first."""
        return self.trainable_variables + self.non_trainable_variables

    weights = variables
    trainable_weights = trainable_variables
    non_trainable_weights = non_trainable_variables

    @property
    def losses(self) -> list[Tensor]:
        """The losses that its regularizers and add_loss have made."""
        return list(self._losses)

    @property
    def updates(self) -> list[Any]:
        """The arguments of add_update."""
        return list(self._updates) if self.trainable else []

    @property
    def input(self) -> Any:
        """The input of its only call. Raises AttributeError if there is none or several."""
        return self._only_call()[0]

    @property
    def output(self) -> Any:
        """The output of its only call. Raises AttributeError if there is none or several."""
        return self._only_call()[1]

    def _only_call(self) -> tuple[Any, Any]:
        if len(self._calls) != 1:
            raise AttributeError(
                f"Layer {self._name} was called {len(self._calls)} times; the input and output of "
                "a layer are defined when it was called once"
            )
        return self._calls[0]

    def count_params(self) -> int:
        """The number of elements of its variables. Raises ValueError before they are made."""
        if not self.built:
            raise ValueError(
                f"You tried to call count_params on {self._name}, but the layer isn't built; call "
                "it first"
            )
        return sum(v.shape.num_elements() or 0 for v in self.variables)

    def __deepcopy__(self, memo: Any) -> Layer:
        """A new layer that shares the variables, tensors and the graph."""
        made = type(self).__new__(type(self))
        memo[id(self)] = made
        for name, value in vars(self).items():
            parts = nest.flatten(value)
            if parts and all(isinstance(part, _SHARED) for part in parts):
                value = copy.copy(value) if nest.is_nested(value) else value
            else:
                value = copy.deepcopy(value, memo)
            vars(made)[name] = value
        return made


class Functional(Protocol[P]):
    """The function of a class: P is what the class takes."""

    def __call__(self, inputs: Any, *arguments: P.args, **options: P.kwargs) -> Tensor: ...


def functional(kind: Callable[P, Layer], summary: str) -> Functional[P]:
    """The function of a layer's class: inputs, the class's arguments, and reuse.

    A summary is the function's first line of documentation; the rest is the class's.
    """
    made = inspect.signature(kind)

    @api_guard.guarded
    def call(inputs: Any, *arguments: Any, reuse: Any = None, **options: Any) -> Any:
        given = made.bind(*arguments, **options).arguments
        options["_scope"], options["_reuse"] = given.get("name"), reuse
        with scopes.get_default_graph().unchanged_on_error():
            return kind(*arguments, **options)(inputs)

    parameter = inspect.Parameter
    own = [p for p in made.parameters.values() if p.kind is not p.VAR_KEYWORD]
    first = parameter("inputs", parameter.POSITIONAL_OR_KEYWORD)
    last = parameter("reuse", parameter.POSITIONAL_OR_KEYWORD, default=None)
    call.__signature__ = inspect.Signature([first, *own, last])  # type: ignore[attr-defined]
    call.__name__ = call.__qualname__ = _snake(kind.__name__)
    call.__doc__ = f"{summary}\n\n    The arguments are those of `{kind.__name__}`; reuse: whether "
    call.__doc__ += "to take the variables\n    of the name instead of making them.\n    "
    return call


def channels_axis(data_format: str, what: str) -> bool:
    """Whether the channels come second. Raises ValueError for another word."""
    word = data_format.lower() if isinstance(data_format, str) else data_format
    if word not in ("channels_last", "channels_first"):
        raise ValueError(
            f"{what}: the `data_format` argument must be one of 'channels_first', 'channels_last'. "
            f"Received: {data_format!r}"
        )
    return bool(word == "channels_first")


def size_of(size: Any) -> int | None:
    """A dimension as a number, None where it is unknown."""
    found: int | None = size.value if isinstance(size, Dimension) else size
    return found


def sizes_of(x: Tensor) -> Any:
    """The shape as a tensor, which may be indexed."""
    return array.shape(x)


def _listed(values: Any) -> Sequence[Any]:
    return values if isinstance(values, (list, tuple)) else [values]


def _snake(name: str) -> str:
    """The words of a class's name in lower case: conv2d_transpose, max_pooling2d."""
    words = re.sub(r"(.)([A-Z][a-z0-9]+)", r"\1_\2", name)
    return re.sub(r"([a-z])([A-Z])", r"\1_\2", words).lower()


def _unique_name(base: str) -> str:
    """dense_1, dense_2, ...: counted in a graph, whatever the scope is."""
    counts = _LAYERS.of(scopes.get_default_graph())
    counts[base] = counts.get(base, 0) + 1
    return f"{base}_{counts[base]}"
