"""StagingArea and MapStagingArea: elements that stay in a session from one run to the next."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from graphio.contrib.staging.contents import Elements, KeyedElements
from graphio.framework import dtypes, scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.dtypes import DType
from graphio.framework.graph import Operation, Tensor
from graphio.framework.tensor_shape import TensorShape
from graphio.ops.array import surface as array
from graphio.ops.base.emit import scope
from graphio.ops.base.waiting import Steps, resources_of, wait, waiting_call
from graphio.ops.control_flow.branches import no_op

__all__ = ["BaseStagingArea", "MapStagingArea", "StagingArea"]

Array = np.ndarray[Any, Any]
#: makes the elements of an area
Make = Callable[[], Any]


def _bound(name: str, make: Make, method: str, settings: Mapping[str, Any], session: Any) -> Any:
    """The function of an operation, for a session."""
    resources = resources_of(session)

    def call(inputs: list[Array]) -> Steps[list[Array]]:
        area = resources.get(("staging area", name), make)
        step = functools.partial(getattr(area, method), inputs, **settings)
        found: list[Array] = yield from wait(area.attempt(step))
        return found

    return call


class BaseStagingArea:
    """The base of the areas; see StagingArea.

    Args:
        dtypes, shapes, names, shared_name, capacity, memory_limit: as StagingArea's.
    """

    _TYPE = ""

    def __init__(
        self,
        dtypes: Sequence[Any],
        shapes: Sequence[Any] | None = None,
        names: Sequence[str] | None = None,
        shared_name: str | None = None,
        capacity: int = 0,
        memory_limit: int = 0,
    ) -> None:
        if shared_name is not None and not isinstance(shared_name, str):
            raise ValueError("shared_name must be a string")
        for what, given in (("shapes", shapes), ("names", names)):
            if given is not None and len(given) != len(dtypes):
                raise ValueError(f"StagingArea {what} must be the same length as dtypes")
        graph = scopes.get_default_graph()
        self._name = shared_name or graph.unique_name(type(self).__name__)
        self._dtypes = [_dtype(kind) for kind in dtypes]
        unknown = [TensorShape(None)] * len(self._dtypes)
        self._shapes = unknown if shapes is None else [TensorShape(s) for s in shapes]
        self._names = None if names is None else list(names)
        self._capacity, self._memory_limit = int(capacity), int(memory_limit)
        with scopes.name_scope(f"{self._name}_root"):
            self._placed = no_op()

    @property
    def name(self) -> str:
        """The name; areas of one name are one in a session."""
        return self._name

    @property
    def dtypes(self) -> list[DType]:
        """The dtypes of an element."""
        return self._dtypes

    @property
    def shapes(self) -> list[TensorShape]:
        """The static shapes of an element."""
        return self._shapes

    @property
    def names(self) -> list[str] | None:
        """The names of an element's parts; None: it is a list."""
        return self._names

    @property
    def capacity(self) -> int:
        """The most elements; 0: any number."""
        return self._capacity

    @property
    def memory_limit(self) -> int:
        """The most bytes; 0: any number."""
        return self._memory_limit

    def _make(self) -> Make:
        raise NotImplementedError

    def _parts(self, values: Any, indices: Any) -> tuple[list[Tensor], list[int]]:
        """Values as tensors, and their indices in an element.

        Raises:
            ValueError: they do not fit the area.
        """
        if isinstance(values, Mapping):
            if not self._names:
                raise ValueError("Staging areas must have names to enqueue a dictionary")
            if not set(values) <= set(self._names):
                raise ValueError(
                    "Keys in dictionary to put do not match names of staging area. Dictionary: "
                    f"({sorted(values)}), Queue: ({sorted(self._names)})"
                )
            indices = [i for i, name in enumerate(self._names) if name in values]
            values = [values[self._names[i]] for i in indices]
        else:
            if self._names:
                raise ValueError("You must enqueue a dictionary in a staging area with names")
            if indices is None:
                raise ValueError("Indices must be supplied when inserting a list of tensors")
            if len(indices) != len(values):
                raise ValueError(
                    f"Number of indices '{indices}' doesn't match number of values '{values}'"
                )
        if len(values) > len(self._dtypes):
            raise ValueError(
                f"Unexpected number of inputs '{len(values)}' vs '{len(self._dtypes)}'"
            )
        tensors = [
            self._part(value, int(i)) for value, i in zip(values, indices, strict=True)
        ]  # fmt: skip
        return tensors, [int(i) for i in indices]

    def _part(self, value: Any, index: int) -> Tensor:
        if not 0 <= index < len(self._dtypes):
            raise ValueError(f"index {index} is not one of an element's {len(self._dtypes)} parts")
        tensor = convert_to_tensor(value, name=f"component_{index}")
        if tensor.dtype.base_dtype != self._dtypes[index]:
            raise ValueError(f"Datatypes do not match. '{tensor.dtype}' != '{self._dtypes[index]}'")
        tensor.shape.assert_is_compatible_with(self._shapes[index])
        return tensor

    def _operation(
        self, method: str, tf_type: str, inputs: Sequence[Tensor], name: str,
        outputs: Sequence[tuple[DType, TensorShape]] = (), **settings: Any,
    ) -> Operation:  # fmt: skip
        for attribute in ("capacity", "memory_limit"):
            limit = getattr(self, attribute)
            if limit < 0:
                raise ValueError(f"{tf_type}: {attribute} is {limit}, expected 0 or more")
        with scopes.colocate_with(self._placed):
            return waiting_call(
                functools.partial(_bound, self._name, self._make(), method, settings),
                inputs,
                list(outputs),
                function=f"{self._name}/{method}",
                name=name,
                tf_type=tf_type,
            )

    def _element(self, tensors: Sequence[Tensor], indices: Sequence[int]) -> Any:
        """The value of get and peek: a dict where the area has names, else a list."""
        placed = list(tensors)
        if no_op().device != self._placed.device:
            placed = [array.identity(tensor) for tensor in placed]
        if self._names is None:
            return placed
        return {self._names[i]: tensor for i, tensor in zip(indices, placed, strict=True)}

    def _outputs(self, indices: Sequence[int]) -> list[tuple[DType, TensorShape]]:
        return [(self._dtypes[i], self._shapes[i]) for i in indices]

    def _count(self, method: str, tf_type: str, name: str) -> Tensor:
        scalar = [(dtypes.int32, TensorShape([]))]
        return self._operation(method, tf_type, [], name, scalar).outputs[0]


