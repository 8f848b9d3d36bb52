"""The interface that every engine has: graphio.runtime, graphio.cinfer."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from graphio.engine.run_lock import RunLock

if TYPE_CHECKING:
    from graphio.schema.tensors import Stored

Array = np.ndarray[Any, Any]
#: the function of a HostCall: the node's inputs to its outputs
HostFunction = Callable[[list[Array]], Sequence[Any]]


@dataclass(frozen=True)
class TensorSpec:
    """An input or output of a signature; None stands for what is unknown.

    `kinds` says what lies around the tensor, "sequence" (a list) and "optional" (it or None), the
    outermost first; dtype and shape are then those of each tensor inside.
    """

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int | None, ...] | None
    kinds: tuple[str, ...] = ()


@dataclass(frozen=True)
class NodeTime:
    """When a node of a run ran, in nanoseconds since 1970, and what it gave: dtype and shape of
    each output. A node that was done while the model was loaded has equal times."""

    name: str
    start: int
    end: int
    thread: int = 0
    outputs: Sequence[tuple[np.dtype[Any], tuple[int, ...]]] = ()


class State(Protocol):
    """Variables and random generators by name.

    Attributes:
        lock: held while a model runs on the state.
        lasting: whether what `views` gives stays as it is when the variables change.
    """

    lock: RunLock
    lasting: bool

    def names(self) -> list[str]:
        """Names of all variables, sorted."""

    def initialized(self, name: str) -> bool:
        """Whether the variable has a value."""

    def get(self, name: str) -> Array:
        """A copy of the value. Raises FailedPreconditionError, NotFoundError."""

    def views(self, names: Sequence[str]) -> list[Array]:
        """The values themselves, not to be written to; without `lasting` for who holds the lock,
        until the variables change. Raises as get."""

    def set(self, name: str, value: Array) -> None:
        """Gives the value; dtype and shape must agree, else InvalidArgumentError."""

    def declare(self, name: str, dtype: int, shape: Sequence[int | None] | None) -> None:
        """Adds a variable without value if there is none of the name."""

    def generators(self) -> dict[str, tuple[int, int]]:
        """Key and counter of every generator in use."""

    def set_generator(self, name: str, key: int, counter: int) -> None:
        """Sets the state of a generator."""

    def buffer(self, dtype: int, dims: Sequence[int]) -> Array:
        """An array for a value that assign is then given."""

    def assign(
        self,
        values: Mapping[str, Array | Stored],
        generators: Mapping[str, tuple[int, int]] | None = None,
        *,
        given: bool = False,
        declared: Mapping[str, tuple[int, Sequence[int | None] | None]] | None = None,
    ) -> None:
        """Gives many variables and generators their values: all of them, or none. What was given
        no other code uses and need not be copied. Declares variables before, by name, which no
        failure leaves behind."""

    def blobs(self) -> dict[str, bytes]:
        """Data of the program by name, sorted."""

    def set_blob(self, name: str, data: bytes) -> None:
        """Keeps bytes that are saved with the variables."""

    def remove_blob(self, name: str) -> None:
        """Forgets a blob. Raises NotFoundError."""

    def save(
        self,
        prefix: str,
        step: int | None = None,
        meta: bytes | None = None,
        shard_bytes: int | None = None,
    ) -> None:
        """Writes a checkpoint."""

    def restore(self, prefix: str, *, strict: bool = True) -> int | None:
        """Reads one, all or nothing, with its other resources. Returns its step."""


class Signature(Protocol):
    """A named way to run a model."""

    name: str
    inputs: dict[str, TensorSpec]
    outputs: dict[str, TensorSpec]

    def __call__(self, /, *alone: Any, **named: Any) -> dict[str, Array]:
        """Runs by names; the only input of a signature that has one needs none."""

    def run(
        self, inputs: Sequence[Array] | Array, out: Sequence[Array] | Array | None = None
    ) -> list[Array]:
        """Runs in the signature's order; arrays have the exact dtype and are contiguous."""

    def bind(
        self, *inputs: Array, outputs: Sequence[Array] | None = None
    ) -> Callable[[], list[Array]]:
        """A call on fixed arrays."""

    @property
    def run_checked(self) -> Callable[[Sequence[Array]], list[Array]]:
        """As run, for inputs that need no check."""

    def run_watched(
        self, inputs: Sequence[Array], times: list[NodeTime] | None, deadline: float | None
    ) -> list[Array]:
        """As run, with the time of each node, and until a moment of time.monotonic."""


class Model(Protocol):
    """A loaded model on a state."""

    @property
    def signatures(self) -> tuple[str, ...]:
        """Names of the ways to run it."""

    @property
    def state(self) -> State:
        """Its variables and random generators."""

    @property
    def metadata(self) -> Mapping[str, str]:
        """Text by key, as the file has it."""

    def signature(self, name: str | None = None) -> Signature:
        """The signature of a name; None: the only one."""


class EngineModule(Protocol):
    """The functions of a module that is an engine."""

    def load(
        self,
        source: str | os.PathLike[str] | bytes,
        *,
        state: Any = None,
        lazy: bool = False,
        host: Mapping[str, HostFunction] | None = None,
        parallel: int = 1,
    ) -> Model:
        """Opens a model file, or its bytes. An engine may have more options.

        Args:
            source: a path, a URL of an object store, or what the file would hold.
            state: the state with its variables, of this engine; None: a new one.
            lazy: True checks the bytes of big tensors when they are first used.
            host: functions that HostCall nodes call, by name.
            parallel: how many nodes may run at the same time.
        """

    def new_state(self) -> State:
        """An empty state."""
