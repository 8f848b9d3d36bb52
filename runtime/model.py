"""Loaded models and their signatures."""

from __future__ import annotations

import contextlib
import functools
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeGuard

import numpy as np

from graphio.engine import calls, pickling, reprs
from graphio.engine.interface import HostFunction, NodeTime, TensorSpec
from graphio.runtime import failure, quiet, registry
from graphio.runtime.plan import Block
from graphio.runtime.program import GraphInfo
from graphio.runtime.state import State
from graphio.runtime.stepping import Stepping
from graphio.runtime.watch import Visit, Watch
from graphio.schema import container, dtypes, functions, operators, tensors, verify
from graphio.schema import model_pb2 as pb
from graphio.support import errors, html
from graphio.support.collecting import without_collector

Array = np.ndarray[Any, Any]
_MOST_SHAPES = 1024
_SHOWN = 4  # names of nodes in a message


@without_collector
def load(
    source: str | os.PathLike[str] | bytes,
    *,
    state: State | None = None,
    lazy: bool = False,
    host: Mapping[str, HostFunction] | None = None,
    trusted: bool = False,
    parallel: int = 1,
    separate: bool = False,
) -> Model:
    """Opens a model file, or its bytes.

    Args:
        source: a path, a URL of an object store, or what the file would hold.
        state: the state with its variables; None: a new one.
        lazy: True checks the bytes of big tensors when they are first used.
        host: functions that HostCall nodes call, by name: a list of arrays to a list of arrays.
            A name is looked up when a run reaches its node.
        trusted: True takes the bytes' word for it that the model makes sense, as a Session does
            with what it has just written itself.
        parallel: how many operations may run at the same time; results do not depend on it, but
            with more than one a run keeps its values to its end.
        separate: True makes each node a separate step, for stepping and for watchpoints;
            slower, and a run keeps its values to its end.

    Raises:
        NotFoundError, DataLossError: there is no such file, or it is damaged or of another kind.
        InvalidArgumentError: the path is not a regular file.
        UnimplementedError: operators (all are named) that are not there.
    """
    again: Any = source  # from what a pickle of the model loads it again
    if isinstance(source, (str, os.PathLike)):
        proto, arrays = container.read(source, lazy)
    else:
        proto, arrays = container.unpack(source, lazy)
        again = functools.partial(container.pack, proto, arrays)
    if not trusted:
        verify.verify(proto)
    if not functions.all_known(proto, registry.known):
        _refuse_unknown(proto)
        proto = functions.inline(proto, registry.known)
    graph = GraphInfo(proto.graph, arrays)
    owner = calls.state_or_new(state, State)
    options = {"lazy": lazy, "host": host, "parallel": parallel, "separate": separate}
    recipe = pickling.Recipe("runtime", again, options, owner, state is None)
    return Model(proto, graph, arrays, owner, host or {}, parallel, separate, recipe)


def _refuse_unknown(proto: pb.Model) -> None:
    unknown = functions.unknown_operators(proto, registry.known)
    if unknown:
        nodes: dict[str, list[str]] = {}
        for n in unknown:
            nodes.setdefault(f"{n.domain or 'ai.onnx'} {n.op} version {n.version}", []).append(
                n.name
            )
        names = [f"{operator} ({_some(of)})" for operator, of in nodes.items()]
        raise errors.UnimplementedError(
            message=f"the model needs operators that are not there: {', '.join(names)}"
            f"{_advice(unknown)}"
        )


def _some(names: Sequence[str]) -> str:
    """The first names of nodes, and how many follow."""
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(map(repr, names[:_SHOWN]))}{more}"


def _advice(unknown: Sequence[pb.Node]) -> str:
    """The advice about operators of domains that this package does not have."""
    own = sorted({n.domain for n in unknown if not operators.table().names(n.domain)})
    if not own:
        return ""
    return (
        f"; those of {', '.join(own)} are the program's own: import what registers them "
        "(graphio.register_operator) before the file is loaded"
    )


