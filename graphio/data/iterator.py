"""tf.data.Iterator."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphio.data import graphs, structure, variables
from graphio.data.dataset import Dataset
from graphio.data.resource import (
    Handle,
    by_name,
    check_known_by_name,
    handles_of,
    resource_of,
    stepped_by_name,
)
from graphio.data.specs import type_specs
from graphio.engine.pickling import Unpicklable
from graphio.framework import api_boundary, dtypes, scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Graph, Operation, Tensor
from graphio.framework.graph_state import bodies
from graphio.framework.tensor_shape import TensorShape
from graphio.model.export import reach
from graphio.ops.base.host import host_call, host_call_to
from graphio.support import api_guard

__all__ = ["Iterator", "make_initializable_iterator", "make_one_shot_iterator"]

Array = np.ndarray[Any, Any]
_ONE_SHOT = (
    "Iterator does not have an initializer: a one-shot iterator begins by itself, one from a "
    "string handle belongs to the iterator of that handle"
)


class Iterator(Unpicklable):
    """Iterates over a dataset's elements, in each session from its beginning.

    Made by Dataset.make_one_shot_iterator, make_initializable_iterator, from_structure or
    from_string_handle.
    """

    pickling_hint = "make it in the other process, or send the elements"

    def __init__(
        self, specs: Any, handle: Handle | None, text: Tensor | None, initializer: Any = None
    ) -> None:
        self._specs = specs
        self._handle = handle
        self._text = text
        self._initializer: Operation | None = initializer
        self._functions: dict[tuple[Graph, Any], str] = {}  # by what is touched, too
        self._strings: dict[
            Graph, Tensor
        ] = {}  # results of string_handle, by the graph of the call
        if handle is not None:
            self._strings[scopes.get_default_graph()] = self._named(None)

    def __repr__(self) -> str:
        return f"<Iterator shapes: {self.output_shapes}, types: {self.output_types}>"

    @staticmethod
    @api_boundary.rolling_back
    def from_structure(
        output_types: Any,
        output_shapes: Any = None,
        shared_name: str | None = None,
        output_classes: Any = None,
    ) -> Iterator:
        """An iterator without a dataset; make_initializer gives it one.

        Args:
            output_types: nested dtypes of an element.
            output_shapes: nested shapes alike; None: unknown.
            shared_name: its name.
            output_classes: nested classes alike: tf.Tensor, or tf.SparseTensor, whose type is its
                values' and whose shape the dense shape; None: tf.Tensor.

        Raises:
            TypeError: types, shapes and classes are not nested alike.
        """
        specs = type_specs.declared(output_types, output_shapes, "from_structure", output_classes)
        graph = scopes.get_default_graph()
        name = graph.unique_name(shared_name or "Iterator")
        return Iterator(specs, Handle(graph, name, specs, one_shot=False), None)

    @staticmethod
    @api_boundary.rolling_back
    def from_string_handle(
        string_handle: Any, output_types: Any, output_shapes: Any = None, output_classes: Any = None
    ) -> Iterator:
        """The iterator that a string names when it runs: what another's string_handle gave.

        Args:
            string_handle: scalar string tensor, often a placeholder.
            output_types, output_shapes, output_classes: see from_structure.

        Raises:
            TypeError: as from_structure.
        """
        what = "from_string_handle"
        specs = type_specs.declared(output_types, output_shapes, what, output_classes)
        text = convert_to_tensor(string_handle, dtypes.string)
        return Iterator(specs, None, text)

    @property
    def initializer(self) -> Operation:
        """The operation that begins the data again.

        Raises:
            ValueError: there is none.
        """
        if self._initializer is None:
            if self._handle is not None and not self._handle.one_shot:
                raise ValueError(
                    "Iterator does not have an initializer: use make_initializer(dataset)"
                )
            raise ValueError(_ONE_SHOT)
        return self._initializer

    @api_boundary.rolling_back
    def make_initializer(self, dataset: Dataset, name: str | None = None) -> Operation:
        """An operation that lets this iterator begin with a dataset of its types.

        Raises:
            TypeError: the dataset's types or shapes do not fit.
            ValueError: its elements are nested in another way; the iterator is not
                re-initializable; a function of the dataset reads or assigns a variable, and
                get_next was called before.
        """
        if self._handle is None or self._handle.one_shot:
            raise ValueError(_ONE_SHOT)
        _check_fits(self._specs, dataset.element_specs)
        return _maker(self._handle, dataset, name)

    @api_boundary.rolling_back
    def get_next(self, name: str | None = None) -> Any:
        """The next element: tensors that step on in every run that needs them.

        Each call of get_next is a separate step.
        """
        found = self._stepped("IteratorGetNext", name=name)
        return structure.element_of(self._specs, found)

    def _stepped(
        self, kind: str, nothing: Sequence[Array] | None = None, name: str | None = None
    ) -> Sequence[Tensor]:
        """The components of the next element.

        Args:
            kind: the operation's type in TensorFlow, and its name if name is None.
            nothing: at the end of the data these are given instead of an error, and a flag comes
                before the components: whether there was an element.
            name: of the operation.
        """
        outputs = [(s.dtype, s.shape) for s in structure.flatten(self._specs)]
        if nothing is not None:
            outputs.insert(0, (dtypes.bool, TensorShape([])))
        strings = [] if self._text is None else [self._text]
        graph = scopes.get_default_graph().root
        if self._handle is None:
            touched = stepped_by_name(graph, self._specs)
        else:
            touched = self._handle.step()
        function = self._function(touched, nothing)
        found = variables.called(
            touched,
            lambda reads, outputs, node: host_call_to(
                function, [*strings, *reads], outputs, name=node, tf_type=kind
            ),
            outputs,
            name or kind,
            kind,
        )
        return found.outputs

    @api_boundary.rolling_back
    def string_handle(self, name: str | None = None) -> Tensor:
        """A scalar string that names this iterator: see from_string_handle. Without a name it is
        the same tensor at each call.

        Raises:
            ValueError: its functions touch variables, and the get_next of from_string_handle was
                made before it.
        """
        if self._text is not None:
            return self._text
        assert self._handle is not None
        graph = scopes.get_default_graph()
        check_known_by_name(graph.root, self._handle)
        if name is not None:
            return self._named(name)
        if graph not in self._strings:
            self._strings[graph] = self._named(None)
        return self._strings[graph]

    def _named(self, name: str | None) -> Tensor:
        assert self._handle is not None
        text = self._handle.name.encode()
        return host_call(
            functools.partial(_always, text),
            [],
            [(dtypes.string, TensorShape([]))],
            function=f"{self._name}/string_handle",
            name=name or "IteratorToStringHandle",
            tf_type="IteratorToStringHandle",
        ).outputs[0]

    @property
    def _name(self) -> str:
        return "IteratorFromStringHandle" if self._handle is None else self._handle.name

    def _function(self, touched: variables.Touched, nothing: Sequence[Array] | None) -> str:
        """The name of the host function that steps, registered where get_next is called."""
        graph, handle, specs = scopes.get_default_graph().root, self._handle, self._specs
        key = graph, (nothing is None, *touched.items())
        if key not in self._functions:

            def bind(session: Any) -> Any:
                if handle is not None:
                    found = resource_of(session, handle)
                    return lambda inputs: found.get_next(touched, inputs, nothing)
                alive = weakref.ref(session)
                return lambda inputs: by_name(alive(), inputs[0], specs).get_next(
                    touched, inputs[1:], nothing
                )

            self._functions[key] = graph.add_host_function(self._name, bind)
            if handle is not None:
                handle.functions.append(self._functions[key])
        return self._functions[key]

    @property
    def element_spec(self) -> Any:
        """TypeSpecs of an element's components, nested as it is."""
        return type_specs.from_specs(self._specs)

    @property
    def output_types(self) -> Any:
        """dtypes of an element's components; see Dataset.output_types."""
        return type_specs.output_types(self._specs)

    @property
    def output_shapes(self) -> Any:
        """Static shapes of an element's components; see Dataset.output_shapes."""
        return type_specs.output_shapes(self._specs)

    @property
    def output_classes(self) -> Any:
        """Classes of an element's components; see Dataset.output_classes."""
        return type_specs.output_classes(self._specs)


