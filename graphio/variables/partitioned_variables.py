"""Variables partitioned along one axis, each part a separate variable.

`get_variable` makes one where there is a partitioner. The parts of "x" are called "x/part_0" and
so on; a checkpoint holds the complete variable, called "x".
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from graphio.framework import dtypes, scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.conversions import register_tensor_conversion_function
from graphio.framework.dtypes import DType
from graphio.framework.graph import Tensor
from graphio.framework.save_slice_info import Partitioned, SaveSliceInfo, parts_of
from graphio.framework.tensor_shape import TensorShape, as_shape
from graphio.ops.array import joining, reshaping
from graphio.ops.base import primitive
from graphio.variables.variables import Variable

__all__ = ["PartitionInfo", "PartitionedVariable", "cut", "parts_of", "slices", "split_value"]


class PartitionInfo(NamedTuple):
    """Description of the complete variable for the initializer of a part.

    Attributes:
        full_shape: of the complete variable.
        var_offset: where the part begins, one number an axis.
    """

    full_shape: list[int]
    var_offset: list[int]


class PartitionedVariable(Partitioned):
    """A variable that consists of parts, which it can be iterated over for.

    Used as a tensor it is the parts joined together.

    Args:
        name: of the complete variable.
        shape: of the complete variable.
        dtype: of the parts.
        variable_list: the parts, each with its SaveSliceInfo.
        partitions: how many parts each axis is cut into.

    Raises:
        TypeError: variable_list or partitions is not a list.
        ValueError: there are no parts, a part does not say where it begins or belongs to another
            variable, or partitions has not one positive number an axis.
    """

    def __init__(
        self,
        name: str,
        shape: Any,
        dtype: Any,
        variable_list: Sequence[Variable],
        partitions: Sequence[int],
    ) -> None:
        for what, given in (("variable_list", variable_list), ("partitions", partitions)):
            if not isinstance(given, (list, tuple)):
                raise TypeError(f"{what} is not a list or tuple: {given!r}")
        self._shape = as_shape(shape)
        if not variable_list:
            raise ValueError("variable_list may not be empty: give the parts of the variable")
        if len(partitions) != len(self._shape) or not all(p >= 1 for p in partitions):
            raise ValueError(
                f"partitions is {list(partitions)}, expected a positive number for each of the "
                f"axes of {self._shape}"
            )
        self._parts = sorted(variable_list, key=lambda part: self._offset(part))
        self._name, self._dtype = name, dtypes.as_dtype(dtype)
        self._partitions = list(partitions)

    def _offset(self, part: Variable) -> list[int]:
        info = part._save_slice_info
        if info is None or list(info.full_shape or ()) != self._shape.as_list():
            full = None if info is None else info.full_shape
            raise ValueError(
                f"the part {part.name} has a save_slice_info of the full shape {full}, expected "
                f"{self._shape.as_list()}"
            )
        return list(info.var_offset or ())

    def __iter__(self) -> Iterator[Variable]:
        return iter(self._parts)

    def __len__(self) -> int:
        self._axis("count the parts")
        return len(self._parts)

    def __repr__(self) -> str:
        return (
            f"<tf.PartitionedVariable '{self._name}' shape={self._shape} dtype={self._dtype.name} "
            f"of {len(self._parts)} parts>"
        )

    # ---- properties ----

    @property
    def name(self) -> str:
        """The name of the complete variable, without a colon."""
        return self._name

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self._dtype

    @property
    def shape(self) -> TensorShape:
        """The shape of the complete variable."""
        return self._shape

    def get_shape(self) -> TensorShape:
        """The shape of the complete variable."""
        return self._shape

    def _get_variable_list(self) -> list[Variable]:
        """The parts in order."""
        return self._parts

    def _get_partitions(self) -> list[int]:
        """The number of parts along each axis."""
        return self._partitions

    def _axis(self, doing: str) -> int:
        """The axis that is cut."""
        axes = [axis for axis, parts in enumerate(self._partitions) if parts > 1] or [0]
        if len(axes) > 1:
            raise NotImplementedError(
                f"cannot {doing} of '{self._name}', which is cut along the axes {axes}; cut along "
                "one"
            )
        return axes[0]

    # ---- its value ----

    def as_tensor(self) -> Tensor:
        """The parts joined together, as a plain use of a variable reads them."""
        with scopes.control_dependencies(None):
            return self._concat()

    def _concat(self) -> Tensor:
        """The parts joined together, under the control dependencies in effect here."""
        with scopes.name_scope(f"{self._name}/ConcatPartitions/"):
            if len(self._parts) == 1:
                joined = self._parts[0].value()
            else:
                joined = joining.concat(self._parts, self._axis("join the parts"))
        with scopes.name_scope(None):
            return reshaping.identity(joined, name=self._name)

    # ---- assigning ----

    def assign(
        self, value: Any, use_locking: bool = False, name: str | None = None,
        read_value: bool = True,
    ) -> list[Any]:  # fmt: skip
        """Variable.assign of each part, as a list.

        Args:
            value: of the complete variable; or a list with a value for each part; or a
                PartitionedVariable that is cut alike.
            use_locking, name, read_value: as of Variable.assign.
        """
        return self._each("assign", value, use_locking, name, read_value)

    def assign_add(
        self, value: Any, use_locking: bool = False, name: str | None = None,
        read_value: bool = True,
    ) -> list[Any]:  # fmt: skip
        """Variable.assign_add of each part, as a list; see assign."""
        return self._each("assign_add", value, use_locking, name, read_value)

    def assign_sub(
        self, value: Any, use_locking: bool = False, name: str | None = None,
        read_value: bool = True,
    ) -> list[Any]:  # fmt: skip
        """Variable.assign_sub of each part, as a list; see assign."""
        return self._each("assign_sub", value, use_locking, name, read_value)

    def _each(
        self, method: str, value: Any, use_locking: bool, name: str | None, read_value: bool
    ) -> list[Any]:
        axis = self._axis("assign to the parts")
        if isinstance(value, (list, PartitionedVariable)):
            values = list(value)
            if len(values) != len(self._parts):
                raise ValueError(
                    f"{method} to '{self._name}': {len(values)} values for {len(self._parts)} "
                    "parts; give a value for each part, or a tensor for all"
                )
        else:
            sizes = [part.shape.as_list()[axis] for part in self._parts]
            values = joining.split(convert_to_tensor(value, self._dtype), sizes, axis)
        made = [
            getattr(part, method)(own, use_locking, name)
            for part, own in zip(self._parts, values, strict=True)
        ]
        return made if read_value else [tensor.op for tensor in made]


def _convert(
    value: PartitionedVariable, dtype: Any = None, name: str | None = None, as_ref: bool = False
) -> Tensor:
    if dtype is not None and dtypes.as_dtype(dtype) != value.dtype:
        raise ValueError(
            f"'{value.name}' is {value.dtype.name}, and cannot be used as "
            f"{dtypes.as_dtype(dtype).name}; tf.cast its as_tensor()"
        )
    return value.as_tensor()


register_tensor_conversion_function(PartitionedVariable, _convert)


# ---- cutting ----


def cut(partitioner: Callable[..., Any], shape: TensorShape, dtype: DType, name: str) -> list[int]:
    """The number of parts along each axis of a variable.

    Raises:
        ValueError: the shape is not fully known or has no axes, or the partitioner gives something
            else than one positive number an axis, of which one may be above 1.
    """
    if not shape.is_fully_defined():
        raise ValueError(
            f"Shape of a new partitioned variable ({name}) must be fully defined, but instead was "
            f"{shape}."
        )
    if not shape.ndims:
        raise ValueError(
            f"A partitioned variable ({name}) must have rank at least 1, but the shape is {shape}."
        )
    found = partitioner(shape=shape, dtype=dtype)
    whole = isinstance(found, Sequence) and len(found) == shape.ndims
    if not whole or any(p < 1 for p in found) or sum(p > 1 for p in found) > 1:
        raise ValueError(
            f"The partitioner of {name} gave {found!r}, expected a list of {shape.ndims} positive "
            "numbers, of which one may be above 1"
        )
    return list(found)


def slices(name: str, shape: TensorShape, partitions: Sequence[int]) -> list[SaveSliceInfo]:
    """The parts in order; where an axis does not divide evenly the first ones have one more.

    Raises:
        ValueError: there are more parts than the axis has elements.
    """
    full = [size or 0 for size in shape.as_list()]
    axis = next((i for i, parts in enumerate(partitions) if parts > 1), 0)
    many = partitions[axis]
    if many > max(full[axis], 1):
        raise ValueError(f"{name}: axis {axis} of {shape} cannot be cut into {many} parts")
    least, more = divmod(full[axis], many)
    offset, found = [0] * len(full), []
    for i in range(many):
        size = [*full[:axis], least + (i < more), *full[axis + 1 :]]
        found.append(SaveSliceInfo(name, list(full), list(offset), size))
        offset[axis] += size[axis]
    return found


def split_value(value: Any, dtype: DType | None, part: SaveSliceInfo) -> Tensor:
    """A part of the complete variable's initial value."""
    whole = convert_to_tensor(value, dtype, name="initial_value")
    begin, size = list(part.var_offset or ()), list(part.var_shape or ())
    ends = [b + s for b, s in zip(begin, size, strict=True)]
    return primitive.slice_axes(whole, begin, ends, list(range(len(begin))))