def _dtype(kind: Any) -> DType:
    return dtypes.as_dtype(kind).base_dtype


class StagingArea(BaseStagingArea):
    """Elements that one run puts and another takes, in their order; each is a tuple of tensors.

    A run waits where it takes an element that is not there, or puts one without capacity for it.

    Args:
        dtypes: list of dtypes of an element.
        shapes: list of their shapes; None: any.
        names: list of names: elements are then dicts; None: lists.
        shared_name: areas of one name are one in a session; None: a new name.
        capacity: the most elements; 0: any number.
        memory_limit: the most bytes; 0: any number.

    Raises:
        ValueError: the lists differ in length, or shared_name is not a string.

    Example:
        >>> area = StagingArea([tf.float32], shapes=[[]])
        >>> x = tf.placeholder(tf.float32, [])
        >>> put, (taken,) = area.put([x]), area.get()
        >>> with tf.Session() as session:
        ...     session.run(put, {x: 1.0})
        ...     print(session.run([put, taken], {x: 2.0})[1])
        1.0
    """

    def _make(self) -> Make:
        return functools.partial(Elements, self._capacity, self._memory_limit)

    def put(self, values: Any, name: str | None = None) -> Operation:
        """An operation that adds an element.

        Args:
            values: list of tensors, a single one, or a dict where the area has names.
            name: of the operation.

        Raises:
            ValueError: they do not fit the area.
            ResourceExhaustedError: in a run, an element is larger than memory_limit.
        """
        with scope(name, f"{self._name}_put") as at:
            if not isinstance(values, (list, tuple, Mapping)):
                values = [values]
            tensors, _ = self._parts(values, list(range(len(values))))
            if len(tensors) != len(self._dtypes):
                raise ValueError(
                    f"Unexpected number of inputs '{len(tensors)}' vs '{len(self._dtypes)}'"
                )
            return self._operation("put", "Stage", tensors, at)

    def get(self, name: str | None = None) -> Any:
        """Takes the first element: a list of tensors, or a dict where the area has names."""
        indices = range(len(self._dtypes))
        at = name or f"{self._name}_get"
        made = self._operation("get", "Unstage", [], at, self._outputs(indices))
        return self._element(made.outputs, indices)

    def peek(self, index: Any, name: str | None = None) -> Any:
        """The element of an index, which stays: as get gives it.

        Raises:
            ValueError: index is not a scalar.
        """
        indices = range(len(self._dtypes))
        at = name or f"{self._name}_peek"
        given = _scalar(index, dtypes.int32, "index")
        made = self._operation("peek", "StagePeek", [given], at, self._outputs(indices))
        return self._element(made.outputs, indices)

    def size(self, name: str | None = None) -> Tensor:
        """The number of elements, an int32 scalar."""
        return self._count("size", "StageSize", name or f"{self._name}_size")

    def clear(self, name: str | None = None) -> Operation:
        """An operation that removes all elements."""
        return self._operation("clear", "StageClear", [], name or f"{self._name}_clear")


