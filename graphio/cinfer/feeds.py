"""Values fed to a signature and taken from it: checks, and helper functions of runner.c."""

from __future__ import annotations

import copyreg
import weakref
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from graphio.cinfer import arrays
from graphio.cinfer._native import Runner, ffi
from graphio.cinfer.arrays import Array
from graphio.engine import calls
from graphio.engine.interface import TensorSpec
from graphio.engine.pickling import Reduced
from graphio.schema import dtypes
from graphio.support import errors

if TYPE_CHECKING:
    from graphio.cinfer.model import Handles

_MOST_RANK = 16
#: numpy's table of functions for other modules in C
_TABLE = getattr(getattr(getattr(np, "_core", None), "_multiarray_umath", None), "_ARRAY_API", None)


class Feed:
    """One input of a signature and its ci_tensor."""

    __slots__ = ("spec", "tensor")

    def __init__(self, tensor: Any, spec: TensorSpec) -> None:
        self.tensor = tensor
        self.spec = spec

    def point_at(self, value: Any) -> Any:
        """Points the ci_tensor at a value; returns what must be kept during the call."""
        check(self.spec, value, self.spec.kinds)
        return (arrays.point_at_held if self.spec.kinds else arrays.point_at)(self.tensor, value)


def check(spec: TensorSpec, value: Any, kinds: tuple[str, ...] = ()) -> None:
    """Raises InvalidArgumentError if a value cannot be fed to an input as it is."""
    if not kinds:
        _check_array(spec, value)
    elif kinds[0] == "optional":
        if value is not None:
            check(spec, value, kinds[1:])
    elif isinstance(value, list):
        for inner in value:
            check(spec, inner, kinds[1:])
    else:
        raise errors.InvalidArgumentError(
            message=f"input {spec.name!r} is {type(value).__name__}, expected a list"
        )


def _check_array(spec: TensorSpec, array: Any) -> None:
    if not isinstance(array, np.ndarray) or array.dtype != spec.dtype:
        found = array.dtype if isinstance(array, np.ndarray) else type(array).__name__
        raise errors.InvalidArgumentError(
            message=f"input {spec.name!r} is {found}, expected an array of "
            f"{dtypes.of_numpy(spec.dtype).name}; call the signature by names to convert it"
        )
    if not calls.lies_plainly(array):
        how = "not aligned" if array.flags.c_contiguous else "not contiguous"
        raise errors.InvalidArgumentError(
            message=f"input {spec.name!r} is {how}; numpy's require(array, None, 'CA') copies it"
        )
    if array.ndim > _MOST_RANK:
        raise errors.InvalidArgumentError(
            message=f"input {spec.name!r} has rank {array.ndim}, the limit is {_MOST_RANK}"
        )


def writable(tensor: Any, spec: TensorSpec, signature: str, array: Any) -> Any:
    """Makes a ci_tensor a buffer for results."""
    calls.check_output(spec, signature, array)
    return arrays.point_at(tensor, array)


def closed() -> errors.OpError:
    """The error of a run of a model that was closed."""
    return errors.FailedPreconditionError(message="the model was closed")


class Help:
    """The part of a run that runner.c leaves to Python: errors, and views of memory that C lends.

    Args:
        handles: of the model.
        name: of the signature.
        inputs, outputs: its own.
    """

    def __init__(
        self,
        handles: Handles,
        name: str,
        inputs: Mapping[str, TensorSpec],
        outputs: Mapping[str, TensorSpec],
    ) -> None:
        self._handles = handles
        self._name = name
        self._inputs, self._outputs = list(inputs.values()), list(outputs.values())

    def runner(self, number: int, lock: Any) -> Runner | None:
        """A function that runs the signature in one call; None if some input or output is not a
        tensor of numpy's own types."""
        specs = self._inputs + self._outputs
        kinds = tuple(dtypes.of_numpy(spec.dtype).number for spec in specs)
        if any(spec.kinds or spec.dtype == arrays.OBJECT for spec in specs):
            return None
        if any(kind in dtypes.ML_DTYPES for kind in kinds):
            return None
        session, error = _address(self._handles.session_cell), _address(self._handles.error)
        own = tuple(spec.dtype for spec in specs)
        count = len(self._outputs)
        made = Runner(self, lock, np, _TABLE, session, error, number, count, kinds, own)
        _helps[id(made)] = self
        return made

    def recipe(self) -> Reduced:
        """How the signature is made again, whose `run` is that of the runner."""
        return self._handles.recipe.signature(self._name)

    def failed(self, opened: int, code: int) -> BaseException:
        """The error of a run that gave this status."""
        return self._handles.failed(code) if opened else closed()

    def wrong_input(self, i: int, value: Any) -> None:
        """Raises what is wrong with an input."""
        _check_array(self._inputs[i], value)

    def wrong_output(self, i: int, value: Any) -> None:
        """Raises what is wrong with an array for an output."""
        calls.check_output(self._outputs[i], self._name, value)

    def wrong_inputs(self, count: int, _values: Any) -> None:
        """Raises that so many inputs are not the signature's."""
        calls.check_inputs_count(self._name, [spec.name for spec in self._inputs], count)

    def wrong_outputs(self, count: int, _values: Any) -> None:
        """Raises that so many arrays are not one for each output."""
        calls.check_outputs_count(self._name, self._outputs, count)

    def other_type(self, tensor: int) -> Array:
        """A copy of a result whose element type is not the one that the file says."""
        found: Array = arrays.view(ffi.cast("ci_tensor *", tensor)[0])
        return np.array(found)

    def wrong_shape(self, i: int, tensor: int, array: Array) -> None:
        """Raises that an array for an output has another shape than the result."""
        found = ffi.cast("ci_tensor *", tensor)
        raise calls.wrong_shape(self._outputs[i].name, array.shape, found.dims[0 : found.rank])


#: those of the runners that there are, by id; a runner keeps its own
_helps: weakref.WeakValueDictionary[int, Help] = weakref.WeakValueDictionary()
copyreg.pickle(Runner, lambda runner: _helps[id(runner)].recipe())


def _address(pointer: Any) -> int:
    return int(ffi.cast("intptr_t", pointer))
