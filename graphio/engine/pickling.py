"""Models, signatures and states under pickle: a recipe, from which `rebuild` makes them again.

A model pickles as the path of its file, or the bytes that it was loaded from, with the engine and
the options of its load, so that joblib, multiprocessing, Ray and Dask can send it to their workers.
Its variables are part of the recipe only where they differ from the file's, or where the program
gave the state. Models that share a state, and signatures of one model, still do so after they were
pickled together.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, TypeVar

from graphio.engine import custom
from graphio.storage import stores
from graphio.support import errors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from graphio.schema.model_pb2 import Model as ModelMessage

__all__ = ["Handle", "Recipe", "Unpicklable", "rebuild", "state_recipe"]

_HEADER = 64  # bytes of a model file whose checksums cover all others
T = TypeVar("T")
Reduced = tuple[Callable[..., Any], tuple[Any, ...]]


def rebuild(kind: str, facts: Mapping[str, Any]) -> Any:
    """Makes again what was pickled: pickles name this function, and its path never changes.

    Args:
        kind: "model", "same" (a model that another part of the pickle made), "signature" or
            "state".
        facts: what its recipe says.

    Returns:
        The model, signature or state.

    Raises:
        FailedPreconditionError: the file of the model is another one than when it was pickled.
        UnimplementedError: a newer graphio pickled it; or operators are missing, all are named.
        OpError: as the engine's load, such as NotFoundError where the file is not there.
    """
    maker = _MAKERS.get(kind)
    if maker is None:
        raise errors.UnimplementedError(
            message=f"a pickle has the kind {kind!r}, expected one of {', '.join(_MAKERS)}: it was "
            "written by a newer graphio; install that one here, too"
        )
    return maker(**facts)


#: as pickles name it, whatever this module is called
rebuild.__module__ = "graphio.schema.pickling"


class Recipe:
    """How a model was opened. It pickles to the model itself, once in a pickle.

    Args:
        engine: the name of its module in graphio, such as "runtime".
        source: the path, the bytes, or a function that gives the bytes.
        options: of the engine's load by name, without the state.
        state: on which the model is.
        own: whether the load made the state.
    """

    def __init__(
        self, engine: str, source: Any, options: Mapping[str, Any], state: Any, own: bool
    ) -> None:
        self._engine = engine
        self._options = options
        self._state = state
        self._own = own
        is_path = isinstance(source, (str, os.PathLike))
        self._source: Any = _absolute(source) if is_path else source
        self._stamp = _stamp(self._source) if is_path else None

    def model(self) -> Reduced:
        """The result of a model's __reduce__."""
        return rebuild, ("same", {"model": self})

    def signature(self, name: str) -> Reduced:
        """The result of a signature's __reduce__."""
        return rebuild, ("signature", {"model": self, "name": name})

    def __reduce__(self) -> Reduced:
        from graphio.schema import container  # needs protobuf, which a load in C does without

        if self._stamp is None:
            source = self._source() if callable(self._source) else bytes(self._source)
            header = b""
            message, arrays = container.unpack(source, lazy=True)
        else:
            source = self._source
            if _stamp(source) != self._stamp:
                raise errors.FailedPreconditionError(
                    message=f"the model cannot be pickled: its file {source!r} has changed since "
                    "it was loaded; load it again"
                )
            header = _header(source)
            message, arrays = container.read(source, lazy=True)
        state = None if self._own and _as_in_file(self._state, message, arrays) else self._state
        facts = {
            "engine": self._engine,
            "source": source,
            "header": header,
            "options": {k: v for k, v in self._options.items() if v},
            "state": state,
            "modules": _registering(message),
        }
        return rebuild, ("model", facts)


def state_recipe(
    engine: str, state: Any, declared: Mapping[str, tuple[int, Sequence[int | None] | None]]
) -> Reduced:
    """The result of a state's __reduce__: all variables, with their values where they have one, and
    random generators and blobs.

    Args:
        engine: the name of its module in graphio, such as "runtime".
        state: of that engine.
        declared: name to element type's number and shape.
    """
    with state.lock:
        facts = {
            "engine": engine,
            "declared": dict(declared),
            "values": {name: state.get(name) for name in declared if state.initialized(name)},
            "generators": state.generators(),
            "blobs": state.blobs(),
        }
    return rebuild, ("state", facts)


class Unpicklable:
    """A part of a program that pickle and copy refuse, with what to do instead.

    Attributes:
        pickling_hint: a clause such as "save its values with tf.train.Saver".
    """

    __slots__ = ()
    pickling_hint: ClassVar[str]

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"this {type(self).__name__} cannot be pickled: {self.pickling_hint}")


