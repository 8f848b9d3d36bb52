"""ConditionalAccumulator: gradients are added up until there are enough of them.

Sums are of a session, and no checkpoint has them.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from graphio.framework import api_boundary, dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.dtypes import DType
from graphio.framework.graph import Operation, Tensor
from graphio.framework.operation import TENSORFLOW_ATTRIBUTES
from graphio.framework.tensor_shape import TensorShape
from graphio.ops.base.waiting import Attempt, Steps, resources_of, wait, waiting_call
from graphio.ops.math import elementwise
from graphio.queues.building import builds_with
from graphio.support import errors

__all__ = [
    "ConditionalAccumulator",
    "ConditionalAccumulatorBase",
    "Sums",
    "accumulator",
]

Array = np.ndarray[Any, Any]


class _Take(Attempt):
    """An attempt to take the sum of so many gradients."""

    __slots__ = ("_sums", "required")

    def __init__(self, sums: Sums, required: int) -> None:
        super().__init__()
        self._sums, self.required = sums, required

    def cancel(self) -> None:
        self._sums.cancel(self)


class Sums:
    """An accumulator as a session has it.

    Args:
        title: for errors.
        shape: of a gradient.
        mean: whether the sum is divided by the count.
    """

    def __init__(self, title: str, shape: TensorShape, mean: bool) -> None:
        self._title, self._shape, self._mean = title, shape, mean
        self._lock = threading.RLock()
        self._takes: deque[_Take] = deque()
        self._sum: Any = None
        self.count = 0
        self.step = 0

    def apply(self, local_step: int, gradient: Sequence[Array]) -> None:
        """Adds a gradient, unless its step is over.

        Args:
            local_step: of the gradient.
            gradient: its array, or arrays.

        Raises:
            InvalidArgumentError: it has another shape.
        """
        with self._lock:
            self._check(gradient)
            if local_step < self.step:
                return
            self._sum = self._added(gradient)
            self.count += 1
            self._serve()

    def _check(self, gradient: Sequence[Array]) -> None:
        """Refuses a gradient of another shape."""
        expected = self._shape if self._sum is None else TensorShape(self._sum.shape)
        if not expected.is_compatible_with(gradient[0].shape):
            self._refuse(
                f"shape mismatch: expected {expected.as_list()}, got {list(gradient[0].shape)}"
            )

    def _refuse(self, why: str) -> NoReturn:
        raise errors.InvalidArgumentError(message=f"{self._title}: {why}")

    def _added(self, gradient: Sequence[Array]) -> Any:
        """The sum with a gradient."""
        return gradient[0].copy() if self._sum is None else self._sum + gradient[0]

    def _results(self, found: Any, count: int) -> list[Array]:
        """The arrays that a take gives for a sum of so many gradients."""
        return [found if not self._mean else found / np.asarray(count, found.dtype)]

    def take(self, required: int) -> Attempt:
        """An attempt to take the sum, or mean, of the gradients since the last one.

        Raises:
            InvalidArgumentError: required is less than 1.
        """
        if required < 1:
            self._refuse(f"num_required is {required}, expected 1 or more")
        made = _Take(self, required)
        with self._lock:
            self._takes.append(made)
            self._serve()
        return made

    def _serve(self) -> None:
        while self._takes and self._sum is not None and self.count >= self._takes[0].required:
            found, count = self._sum, self.count
            self._sum, self.count, self.step = None, 0, self.step + 1
            self._takes.popleft().finish(self._results(found, count))

    def cancel_all(self) -> None:
        """Ends all attempts."""
        with self._lock:
            waiting = list(self._takes)
        for take in waiting:
            self.cancel(take)

    def cancel(self, take: _Take) -> None:
        """Ends an attempt."""
        with self._lock:
            if not take.done:
                self._takes.remove(take)
                text = "TakeGrad operation was cancelled"
                take.finish(error=errors.CancelledError(message=text))


class _Opener:
    """From a session to a function that makes the accumulator at its first call, and gives its
    name.

    Attributes:
        key: the name, known once the operation has its name.
    """

    def __init__(self, kind: type[Sums], shape: TensorShape, mean: bool) -> None:
        self._kind, self._shape, self._mean, self.key = kind, shape, mean, ""

    def __call__(self, session: Any) -> Any:
        resources, key = resources_of(session), self.key
        title = f"ConditionalAccumulator '{key}'"

        def call(inputs: list[Any]) -> list[Any]:
            resources.get(("accumulator", key), lambda: self._kind(title, self._shape, self._mean))
            return [np.array(key.encode(), object)]

        return call


def _sums(session: Any, key: Any) -> Sums:
    name = np.asarray(key).item().decode()
    found: Sums | None = resources_of(session).find(("accumulator", name))
    if found is None:
        raise errors.NotFoundError(message=f"Resource accumulator {name} does not exist.")
    return found


def _apply(session: Any) -> Any:
    def call(inputs: list[Any]) -> list[Any]:
        _sums(session, inputs[0]).apply(int(inputs[1]), [np.asarray(x) for x in inputs[2:]])
        return []

    return call


def _take(session: Any) -> Any:
    def call(inputs: list[Any]) -> Steps[list[Any]]:
        found: list[Any] = yield from wait(_sums(session, inputs[0]).take(int(inputs[1])))
        return found

    return call


def _count(session: Any) -> Any:
    return lambda inputs: [np.array(_sums(session, inputs[0]).count, np.int32)]


def _set_step(session: Any) -> Any:
    def call(inputs: list[Any]) -> list[Any]:
        _sums(session, inputs[0]).step = int(inputs[1])
        return []

    return call


def _cancel(session: Any) -> Any:
    def call(inputs: list[Any]) -> list[Any]:
        _sums(session, inputs[0]).cancel_all()
        return []

    return call


def accumulator(
    sums: type[Sums],
    tf_type: str,
    dtype: Any,
    shape: Any,
    shared_name: str | None,
    name: str,
    reduction_type: str,
) -> Tensor:
    """The operation's output that stands for an accumulator.

    Args:
        sums: the class of what a session has of it.
        tf_type: TensorFlow's type.
        dtype, shape, shared_name, name, reduction_type: as ConditionalAccumulator's.

    Raises:
        TypeError: dtype is not a number's.
        ValueError: another reduction_type.
    """
    kind = dtypes.as_dtype(dtype)
    if kind == dtypes.string or kind.is_bool:
        raise TypeError(
            f"Value passed to parameter 'dtype' has DataType {kind.name}, expected that of numbers"
        )
    if reduction_type not in ("MEAN", "SUM"):
        raise ValueError(f"reduction_type is {reduction_type!r}, expected 'MEAN' or 'SUM'")
    opener = _Opener(sums, TensorShape(shape), reduction_type == "MEAN")
    made = waiting_call(
        opener, [], [(dtypes.string, TensorShape([]))], function=name, name=name, tf_type=tf_type
    )
    opener.key = shared_name or made.name
    TENSORFLOW_ATTRIBUTES.of(made.graph)[made] = {
        "dtype": kind, "shape": TensorShape(shape), "container": b"",
        "shared_name": (shared_name or "").encode(), "reduction_type": reduction_type.encode(),
    }  # fmt: skip
    return made.outputs[0]


_method = builds_with("accumulator_ref")


class ConditionalAccumulatorBase:
    """An accumulator of gradients.

    Args:
        dtype: of a gradient.
        shape: of one; None: any.
        accumulator_ref: the output of an accumulator's operation.
    """

    def __init__(self, dtype: Any, shape: Any, accumulator_ref: Tensor) -> None:
        self._dtype = dtypes.as_dtype(dtype)
        self._shape = TensorShape(shape)
        self._accumulator_ref = accumulator_ref
        self._name: str = accumulator_ref.op.name.rsplit("/", 1)[-1]

    @property
    def accumulator_ref(self) -> Tensor:
        """The tensor that stands for it: a string, the name that a session has for it."""
        return self._accumulator_ref

    @property
    def name(self) -> str:
        """The last part of the operation's name."""
        return self._name

    @property
    def dtype(self) -> DType:
        """Of a gradient."""
        return self._dtype

    @_method
    def num_accumulated(self, name: str | None = None) -> Tensor:
        """How many gradients it has: int32 scalar."""
        kinds = [(dtypes.int32, TensorShape([]))]
        at = name or f"{self._name}_NumAccumulated"
        return self._operation(_count, "NumAccumulated", [], kinds, at).outputs[0]

    @_method
    def set_global_step(self, new_global_step: Any, name: str | None = None) -> Operation:
        """An operation that sets the step: gradients of an earlier one are dropped.

        Args:
            new_global_step: integer scalar.
            name: of the operation.
        """
        step = elementwise.cast(new_global_step, dtypes.int64)
        return self._operation(_set_step, "SetGlobalStep", [step], [], name)

    @_method
    def cancel_takes(self, name: str | None = None) -> Operation:
        """An operation that ends all that waits for gradients with a CancelledError.

        Args:
            name: of the operation.
        """
        return self._operation(_cancel, "CancelTakes", [], [], name)

    def _type(self, action: str) -> str:
        """TensorFlow's type of an operation on it."""
        return f"ResourceAccumulator{action}"

    def _applied(self, local_step: Any, gradient: Sequence[Tensor], name: str | None) -> Operation:
        """The operation that adds a gradient, one tensor or several."""
        step = elementwise.cast(local_step, dtypes.int64)
        return self._operation(_apply, "ApplyGradient", [step, *gradient], [], name)

    def _taken(
        self, num_required: Any, outputs: Sequence[tuple[DType, TensorShape]], name: str | None
    ) -> Operation:
        """The operation that waits for gradients and gives their mean, or sum."""
        required = convert_to_tensor(num_required, dtypes.int32)
        return self._operation(_take, "TakeGradient", [required], outputs, name)

    def _operation(
        self, bind: Any, action: str, inputs: Sequence[Tensor],
        outputs: Sequence[tuple[DType, TensorShape]], name: str | None,
    ) -> Operation:  # fmt: skip
        tf_type = self._type(action)
        return waiting_call(
            bind,
            [self._accumulator_ref, *inputs],
            outputs,
            function=f"{self._accumulator_ref.op.name}/{action}",
            name=name or tf_type,
            tf_type=tf_type,
        )


