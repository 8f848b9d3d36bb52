"""Session: runs parts of a graph on a state, in one of the two engines.

Each (fetches, feeds) is pruned to a model of one signature, written to bytes, and loaded by the
engine on the session's state: a run executes exactly what a file would hold.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from graphio import dtypes, nest, scopes
from graphio.config import ConfigProto
from graphio.constants import as_array
from graphio.export import SignatureSpec, build_model
from graphio.graph import Graph, Operation, Tensor
from graphio.indexed_slices import IndexedSlices, IndexedSlicesValue
from graphio.schema import container, errors
from graphio.tensor_shape import TensorShape

__all__ = ["InteractiveSession", "Session", "get_default_session"]

Array = np.ndarray[Any, Any]


class _Stack(threading.local):
    def __init__(self) -> None:
        self.sessions: list[Session] = []


_stack = _Stack()


def get_default_session() -> Session | None:
    """The session that eval and run use in this thread, None if there is none."""
    return _stack.sessions[-1] if _stack.sessions else None


def session_of(graph: Graph, session: Session | None, what: str) -> Session:
    """The session given or the default one, which must be of the graph.

    Raises:
        ValueError: there is none, or it has another graph.
    """
    chosen = session if session is not None else get_default_session()
    if chosen is None:
        raise ValueError(
            f"Cannot {what}: no default session is registered. Use `with sess.as_default()` or pass "
            "a session"
        )
    if chosen.graph is not graph.root:
        raise ValueError(f"Cannot {what}: the default session's graph is another one")
    return chosen


def _engine(target: str, threads: int) -> tuple[Any, dict[str, Any]]:
    if target == "":
        from graphio import runtime

        return runtime, {}
    if target == "cinfer":
        from graphio import cinfer

        return cinfer, {"threads": max(1, threads)}
    raise errors.NotFoundError(
        message=f"No session factory registered for the target {target!r}; there are '' (the Python "
        "runtime) and 'cinfer'"
    )


class Session:
    """A graph being run on a state of its own.

    Args:
        target: "" for the Python runtime, "cinfer" for the C library.
        graph: to run; None: the default graph.
        config: a ConfigProto.

    Attributes:
        graph: the graph.
        state: variables and generators (graphio.schema.engine.State).

    Raises:
        TypeError: graph or config is something else.
        NotFoundError: an unknown target.
    """

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        if graph is not None and not isinstance(graph, Graph):
            raise TypeError(f"graph must be a tf.Graph, but got {type(graph).__name__}")
        if config is not None and not isinstance(config, ConfigProto):
            raise TypeError(f"config must be a tf.ConfigProto, but got {type(config).__name__}")
        if not isinstance(target, (str, bytes)):
            raise TypeError(f"target must be a string, but got {type(target).__name__}")
        self.graph = (graph or scopes.get_default_graph()).root
        self._target = target.decode() if isinstance(target, bytes) else target
        threads = config.intra_op_parallelism_threads if config is not None else 1
        self._engine, self._options = _engine(self._target, threads)
        self.state = self._engine.new_state()
        self._closed = False
        self._plans: dict[Any, _Plan] = {}
        self._contexts: list[contextlib.ExitStack] = []

    @property
    def sess_str(self) -> str:
        """The target."""
        return self._target

    @property
    def graph_def(self) -> Any:
        """The graph as a message."""
        return self.graph.as_graph_def()

    def run(
        self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any:
        """Runs what the fetches need and gives their values in the fetches' structure.

        Args:
            fetches: a tensor, operation, variable, name, or a nested list, tuple or dict of them.
            feed_dict: values by tensor or name; arrays, numbers or lists of the tensor's dtype
                and of a compatible shape.
            options: accepted.
            run_metadata: accepted.

        Returns:
            For a tensor an array, a numpy scalar if it is one; for an operation None.

        Raises:
            RuntimeError: the session is closed, or the graph is empty.
            TypeError: a fetch or feed is of a kind that cannot be one.
            ValueError: a fetch or feed is not of this graph, or a value's shape does not fit.
            InvalidArgumentError: a placeholder that is needed is not fed.
            FailedPreconditionError: a variable that is needed has no value.
        """
        self._check_open()
        feeds = self._feeds(feed_dict or {})
        key = (_fetch_key(fetches), tuple(feeds))
        plan = self._plans.get(key)
        if plan is None:
            plan = self._plans[key] = _Plan(self, fetches, list(feeds))
        return plan.run(feeds)

    def make_callable(
        self, fetches: Any, feed_list: Sequence[Any] | None = None, accept_options: bool = False
    ) -> Callable[..., Any]:
        """A function that runs the fetches with its arguments fed to feed_list in order."""
        names = list(feed_list or [])

        def call(*values: Any) -> Any:
            if len(values) != len(names):
                raise TypeError(f"expected {len(names)} feed values, got {len(values)}")
            return self.run(fetches, dict(zip(names, values, strict=True)))

        return call

    def list_devices(self) -> list[Any]:
        """The devices: one CPU."""
        return ["/job:localhost/replica:0/task:0/device:CPU:0"]

    def close(self) -> None:
        """Ends the session; runs raise RuntimeError from now on."""
        self._closed = True
        self._plans.clear()

    def _check_open(self) -> None:
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")
        if not self.graph.operations:
            raise RuntimeError("The Session graph is empty. Add operations to the graph before calling run().")

    # ---- feeds ----

    def _feeds(self, feed_dict: Any) -> dict[Tensor, Array]:
        if not isinstance(feed_dict, Mapping):
            raise TypeError(f"feed_dict is {type(feed_dict).__name__}, expected a dict")
        feeds: dict[Tensor, Array] = {}
        for key, value in feed_dict.items():
            for tensor, part in self._pairs(key, value):
                feeds[tensor] = feed_array(tensor, part)
        return feeds

    def _pairs(self, key: Any, value: Any) -> Iterator[tuple[Tensor, Any]]:
        if isinstance(key, tuple):
            if not isinstance(value, (tuple, list)) or len(value) != len(key):
                raise ValueError(f"a feed key of {len(key)} tensors needs as many values")
            for inner, part in zip(key, value, strict=True):
                yield from self._pairs(inner, part)
            return
        if isinstance(key, IndexedSlices):
            values, indices = value[0], value[1]
            yield from self._pairs(key.values, values)
            yield from self._pairs(key.indices, indices)
            return
        try:
            tensor = self.graph.as_graph_element(key, allow_operation=False)
        except KeyError as error:
            raise ValueError(f"Cannot feed {key!r}: {error.args[0]}") from None
        except ValueError as error:
            if isinstance(key, str):
                raise TypeError(f"Cannot interpret feed_dict key as Tensor: {error}") from None
            raise
        except TypeError as error:
            raise TypeError(f"Cannot interpret feed_dict key as Tensor: {error}") from None
        assert isinstance(tensor, Tensor)
        if tensor.graph is not self.graph:
            raise ValueError(f"Tensor {tensor.name} may not be fed: it is inside a loop or branch")
        yield tensor, value

    # ---- contexts ----

    @contextlib.contextmanager
    def as_default(self) -> Iterator[Session]:
        """A context in which this is the default session; it stays open afterwards."""
        _stack.sessions.append(self)
        try:
            yield self
        finally:
            _stack.sessions.remove(self)

    def __enter__(self) -> Session:
        context = contextlib.ExitStack()
        context.enter_context(self.graph.as_default())
        context.enter_context(self.as_default())
        self._contexts.append(context)
        return self

    def __exit__(self, *details: Any) -> None:
        self._contexts.pop().close()
        self.close()


class InteractiveSession(Session):
    """A session that makes itself the default one until it is closed; see Session."""

    def __init__(self, target: str = "", graph: Graph | None = None, config: Any = None) -> None:
        super().__init__(target, graph, config)
        self._context = contextlib.ExitStack()
        if graph is not None:
            self._context.enter_context(graph.as_default())
        self._context.enter_context(self.as_default())

    def close(self) -> None:
        """Ends the session and gives the default back."""
        self._context.close()
        super().close()


def feed_array(tensor: Tensor, value: Any) -> Array:
    """A value as the array that is fed: the tensor's dtype, a shape that fits.

    Raises:
        TypeError: a tensor as value, or numbers that the dtype cannot hold.
        ValueError: the shape does not fit.
    """
    if isinstance(value, (Tensor, Operation)) or hasattr(value, "_as_graph_element"):
        raise TypeError(
            f"The value of a feed cannot be a tf.Tensor object ('{tensor.name}'); feed numbers, "
            "strings, lists or arrays"
        )
    array = _converted(tensor, value)
    if not tensor.shape.is_compatible_with(TensorShape(array.shape)):
        raise ValueError(
            f"Cannot feed value of shape {array.shape} for Tensor {tensor.name}, which has shape "
            f"{tensor.shape}"
        )
    return array


def _converted(tensor: Tensor, value: Any) -> Array:
    wanted = tensor.dtype
    if wanted == dtypes.string:
        return as_array(value if isinstance(value, np.ndarray) else np.array(value, object), wanted)
    if type(value) is np.ndarray and value.dtype == wanted.as_numpy_dtype:
        return np.ascontiguousarray(value) if value.ndim else value
    try:
        with np.errstate(all="ignore"):
            raw = np.asarray(value)
            if raw.dtype.kind in "OSU":
                raise TypeError(f"{raw.dtype} for {wanted.name}")
            if isinstance(value, int) and wanted.is_integer and not wanted.min <= value <= wanted.max:
                raise TypeError(f"{value} does not fit")
            return np.asarray(raw, wanted.as_numpy_dtype, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        kind = ValueError if "inhomogeneous" in str(error) else TypeError
        raise kind(
            f"Type of feed value {value!r} is not compatible with Tensor type {wanted.name} of "
            f"'{tensor.name}': {error}"
        ) from None


def _fetch_key(fetches: Any) -> Any:
    """Something hashable that tells fetch structures apart."""
    if isinstance(fetches, (list, tuple)):
        return (type(fetches), *(_fetch_key(f) for f in fetches))
    if isinstance(fetches, Mapping):
        return (type(fetches), *((k, _fetch_key(v)) for k, v in fetches.items()))
    if isinstance(fetches, IndexedSlices):
        return (IndexedSlices, fetches.values, fetches.indices, fetches.dense_shape)
    try:
        hash(fetches)
    except TypeError:
        raise TypeError(_bad_fetch(fetches)) from None
    return fetches


def _bad_fetch(fetch: Any) -> str:
    return (
        f"Fetch argument {fetch!r} has invalid type {type(fetch).__name__}, must be a string or "
        "Tensor. (Can not convert a {0} into a Tensor or Operation.)".format(type(fetch).__name__)
    )


class _Plan:
    """One (fetches, feeds), loaded into the engine."""

    def __init__(self, session: Session, fetches: Any, feeds: list[Tensor]) -> None:
        self._session = session
        self._feeds = feeds
        self._structure = _expanded(fetches)
        elements = [self._element(f) for f in nest.flatten(self._structure)]
        self._elements = elements
        wanted = [e for e in elements if isinstance(e, Tensor) and e not in set(feeds)]
        self._outputs = list(dict.fromkeys(wanted))
        self._index = {tensor: i for i, tensor in enumerate(self._outputs)}
        targets = list(dict.fromkeys(e for e in elements if isinstance(e, Operation)))
        self._run: Callable[[list[Array]], list[Array]] | None = None
        if self._outputs or targets:
            self._run = self._load(targets)

    def _element(self, fetch: Any) -> Tensor | Operation:
        graph = self._session.graph
        try:
            element = graph.as_graph_element(fetch)
        except TypeError:
            raise TypeError(_bad_fetch(fetch)) from None
        except KeyError as error:
            raise ValueError(f"Fetch argument {fetch!r} cannot be interpreted as a Tensor. ({error.args[0]})") from None
        except ValueError as error:
            raise ValueError(f"Fetch argument {fetch!r} cannot be interpreted as a Tensor. ({error})") from None
        if element.graph is not graph:
            raise ValueError(
                f"Operation {element.name!r} may not be fetched: it is inside a loop or branch; "
                "return it from there"
            )
        return element

    def _load(self, targets: list[Operation]) -> Callable[[list[Array]], list[Array]]:
        spec = SignatureSpec(
            "",
            [(f"{i}", t) for i, t in enumerate(self._feeds)],
            [(f"{i}", t) for i, t in enumerate(self._outputs)],
            targets,
        )
        session = self._session
        model, arrays = build_model(session.graph, [spec], bodies=False)
        try:
            loaded = session._engine.load(
                container.pack(model, arrays), state=session.state, **session._options
            )
            signature = loaded.signature()
        except errors.OpError as error:
            raise self._with_operation(error) from None
        run: Callable[[list[Array]], list[Array]] = signature.run
        return run

    def run(self, feeds: dict[Tensor, Array]) -> Any:
        values: list[Array] = []
        if self._run is not None:
            try:
                values = self._run(list(feeds.values()))
            except errors.OpError as error:
                raise self._with_operation(error) from None
        leaves = []
        for element in self._elements:
            if isinstance(element, Operation):
                leaves.append(None)
            elif element in self._index:
                leaves.append(_unwrapped(values[self._index[element]]))
            else:
                leaves.append(_unwrapped(feeds[element].copy()))
        return _contracted(nest.pack_sequence_as(self._structure, leaves))

    def _with_operation(self, error: errors.OpError) -> errors.OpError:
        """The error with the builder's operation, found by the node's name."""
        operation = self._session.graph._by_name.get(error.node_name)
        if operation is None or error.op is not None:
            return error
        return type(error)(operation.node_def, operation, error.message, error.error_code)


class _Slices(list[Any]):
    """An IndexedSlices among the fetches."""


def _expanded(fetches: Any) -> Any:
    """The fetches with IndexedSlices as their parts."""
    if isinstance(fetches, IndexedSlices):
        parts = [fetches.values, fetches.indices]
        return _Slices([*parts, *([] if fetches.dense_shape is None else [fetches.dense_shape])])
    if isinstance(fetches, Mapping):
        return type(fetches)((k, _expanded(v)) for k, v in fetches.items())  # type: ignore[call-arg]
    if isinstance(fetches, tuple) and hasattr(fetches, "_fields"):
        return type(fetches)(*(_expanded(f) for f in fetches))
    if isinstance(fetches, (list, tuple)):
        return type(fetches)(_expanded(f) for f in fetches)
    return fetches


def _contracted(values: Any) -> Any:
    if isinstance(values, _Slices):
        return IndexedSlicesValue(values[0], values[1], values[2] if len(values) > 2 else None)
    if isinstance(values, Mapping):
        return type(values)((k, _contracted(v)) for k, v in values.items())  # type: ignore[call-arg]
    if isinstance(values, tuple) and hasattr(values, "_fields"):
        return type(values)(*(_contracted(v) for v in values))
    if isinstance(values, (list, tuple)):
        return type(values)(_contracted(v) for v in values)
    return values


def _unwrapped(array: Array) -> Any:
    """A scalar as a numpy scalar (bytes for strings), anything else as it is."""
    return array if array.ndim else array[()]