class Handle(Unpicklable):
    """A part of a graph: pickle refuses it, and its copy is itself."""

    __slots__ = ()
    pickling_hint = (
        "it belongs to a graph of this process; send its name, or the value that a run gives"
    )

    def __copy__(self: T) -> T:
        return self

    def __deepcopy__(self: T, memo: Any) -> T:
        return self


# ---- making ----


def _model(
    engine: str,
    source: Any,
    header: bytes,
    options: Mapping[str, Any],
    state: Any,
    modules: Sequence[str],
) -> Any:
    for module in modules:
        importlib.import_module(module)
    if header and _header(source) != header:
        raise errors.FailedPreconditionError(
            message=f"{source!r} is another file than the one that was pickled: pickle the model "
            "again, or load it from bytes, which pickle with it"
        )
    return _engine(engine).load(source, state=state, **options)


def _same(model: Any) -> Any:
    return model


def _signature(model: Any, name: str) -> Any:
    return model.signature(name)


def _state(
    engine: str,
    declared: Mapping[str, tuple[int, Sequence[int | None] | None]],
    values: Mapping[str, Any],
    generators: Mapping[str, tuple[int, int]],
    blobs: Mapping[str, bytes],
) -> Any:
    state = _engine(engine).new_state()
    state.assign(values, generators, given=True, declared=declared)
    for name, data in blobs.items():
        state.set_blob(name, data)
    return state


_MAKERS: Mapping[str, Callable[..., Any]] = {
    "model": _model, "same": _same, "signature": _signature, "state": _state,
}  # fmt: skip


def _engine(name: str) -> Any:
    """The engine that a pickle names: a module of graphio's with the functions of one."""
    module = f"graphio.{name}"
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        found = None
    if not hasattr(found, "load") or not hasattr(found, "new_state"):
        raise errors.UnimplementedError(
            message=f"a pickle names the engine {name!r}, which is not there: it was written by a "
            "newer graphio; install that one here, too"
        )
    return found


# ---- the parts of a recipe ----


def _absolute(path: str | os.PathLike[str]) -> str:
    """The path from the root on; a URL as it is."""
    where = os.fsdecode(path)
    return where if where.startswith("/") else stores.absolute(where)


def _stamp(path: Any) -> tuple[int, int, int]:
    """The facts that change when another file replaces this one."""
    try:
        found = os.stat(path)
    except OSError:
        return (0, 0, 0)
    return found.st_ino, found.st_size, found.st_mtime_ns


def _header(path: Any) -> bytes:
    """The beginning of a model file; empty where there is none, which the load reports."""
    try:
        with open(path, "rb") as file:
            return file.read(_HEADER)
    except OSError:
        return b""


def _as_in_file(state: Any, message: ModelMessage, arrays: Sequence[Any]) -> bool:
    """Whether variables, random generators and blobs are as a load of the file makes them."""
    values = {v.name: arrays[v.value] for v in message.variable if v.HasField("value")}
    drawn = {
        r.name: (r.generator.state.key, r.generator.state.counter)
        for r in message.resource
        if r.WhichOneof("kind") == "generator" and r.generator.HasField("state")
    }
    with state.lock:
        names = [name for name in state.names() if state.initialized(name)]
        if set(names) != set(values) or state.generators() != drawn or state.blobs():
            return False
        found = zip(names, state.views(names), strict=True)
        return all(_equal(value, values[name]) for name, value in found)


def _equal(one: Any, other: Any) -> bool:
    """Whether two arrays have the same type, shape and bits."""
    if one is other:
        return True
    if one.dtype != other.dtype or one.shape != other.shape:
        return False
    if one.dtype == object:
        return bool(one.tolist() == other.tolist())
    return bool((one.reshape(-1).view("u1") == other.reshape(-1).view("u1")).all())


def _registering(message: ModelMessage) -> list[str]:
    """The modules with the Python kernels of a model's custom operators, which register them when
    they are imported. The main program is left out: multiprocessing imports it itself."""
    from graphio.schema import functions

    nodes = (node for graph in functions.all_graphs(message.graph) for node in graph.node)
    used = {(node.domain, node.op, node.version) for node in nodes}
    found = [custom.find(*key) for key in used]
    modules = {getattr(made.kernel, "__module__", None) for made in found if made is not None}
    return sorted(name for name in modules if name and name not in ("__main__", "__mp_main__"))