class Model:
    """A model on a state.

    Attributes:
        signatures: names of the ways to run it.
        state: its variables and generators, perhaps shared with other models.
        metadata: what the file says about itself.
    """

    def __init__(
        self,
        proto: pb.Model,
        graph: GraphInfo,
        arrays: Sequence[Array],
        state: State,
        host: Mapping[str, HostFunction],
        threads: int,
        separate: bool,
        recipe: pickling.Recipe,
    ) -> None:
        self.state = state
        self._recipe = recipe
        self.metadata: dict[str, str] = {entry.key: entry.value for entry in proto.metadata}
        self._protos = {s.name: s for s in proto.signature}
        self.signatures: tuple[str, ...] = tuple(self._protos)
        self._graph = graph
        self._host = host
        self._parallel, self._separate = threads, separate
        self._made: dict[str, Signature] = {}
        with state.lock:
            _declare(proto, arrays, state)

    def signature(self, name: str | None = None) -> Signature:
        """The signature of a name; None: the only one, or "serving_default" where TensorFlow has
        written the same several times.

        Raises:
            ValueError: there is no such signature, or several and no name.
        """
        name = calls.choose(name, self.signatures, self.metadata)
        if name not in self._made:
            self._made[name] = Signature(
                self._protos[name],
                self._graph,
                self.state,
                self._host,
                self._parallel,
                self._separate,
                self._recipe,
            )
        return self._made[name]

    def __reduce__(self) -> pickling.Reduced:
        return self._recipe.model()

    def __repr__(self) -> str:
        return reprs.model("runtime", self.signatures, self.state)

    def _repr_html_(self) -> str:
        rows = html.signature_rows(self.signature(name) for name in self.signatures)
        return html.table("graphio.runtime.Model", ("signature", "name", "way", "type"), rows)


def _declare(proto: pb.Model, arrays: Sequence[Array], state: State) -> None:
    """Declares what the model has; values and positions only where the state has none."""
    for variable in proto.variable:
        shape = static_shape(variable.shape) if variable.HasField("shape") else None
        state.declare(variable.name, variable.dtype, shape)
        slot = state.slot(variable.name)
        if variable.slot_of and slot.link is None:
            slot.link = (variable.slot_of, variable.slot)
        if variable.HasField("value") and slot.value is None:
            slot.check(arrays[variable.value])
            slot.value = arrays[variable.value]
    for resource in proto.resource:
        if resource.WhichOneof("kind") != "generator":
            continue
        generator = state.generator(resource.name)
        generator.seed_key = resource.generator.key if resource.generator.seeded else None
        if resource.generator.HasField("state") and generator.key is None:
            generator.key = resource.generator.state.key
            generator.counter = resource.generator.state.counter


def static_shape(shape: pb.Shape) -> tuple[int | None, ...]:
    """None for each dimension that is unknown."""
    return tuple(d.size if d.WhichOneof("value") == "size" else None for d in shape.dim)


