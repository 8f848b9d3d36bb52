"""The common course of layers: their variables' names, normalisation, activation, collections."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from graphio.contrib.framework.variables import model_variable
from graphio.contrib.layers.utils import collect_named_outputs, get_variable_collections
from graphio.framework.collections import add_to_collection, get_collection
from graphio.layers.base import Layer
from graphio.variables.partitioned_variables import parts_of

__all__ = ["Finish", "check_format", "keras_format", "variable_getter"]


def variable_getter(renamed: Mapping[str, str] | None = None) -> Callable[..., Any]:
    """A custom getter that makes model variables, renamed in the last part of their names."""
    names = renamed or {}

    def get(
        getter: Callable[..., Any],
        name: str,
        *,
        collections: Any = None,
        trainable: Any = True,
        reuse: Any = None,
        validate_shape: bool = True,
        constraint: Any = None,
        **options: Any,
    ) -> Any:
        path, slash, last = name.rpartition("/")
        return model_variable(
            f"{path}{slash}{names.get(last, last)}",
            collections=collections,
            trainable=trainable,
            custom_getter=getter,
            **options,
        )

    return get


class Finish(NamedTuple):
    """The steps after the outputs of a layer.

    Attributes:
        alias: of the outputs in their collections.
        activation_fn: from outputs to the result; None: they are it.
        outputs_collections: names of collections of results, or None.
        normalizer_fn, normalizer_params: a function before the activation, its arguments.
        variables_collections: names of collections of variables, or a dictionary of such by the
            variables' names, or None.
    """

    alias: str
    activation_fn: Any
    outputs_collections: Any
    normalizer_fn: Any = None
    normalizer_params: Any = None
    variables_collections: Any = None

    def of_layer(self, layer: Layer, inputs: Any, names: Mapping[str, str]) -> Any:
        """The result of a layer.

        Args:
            names: from attributes of the layer that are variables to their names in
                variables_collections.
        """
        outputs = layer.apply(inputs)
        for attribute, name in names.items():
            self.collect(getattr(layer, attribute), name)
        return self.of(outputs)

    def of(self, outputs: Any) -> Any:
        """The result for outputs."""
        if self.normalizer_fn is not None:
            outputs = self.normalizer_fn(outputs, **(self.normalizer_params or {}))
        if self.activation_fn is not None:
            outputs = self.activation_fn(outputs)
        return collect_named_outputs(self.outputs_collections, self.alias, outputs)

    def collect(self, variable: Any, name: str) -> None:
        """Adds a variable, None for none, to the collections of its name."""
        if variable is None:
            return
        for collection in self.collections(name) or ():
            for part in parts_of(variable):
                if not any(part is other for other in get_collection(collection)):
                    add_to_collection(collection, part)

    def collections(self, name: str) -> Any:
        """The collections of the variable of a name."""
        return get_variable_collections(self.variables_collections, name)


def check_format(data_format: Any, allowed: tuple[str, ...] = ("NCHW", "NHWC")) -> None:
    """Raises ValueError for a data_format that is not allowed."""
    if data_format not in allowed:
        raise ValueError(
            f"data_format has to be either {' or '.join(allowed)}, not {data_format!r}"
        )


def keras_format(data_format: str | None) -> str:
    """NCHW and others in the words of tf.layers."""
    return "channels_first" if data_format and data_format.startswith("NC") else "channels_last"