class ConditionalAccumulator(ConditionalAccumulatorBase):
    """Adds gradients up; who takes their mean waits until there are enough.

    Args:
        dtype: of a gradient, a number's.
        shape: of one; None: that of the first.
        shared_name: accumulators of one name are one in a session; None: it is separate.
        name: of the operation.
        reduction_type: "MEAN" or "SUM".

    Raises:
        ValueError: another reduction_type.

    Example:
        >>> sums = tf.ConditionalAccumulator(tf.float32, shape=())
        >>> add, mean = [sums.apply_grad(1.0), sums.apply_grad(4.0)], sums.take_grad(2)
        >>> with tf.Session() as session:
        ...     session.run(add)
        ...     print(session.run(mean))
        2.5
    """

    @api_boundary.rolling_back
    def __init__(
        self,
        dtype: Any,
        shape: Any = None,
        shared_name: str | None = None,
        name: str | None = "conditional_accumulator",
        reduction_type: str = "MEAN",
    ) -> None:
        made = accumulator(
            Sums, "ResourceConditionalAccumulator", dtype, shape, shared_name,
            name or "ConditionalAccumulator", reduction_type,
        )  # fmt: skip
        super().__init__(dtype, shape, made)

    @builds_with("accumulator_ref")
    def apply_grad(self, grad: Any, local_step: Any = 0, name: str | None = None) -> Operation:
        """An operation that adds a gradient, unless its step is before the accumulator's.

        Args:
            grad: of the dtype and shape.
            local_step: integer scalar.
            name: of the operation.

        Raises:
            ValueError: grad has another shape. InvalidArgumentError: of the run: it turns out so.
        """
        gradient = convert_to_tensor(grad, self._dtype)
        gradient.shape.assert_is_compatible_with(self._shape)
        return self._applied(local_step, [gradient], name)

    @builds_with("accumulator_ref")
    def take_grad(self, num_required: Any, name: str | None = None) -> Tensor:
        """The mean, or sum, of the gradients since it was taken last, once there are enough; the
        step goes up by one.

        Args:
            num_required: how many, int32 scalar.
            name: of the operation.

        Raises:
            InvalidArgumentError: of the run: num_required is less than 1.
        """
        return self._taken(num_required, [(self._dtype, self._shape)], name).outputs[0]