class Signature:
    """A named way to run a model. Thread-safe: runs on one state wait for each other.

    Attributes:
        name: its name in the model.
        inputs, outputs: dtype and static shape by key, in the order of `run`.
    """

    def __init__(
        self,
        proto: pb.Signature,
        graph: GraphInfo,
        state: State,
        host: Mapping[str, HostFunction],
        threads: int,
        separate: bool,
        recipe: pickling.Recipe,
    ) -> None:
        self.name = proto.name
        self._recipe = recipe
        self.inputs = {b.key: _spec(b, graph) for b in proto.input}
        self.outputs = {b.key: _spec(b, graph) for b in proto.output}
        self._state = state
        self._block = Block(
            graph,
            state,
            inputs=[b.value for b in proto.input],
            outputs=[b.value for b in proto.output],
            targets=proto.target,
            types={b.value: b.type for b in proto.input if b.type.WhichOneof("kind")},
            host=host,
            parallel=threads > 1,
            separate=separate,
        )
        self._parallel = threads
        self._feeds = [
            _Feed(s, i) for s, i in zip(self.inputs.values(), self._block.inputs, strict=True)
        ]
        self._fetches = list(zip(self._block.outputs, self._block.owned, strict=True))
        #: the template behind slot 0 and the inputs, which are the first ones
        self._behind = self._block.template[1 + len(self._feeds) :]

    def __reduce__(self) -> pickling.Reduced:
        return self._recipe.signature(self.name)

    def __repr__(self) -> str:
        return reprs.signature("runtime", self.name, self.inputs, self.outputs)

    def __call__(self, /, *alone: Any, **named: Any) -> dict[str, Array]:
        """Runs by names.

        Args:
            alone: the value of the only input of a signature that has one.
            named: one value a key of `inputs`; Python numbers and lists are converted.

        Returns:
            Fresh arrays by the keys of `outputs`; strings as object arrays of bytes.

        Raises:
            InvalidArgumentError: missing or unknown names (all are listed), a wrong dtype or shape.
            TypeError: inputs without names, where there are several.
        """
        inputs = calls.with_name(self.name, self.inputs, alone, named) if alone else named
        if inputs.keys() != self.inputs.keys():
            raise calls.wrong_names(self.name, self.inputs, inputs)
        ready = [
            calls.convert_value(
                inputs[key], spec.kinds, spec.dtype, f"input {key!r} of signature {self.name!r}"
            )
            for key, spec in self.inputs.items()
        ]
        return dict(zip(self.outputs, self.run(ready), strict=True))

    def run(
        self, inputs: Sequence[Array] | Array, out: Sequence[Array] | Array | None = None
    ) -> list[Array]:
        """Runs in the signature's order.

        Args:
            inputs: arrays of exactly the expected dtype, C-contiguous; of one input, the
                array alone will do.
            out: arrays that the results are copied into, of their dtypes and shapes, contiguous and
                writable; None: fresh ones.

        Returns:
            The results in the order of `outputs`: `out`, or fresh arrays.

        Raises:
            InvalidArgumentError: a wrong number of arrays, dtype or shape, before anything has run.
                A wrong shape of `out` is found when the run is over.
            FailedPreconditionError: a variable has no value yet.
            OpError: any other failure; says which variables were assigned before it.
        """
        inputs = [inputs] if _is_alone(inputs, self.inputs) else list(inputs)
        if out is not None:
            return self._run_into(inputs, out)
        if self._parallel > 1:
            return self.run_watched(inputs, None, None)
        return self._run(self._values(inputs))

    def _run_into(self, inputs: Sequence[Array], out: Sequence[Array] | Array) -> list[Array]:
        given = [out] if _is_alone(out, self.outputs) else list(out)
        self._check_outputs(given)
        results = self.run(inputs)
        for key, array, result in zip(self.outputs, given, results, strict=True):
            if array.shape != result.shape:
                raise calls.wrong_shape(key, array.shape, result.shape)
        for array, result in zip(given, results, strict=True):
            array[...] = result
        return given

    def _check_outputs(self, given: Sequence[Array]) -> None:
        calls.check_outputs_count(self.name, self.outputs, len(given))
        for spec, array in zip(self.outputs.values(), given, strict=True):
            calls.check_output(spec, self.name, array)

    def bind(
        self, *inputs: Array, outputs: Sequence[Array] | None = None
    ) -> Callable[[], list[Array]]:
        """A call on fixed arrays: what happens to them between calls is what the next one sees.

        Args:
            inputs: as for `run`.
            outputs: arrays that every call fills and returns, of the right dtype and shape; None:
                fresh ones each time.

        Returns:
            A function without arguments that runs and returns the outputs; it raises as `run`.
        """
        self._values(inputs)
        if outputs is not None:
            outputs = list(outputs)
            self._check_outputs(outputs)
        return functools.partial(self.run, inputs, outputs)

    def run_checked(self, inputs: Sequence[Array]) -> list[Array]:
        """As run, for inputs of which the caller knows that they fit."""
        if self._parallel > 1:
            return self.run_watched(inputs, None, None)
        return self._run([None, *inputs, *self._behind])

    def _run(self, values: list[Any]) -> list[Array]:
        """A run on slots that hold the template and the inputs."""
        with self._state.lock.inner:
            if not self._block.calls_out:
                return quiet.call(self._execute, values)
            with np.errstate(all="ignore"):
                return self._execute(values)

    def _execute(self, values: list[Any]) -> list[Array]:
        block, state = self._block, self._state
        if block.reads:
            block.check_initialized()
        state.journal.clear()
        try:
            block.execute(values)
        except errors.OpError as error:
            raise failure.after_assign(error, state.journal) from error.__cause__
        results: list[Array] = []
        for slot, owned in self._fetches:
            results.append(_leave(values[slot], owned))
        return results

    def run_watched(
        self,
        inputs: Sequence[Array],
        times: list[NodeTime] | None,
        deadline: float | None,
        visit: Visit | None = None,
    ) -> list[Array]:
        """As run, under observation.

        Args:
            inputs: as for run.
            times: takes the time of each node; None: not measured.
            deadline: a moment of time.monotonic after which nothing starts; None: there is none.
            visit: sees each node after it has run, those of branches and loops, too; the model
                was loaded with `separate`.

        Raises:
            DeadlineExceededError: the moment has come.
        """
        values = self._values(inputs)
        watch = Watch(times, deadline, visit)
        with self._turn(deadline, watch), np.errstate(all="ignore"):
            self._block.check_initialized()
            self._state.journal.clear()
            try:
                if self._parallel > 1:
                    pool = self._state.pool(self._parallel)
                    self._block.execute_parallel(values, watch, pool, self._parallel)
                else:
                    self._block.execute_watched(values, watch)
            except errors.OpError as error:
                raise failure.after_assign(error, self._state.journal) from error.__cause__
            return self._left(values)

    def stepping(self, inputs: Sequence[Array]) -> tuple[Stepping, Callable[[], list[Array]]]:
        """A run in steps that the caller makes, and what gives its results when it is over.

        Args:
            inputs: as for run; the model was loaded with `separate`.

        Raises:
            FailedPreconditionError: a variable has no value yet.
        """
        values = self._values(inputs)
        return Stepping(self._block, self._state, values), lambda: self._left(values)

    def _left(self, values: list[Any]) -> list[Array]:
        """The results of a run that is over."""
        return [_leave(values[slot], owned) for slot, owned in self._fetches]

    @contextlib.contextmanager
    def _turn(self, deadline: float | None, watch: Watch) -> Iterator[None]:
        """The state's lock, with the run's observer at the state."""
        left = -1.0 if deadline is None else max(0.0, deadline - time.monotonic())
        if not self._state.lock.acquire(timeout=left):
            raise errors.DeadlineExceededError(
                message="Timed out waiting for notification: another run takes longer"
            )
        before, self._state.watch = self._state.watch, watch
        try:
            yield
        finally:
            self._state.watch = before
            self._state.lock.release()

    def _values(self, inputs: Sequence[Array]) -> list[Any]:
        """The slots at the start of a run."""
        block = self._block
        values = block.template[:]
        if len(inputs) != len(self._feeds):
            calls.check_inputs_count(self.name, self.inputs, len(inputs))
        for feed, array in zip(self._feeds, inputs, strict=True):
            if (
                array.__class__ is not np.ndarray
                or array.dtype != feed.dtype
                or (array.shape not in feed.shapes)
                or not array.flags.c_contiguous
            ):
                array = feed.taken(array)
            values[feed.slot] = array
        return values