def _always(text: bytes, session: Any) -> Any:
    """A host function of a constant string; at module level, so that graphs pickle."""
    return lambda inputs: [text]


def _maker(handle: Handle, dataset: Dataset, name: str | None) -> Operation:
    number = len(handle.makers)
    handle.add_maker(dataset)

    def bind(session: Any) -> Any:
        found = resource_of(session, handle)

        def make(values: Any) -> list[Any]:
            found.make(number, values)
            return []

        return make

    return host_call(
        bind,
        list(dataset.captures),
        [],
        function=f"{handle.name}/initializer",
        name=name or "MakeIterator",
        tf_type="MakeIterator",
    )


def _check_fits(expected: Any, found: Any) -> None:
    """Refuses a dataset of other elements than the iterator's."""
    if not structure.alike(expected, found):
        raise ValueError(
            "make_initializer: the two structures don't have the same nested structure: "
            f"{structure.types_of(expected)} and {structure.types_of(found)}"
        )
    structure.common(expected, found, "make_initializer")
    pairs = zip(structure.flatten(expected), structure.flatten(found), strict=True)
    if not all(a.shape.is_compatible_with(b.shape) for a, b in pairs):
        raise TypeError(
            f"Expected output shapes compatible with {type_specs.output_shapes(expected)} but got "
            f"dataset with output shapes {type_specs.output_shapes(found)}."
        )