class MapStagingArea(BaseStagingArea):
    """Elements that one run puts under a key and another takes by it.

    Parts of an element may be put, and taken, one by one. An element without all of its parts is
    not taken; it counts for memory_limit but not for capacity.

    Args:
        dtypes, shapes, names, shared_name, capacity, memory_limit: as StagingArea's.
        ordered: whether get without a key takes the smallest key; False: the element that became
            complete first, where TensorFlow's order is unspecified.

    Raises:
        ValueError: the lists differ in length, or shared_name is not a string.
    """

    def __init__(
        self,
        dtypes: Sequence[Any],
        shapes: Sequence[Any] | None = None,
        names: Sequence[str] | None = None,
        shared_name: str | None = None,
        ordered: bool = False,
        capacity: int = 0,
        memory_limit: int = 0,
    ) -> None:
        self._ordered = bool(ordered)
        super().__init__(dtypes, shapes, names, shared_name, capacity, memory_limit)

    def _make(self) -> Make:
        count = len(self._dtypes)
        return functools.partial(
            KeyedElements, count, self._ordered, self._capacity, self._memory_limit
        )

    def _type(self, kind: str) -> str:
        return f"OrderedMap{kind}" if self._ordered else f"Map{kind}"

    def put(self, key: Any, vals: Any, indices: Any = None, name: str | None = None) -> Operation:
        """An operation that adds an element, or parts of it.

        Args:
            key: int64 scalar.
            vals: list of tensors, or a dict where the area has names.
            indices: of a list: ascending indices of the parts.
            name: of the operation.

        Raises:
            ValueError: they do not fit the area.
            InvalidArgumentError: in a run, a part is there, or the indices do not ascend.
            ResourceExhaustedError: in a run, they are larger than memory_limit.
        """
        with scope(name, f"{self._name}_put") as at:
            tensors, chosen = self._parts(vals, indices)
            inputs = [_scalar(key, dtypes.int64, "key"), *tensors]
            return self._operation("put", self._type("Stage"), inputs, at, indices=chosen)

    def peek(self, key: Any, indices: Any = None, name: str | None = None) -> Any:
        """The element of a key, or parts of it, which stay: a list, or a dict.

        Args:
            key: int64 scalar.
            indices: list of indices or names of parts; None: all.
            name: of the operation.

        Raises:
            TypeError, ValueError: indices are not such a list.
            InvalidArgumentError: in a run, a part was taken.
        """
        chosen = self._chosen(indices)
        made = self._operation(
            "peek", self._type("Peek"), [_scalar(key, dtypes.int64, "key")],
            name or f"{self._name}_pop", self._outputs(chosen), indices=chosen,
        )  # fmt: skip
        return self._element(made.outputs, chosen)

    def get(self, key: Any = None, indices: Any = None, name: str | None = None) -> Any:
        """Takes an element, or parts of it: its key, and a list or dict.

        Args:
            key: int64 scalar; None: of any element, see ordered.
            indices, name: as peek's.

        Raises:
            As peek.
        """
        chosen = self._chosen(indices)
        at, outputs = name or f"{self._name}_get", self._outputs(chosen)
        if key is None:
            with_key = [(dtypes.int64, TensorShape([])), *outputs]
            made = self._operation(
                "popitem", self._type("UnstageNoKey"), [], at, with_key, indices=chosen
            )
            return made.outputs[0], self._element(made.outputs[1:], chosen)
        given = _scalar(key, dtypes.int64, "key")
        made = self._operation("get", self._type("Unstage"), [given], at, outputs, indices=chosen)
        return key, self._element(made.outputs, chosen)

    def _chosen(self, indices: Any) -> list[int]:
        if indices is None:
            return list(range(len(self._dtypes)))
        if not isinstance(indices, (list, tuple)):
            raise TypeError(f"Invalid indices type '{type(indices)}'")
        if not indices:
            raise ValueError("Empty indices")
        if all(isinstance(i, str) for i in indices):
            return [self._index(i) for i in indices]
        if not all(isinstance(i, int) for i in indices):
            raise TypeError(f"Mixed types in indices '{indices}'. May only be str or int")
        return list(indices)

    def _index(self, name: str) -> int:
        if self._names is None:
            raise ValueError(
                f"String indices provided '{name}', but this Staging Area was not created with "
                "names."
            )
        if name not in self._names:
            raise ValueError(f"Named index '{name}' not in Staging Area names '{self._names}'")
        return self._names.index(name)

    def size(self, name: str | None = None) -> Tensor:
        """The number of complete elements, an int32 scalar."""
        return self._count("size", self._type("Size"), name or f"{self._name}_size")

    def incomplete_size(self, name: str | None = None) -> Tensor:
        """The number of elements that lack parts, an int32 scalar."""
        at = name or f"{self._name}_incomplete_size"
        return self._count("incomplete_size", self._type("IncompleteSize"), at)

    def clear(self, name: str | None = None) -> Operation:
        """An operation that removes all elements."""
        return self._operation("clear", self._type("Clear"), [], name or f"{self._name}_clear")


def _scalar(value: Any, dtype: DType, name: str) -> Tensor:
    made = convert_to_tensor(value, dtype, name=name)
    if made.shape.ndims not in (0, None):
        raise ValueError(f"{name} must be scalar, but its shape is {made.shape}")
    return made