def _is_alone(given: Sequence[Array] | Array, specs: Mapping[str, TensorSpec]) -> TypeGuard[Array]:
    """Whether an array was given in the place of a list of one."""
    return isinstance(given, np.ndarray) and len(specs) == 1


def _leave(value: Any, owned: bool) -> Any:
    """The value as an array without another owner; lists and None stay what they are."""
    if isinstance(value, list):
        return [_leave(v, False) for v in value]
    if value is None:
        return None
    try:
        return np.asarray(value, order="C") if owned else np.array(value, order="C")
    except MemoryError as error:  # a constant tensor is one number until it is fetched
        raise errors.ResourceExhaustedError(message=f"a result of the run: {error}") from error


def _spec(binding: pb.Signature.Binding, graph: GraphInfo) -> TensorSpec:
    kind = binding.type if binding.type.WhichOneof("kind") else graph.types.get(binding.value)
    kinds = []
    while kind is not None and kind.WhichOneof("kind") in ("sequence", "optional"):
        kinds.append(kind.WhichOneof("kind") or "")
        kind = kind.sequence if kinds[-1] == "sequence" else kind.optional
    if kind is None or not kind.HasField("tensor"):
        raise errors.DataLossError(
            message=f"the signature's {binding.key!r} is the value "
            f"'{binding.value}', whose type is not known"
        )
    shape = static_shape(kind.tensor.shape) if kind.tensor.HasField("shape") else None
    return TensorSpec(binding.key, registry.numpy_dtype(kind.tensor.dtype), shape, tuple(kinds))


class _Feed:
    """The type of an input, and the shapes that were found to be right."""

    def __init__(self, spec: TensorSpec, slot: int) -> None:
        self.spec = spec
        self.slot = slot
        self.dtype = spec.dtype
        self.shapes: set[tuple[int, ...]] = set()

    def taken(self, array: Any) -> Any:
        """The input, strings as bytes; refuses what does not fit and remembers the shape of what
        does, but for strings, which are checked in every run."""
        if self.spec.kinds:
            self._check_inside(array, self.spec.kinds)
            return array
        self._check_array(array)
        if array.dtype == object:
            return tensors.strings(array)
        if len(self.shapes) >= _MOST_SHAPES:
            self.shapes.clear()
        self.shapes.add(array.shape)
        return array

    def _check_inside(self, value: Any, kinds: tuple[str, ...]) -> None:
        if not kinds:
            self._check_array(value)
        elif kinds[0] == "optional":
            if value is not None:
                self._check_inside(value, kinds[1:])
        elif isinstance(value, list):
            for v in value:
                self._check_inside(v, kinds[1:])
        else:
            raise errors.InvalidArgumentError(
                message=f"input {self.spec.name!r} is {type(value).__name__}, expected a list"
            )

    def _check_array(self, array: Any) -> None:
        name = self.spec.name
        if not isinstance(array, np.ndarray) or array.dtype != self.dtype:
            found = array.dtype if isinstance(array, np.ndarray) else type(array).__name__
            raise errors.InvalidArgumentError(
                message=f"input {name!r} is {found}, expected an array of "
                f"{dtypes.of_numpy(self.dtype).name}; call the signature by names to convert it"
            )
        if not array.flags.c_contiguous:
            raise errors.InvalidArgumentError(
                message=f"input {name!r} is not contiguous; use numpy's ascontiguousarray"
            )
        if self.spec.shape is not None and not calls.fits(array.shape, self.spec.shape):
            raise errors.InvalidArgumentError(
                message=f"input {name!r} is {failure.describe(array)}, expected shape "
                f"{failure.shape_text(self.spec.shape)}"
            )