def one_shot(dataset: Dataset) -> Iterator:
    """See Dataset.make_one_shot_iterator."""
    graphs.check(dataset)
    _refuse_captured(dataset)
    graph = scopes.get_default_graph()
    handle = Handle(graph, graph.unique_name("OneShotIterator"), dataset.element_specs, True)
    handle.add_maker(dataset)
    return Iterator(dataset.element_specs, handle, None)


def initializable(dataset: Dataset, shared_name: str | None) -> Iterator:
    """See Dataset.make_initializable_iterator."""
    graphs.check(dataset)
    graph = scopes.get_default_graph()
    name = graph.unique_name(shared_name or "Iterator")
    handle = Handle(graph, name, dataset.element_specs, False)
    made = _maker(handle, dataset, None)
    return Iterator(dataset.element_specs, handle, None, made)


def _refuse_captured(dataset: Dataset) -> None:
    """A one-shot iterator has no moment at which it could read placeholders and variables."""
    if dataset.touched:
        name = min(dataset.touched)
        raise ValueError(
            f"Cannot capture a stateful node (name:{name}, "
            f"type:{dataset.touched[name].variable.op.type}) by value: a function reads or assigns "
            "the variable. Use make_initializable_iterator."
        )
    graph = scopes.get_default_graph()
    operations, _ = reach([bodies.resolve(graph, t).op for t in dataset.captures], set())
    for operation in sorted(operations, key=lambda op: op.order):
        found = f"(name:{operation.name}, type:{operation.type}) by value."
        hint = "Use make_initializable_iterator, whose initializer reads it."
        if operation.op == "Placeholder":
            raise ValueError(f"Cannot capture a placeholder {found} {hint}")
        if any(_stateful(inner) for inner in _with_bodies(operation)):
            raise ValueError(f"Cannot capture a stateful node {found} {hint}")


def _stateful(operation: Operation) -> bool:
    attributes = operation.attrs
    return bool("variable" in attributes or "generator" in attributes or attributes.get("stateful"))


def _with_bodies(operation: Operation) -> list[Operation]:
    found, pending = [operation], list(operation.bodies())
    while pending:
        body: Graph = pending.pop()
        found += body.operations
        pending += [inner for op in body.operations for inner in op.bodies()]
    return found


class IteratorSaveable:
    """An iterator as one of a Saver's variables; see make_saveable_from_iterator."""

    def __init__(self, handle: Handle) -> None:
        self.handle = handle
        handle.saveable = True


@api_guard.guarded
def make_saveable_from_iterator(iterator: Iterator) -> IteratorSaveable:
    """An iterator's position as an entry of a Saver's var_list or of SAVEABLE_OBJECTS.

    A Saver of all variables saves the positions of all iterators without it. With it a position at
    the end of the data is restored as such, a one-shot iterator has its position before its first
    step,
    and one whose initializer has not run is an error of the save (FailedPreconditionError).

    Args:
        iterator: of this graph.

    Raises:
        TypeError: it is not an iterator, or one of a string handle.
    """
    if not isinstance(iterator, Iterator) or iterator._handle is None:
        raise TypeError(f"make_saveable_from_iterator: expected an Iterator, got {iterator!r}")
    return IteratorSaveable(iterator._handle)


def saveables_of(graph: Graph) -> list[IteratorSaveable]:
    """The result of make_saveable_from_iterator for every iterator of a graph."""
    return [IteratorSaveable(handle) for handle in handles_of(graph).values()]


@api_guard.guarded
def make_one_shot_iterator(dataset: Dataset) -> Iterator:
    """See Dataset.make_one_shot_iterator."""
    found: Iterator = dataset.make_one_shot_iterator()
    return found


@api_guard.guarded
def make_initializable_iterator(dataset: Dataset, shared_name: str | None = None) -> Iterator:
    """See Dataset.make_initializable_iterator."""
    found: Iterator = dataset.make_initializable_iterator(shared_name)
    return found
