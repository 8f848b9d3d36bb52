"""Session: runs parts of a graph on a state, in one of the engines.

Each (fetches, feeds) is pruned to a model of one signature, written to bytes, and loaded by the
engine on the session's state: a run executes exactly what a file would hold.
"""

from __future__ import annotations

import contextlib
import copy
import gc
import threading
import time
import weakref
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NoReturn, TypeVar

import numpy as np

from graphio.engine import custom, pickling
from graphio.engine.interface import HostFunction, NodeTime
from graphio.execution import engines, fetching, placement, servers
from graphio.execution.config import ConfigProto, RunOptions
from graphio.execution.feeding import Feeder, fed_tensors, is_simple, values_of
from graphio.execution.run_metadata import RunMetadata, divided, fill_costs, fill_times, with_untold
from graphio.execution.waiting import WaitingSignature, waits
from graphio.framework import dtypes, registered, scopes, tracebacks
from graphio.framework.graph import Graph, Operation, Tensor
from graphio.framework.handle_reads import as_reported
from graphio.model.export import SignatureSpec, build_draft, reach
from graphio.model.rewrite import rewrite_draft
from graphio.model.run_reads import fed_reads
from graphio.ops.state.session_handles import HANDLED_DTYPES, TensorHandle
from graphio.schema import container, fused
from graphio.schema.draft import Draft
from graphio.support import api_guard, errors, logging

__all__ = ["InteractiveSession", "Session", "get_default_session"]

Array = np.ndarray[Any, Any]
_Key = TypeVar("_Key", bound=Hashable)
#: called with a node, its inputs and its results, after it has run
Visit = Callable[[Any, list[Any], list[Any]], None]


class _Stack(threading.local):
    def __init__(self) -> None:
        self.sessions: list[Session] = []


_stack = _Stack()
_sessions: weakref.WeakSet[Session] = weakref.WeakSet()


@api_guard.unguarded
def get_default_session() -> Session | None:
    """The session that eval and run use in this thread, None if there is none."""
    return _stack.sessions[-1] if _stack.sessions else None


#: TensorFlow's words for what needs a default session
_ACTIONS = {"eval": "evaluate tensor using", "run": "execute operation using"}


@registered.session_of.register
def session_of(graph: Graph, session: Session | None, what: str) -> Session:
    """The session given or the default one, which must be of the graph.

    Raises:
        ValueError: there is none, or it has another graph.
    """
    chosen = session if session is not None else get_default_session()
    if chosen is None:
        raise ValueError(
            f"Cannot {_ACTIONS.get(what, 'use')} `{what}()`: No default session is registered. Use "
            f"`with sess.as_default()` or pass an explicit session to `{what}(session=sess)`"
        )
    if chosen.graph is not graph.root:
        raise ValueError(
            f"Cannot use `{what}()`: the session's graph is another one than the tensor's or "
            f"operation's. Pass an explicit session to `{what}(session=sess)`"
        )
    return chosen


def _engine(target: str, config: ConfigProto) -> tuple[engines.Engine, dict[str, Any]]:
    """The engine and the options of its load."""
    for name in ("intra_op_parallelism_threads", "inter_op_parallelism_threads"):
        if getattr(config, name) < 0:
            raise errors.InvalidArgumentError(
                message=f"{name} is {getattr(config, name)}, expected 0 or more"
            )
    try:
        engine = engines.choose(target)
    except ValueError as error:
        raise errors.NotFoundError(message=f"No session factory registered: {error}") from None
    options = {"parallel": config.inter_op_parallelism_threads, **engine.trusting}
    if engine.has("threads"):
        options["threads"] = max(1, config.intra_op_parallelism_threads)
    return engine, options


class Session(pickling.Unpicklable):
    """A graph being run on a separate state. Thread-safe: runs on one state wait for each other.

    Args:
        target: "cinfer" for the C library, "runtime" for the Python runtime, "" for the one that
            the environment variable GRAPHIO_TARGET names, by default cinfer; or that of a
            tf.train.Server, whose sessions share their variables.
        graph: to run; None: the default graph.
        config: a ConfigProto.

    Attributes:
        graph: the graph, which may grow between runs.
        state: variables and generators (graphio.engine.interface.State).

    Raises:
        TypeError: target, graph or config is something else.
        NotFoundError: an unknown target.
    """

    pickling_hint = (
        "send a model of tf.saved_model.save that has been loaded, or a checkpoint's path and the "
        "function that builds the graph, and make a session in the other process"
    )

    def __init__(
        self,
        target: str = "",
        graph: Graph | None = None,
        config: Any = None,
        **unknown: NoReturn,
    ) -> None:
        if unknown:
            raise TypeError(
                f"a session has no argument {', '.join(unknown)}; options are those of "
                "config=tf.ConfigProto(...), threads are its intra_op_parallelism_threads"
            )
        if not isinstance(target, (str, bytes)):
            raise TypeError(f"target must be a string, but got {type(target).__name__}")
        if graph is not None and not isinstance(graph, Graph):
            raise TypeError(f"graph must be a tf.Graph, but got {type(graph).__name__}")
        if config is not None and not isinstance(config, ConfigProto):
            raise TypeError(f"config must be a tf.ConfigProto, but got {type(config).__name__}")
        self.graph = (scopes.get_default_graph() if graph is None else graph).root
        self._target = target.decode() if isinstance(target, bytes) else target
        server = servers.find(self._target)
        default = None if server is None else server.config
        given_config = (default or ConfigProto()) if config is None else config
        self._engine, self._options = _engine("" if server else self._target, given_config)
        job, task = ("localhost", 0) if server is None else (server.job, server.task)
        self._devices = placement.Devices.of(given_config, job, task)
        self._timeout = given_config.operation_timeout_in_ms
        options = given_config.graph_options
        self._costs_every, self._costs_after = (
            options.build_cost_model, options.build_cost_model_after,
        )  # fmt: skip
        self._always_observed = bool(self._timeout or self._costs_every)
        self._shows_shapes = given_config.graph_options.infer_shapes
        self.state = self._engine.new_state() if server is None else server.state(self._engine)
        _sessions.add(self)
        self.graph.sessions.add(self)
        self._closed = False
        self._plans: dict[Any, _Plan] = {}
        self._host = host_functions(self, self.graph)
        self.resources: dict[str, Any] = {}  # of host functions, to be closed
        self._contexts: list[contextlib.ExitStack] = []
        self._visitors: list[Visit] = []  # of tf.debug.watch: they see every operation that ran

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._closed

    @property
    def sess_str(self) -> str:
        """The target that was given."""
        return self._target

    @property
    def graph_def(self) -> Any:
        """The graph as a message; with shapes where the config's graph_options.infer_shapes says
        so."""
        return self.graph.as_graph_def(add_shapes=self._shows_shapes)

    def run(
        self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None
    ) -> Any:
        """Runs what the fetches need and gives their values in the fetches' structure.

        Args:
            fetches: a tensor, operation, variable, name, or a nested list, tuple or dict of them.
            feed_dict: values by tensor or name; arrays, numbers or lists of the tensor's dtype
                and of a compatible shape.
            options: a RunOptions: whether to trace, to tell of partitions, and until when.
            run_metadata: a RunMetadata, which is filled with what options ask for.

        Returns:
            For a tensor an array, a numpy scalar if it has no dimensions; for an operation None.

        Raises:
            RuntimeError: the session is closed, or the graph is empty.
            TypeError: a fetch or feed is of a kind that cannot be one.
            ValueError: a fetch or feed is not of this graph, or a value's shape does not fit.
            InvalidArgumentError: a placeholder that is needed is not fed.
            FailedPreconditionError: a variable that is needed has no value.
            DeadlineExceededError: the run took longer than options allow.
            OpError: another failure of an operation, whose `op` names it.
        """
        feeds = {} if feed_dict is None else feed_dict
        try:
            if self._closed:
                raise RuntimeError("Attempted to use a closed Session.")
            if (
                options is not None
                or run_metadata is not None
                or self._always_observed
                or self._visitors
            ):
                return self._observed(fetches, feeds, options, run_metadata)
            key = (fetches if type(fetches) is Tensor else fetching.key_of(fetches), tuple(feeds))
            plan = self._plans.get(key) or self._plan(fetches, feeds, key)
            return plan.run(feeds)
        except Exception as error:
            tracebacks.shorten(error)
            raise

    def _plan(
        self, fetches: Any, feeds: Mapping[Any, Any], key: Any, separate: bool = False
    ) -> _Plan:
        key = (key, "separate") if separate else key
        plan = self._plans.get(key)
        if plan is None:
            if not self.graph.operations:
                raise RuntimeError(
                    "The Session graph is empty. Add operations to the graph before calling run()."
                )
            with _no_collection():
                plan = self._plans[key] = _Plan(self, fetches, feeds, separate)
        return plan

    def _stepping(self, fetches: Any, feeds: Mapping[Any, Any]) -> tuple[Any, Any, Any]:
        """A run for tf.debug.Stepper: the engine's steps (None: there are none), what gives the
        fetches' values at their end, and a context in which failures get the operation."""
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")
        plan = self._plan(fetches, feeds, (fetching.key_of(fetches), tuple(feeds)), separate=True)
        return *plan.stepping(feeds), plan.naming_operations

    def _observed(
        self, fetches: Any, feeds: Mapping[Any, Any], options: Any, run_metadata: Any
    ) -> Any:
        """A run with options or metadata."""
        if options is not None and not isinstance(options, RunOptions):
            raise TypeError(f"options is {type(options).__name__}, expected a tf.RunOptions")
        if run_metadata is not None and not isinstance(run_metadata, RunMetadata):
            raise TypeError(
                f"run_metadata is {type(run_metadata).__name__}, expected a tf.RunMetadata"
            )
        given = RunOptions() if options is None else options
        limit = given.timeout_in_ms or self._timeout
        key = (fetching.key_of(fetches), tuple(feeds))
        plan = self._plan(fetches, feeds, key, bool(self._visitors))
        times: list[NodeTime] | None = None
        requested = plan.costs_are_due() and run_metadata is not None
        if run_metadata is not None:
            run_metadata.Clear()
            traced = given.trace_level != RunOptions.NO_TRACE
            times = [] if traced or requested else None
        deadline = time.monotonic() + limit / 1000 if limit > 0 else None
        values = plan.run_watched(feeds, times, deadline, _visiting(self._visitors))
        if run_metadata is not None:
            plan.tell(run_metadata, times or [], traced, requested, given.output_partition_graphs)
        return values

    def make_callable(
        self, fetches: Any, feed_list: Sequence[Any] | None = None, accept_options: bool = False
    ) -> Callable[..., Any]:
        """A function that runs the fetches with its arguments fed to feed_list in order.

        Args:
            fetches: as for run.
            feed_list: a list or tuple of keys of a feed_dict.
            accept_options: True: the function takes options and run_metadata by name, too.

        Raises:
            TypeError, ValueError: as run does for the fetches and the keys; of the function: as
                run does, and for a wrong number of values.
        """
        if feed_list is not None and not isinstance(feed_list, (list, tuple)):
            raise TypeError("`feed_list` must be a list or tuple.")
        names = list(feed_list or [])
        fetching.Structure(self.graph, fetches)
        fed_tensors(self.graph, dict.fromkeys(names))

        def call(*values: Any, **given: Any) -> Any:
            if len(values) != len(names):
                raise TypeError(f"expected {len(names)} feed values, got {len(values)}")
            allowed = {"options", "run_metadata"} if accept_options else set()
            if not given.keys() <= allowed:
                raise TypeError(f"unexpected arguments {sorted(given.keys() - allowed)}")
            return self.run(fetches, dict(zip(names, values, strict=True)), **given)

        return call

    def list_devices(self) -> list[placement.DeviceAttributes]:
        """The session's devices: name, device_type, memory_limit_bytes and incarnation of each."""
        if self._closed:
            raise RuntimeError("Attempted to use a closed Session.")
        return self._devices.attributes()

    def partial_run_setup(self, fetches: Any, feeds: Any = None) -> Any:
        """Not there: a run is one piece. Raises UnimplementedError."""
        raise errors.UnimplementedError(
            message="partial runs are not there; make each part a separate run, and feed the "
            "next one what the former gave"
        )

    def partial_run(self, handle: Any, fetches: Any, feed_dict: Any = None) -> Any:
        """Not there; see partial_run_setup."""
        return self.partial_run_setup(fetches, feed_dict)

    @staticmethod
    def reset(target: str, containers: Any = None, config: Any = None) -> None:
        """Ends all sessions of a target in this process; their variables are gone.

        Args:
            target: as of a Session.
            containers, config: accepted; there is one container.

        Raises:
            NotFoundError: an unknown target.
        """
        server = servers.find(target)
        if server is not None:
            server.clear()
        chosen, _ = _engine("" if server else target, ConfigProto())
        for session in list(_sessions):
            if session._target == target if server else session._engine is chosen:
                session.state = chosen.new_state()
                session.close()

    def forget_plans(self) -> None:
        """Discards the plans, so that each run analyses its fetches and feeds again."""
        self._plans.clear()

    def close(self) -> None:
        """Ends the session; runs raise RuntimeError from now on."""
        self._closed = True
        self._plans.clear()
        for resource in self.resources.values():
            resource.close()

    # ---- contexts ----

    @contextlib.contextmanager
    def as_default(self) -> Iterator[Session]:
        """A context in which this is the default session; it stays open afterwards.

        Raises:
            AssertionError: leaving it while another one, entered inside, is still open.
        """
        _stack.sessions.append(self)
        try:
            yield self
        finally:
            _leave(self)

    def __repr__(self) -> str:
        names = self.state.names()
        known = sum(map(self.state.initialized, names))
        ending = ", closed" if self._closed else ""
        return (
            f"<tf.{type(self).__name__} in {self._engine.name} of "
            f"{len(self.graph.operations)} operations, "
            f"{known} of {len(names)} variables with a value{ending}>"
        )

    def __enter__(self) -> Session:
        if self._contexts:
            raise RuntimeError(
                "Session context managers are not re-entrant. Use `Session.as_default()` if you "
                "want to enter a session multiple times."
            )
        context = contextlib.ExitStack()
        context.enter_context(self.graph.as_default())
        context.enter_context(self.as_default())
        self._contexts.append(context)
        return self

    def __exit__(self, *details: Any) -> None:
        self._contexts.pop().close()
        self.close()


def _leave(session: Session) -> None:
    """Removes the innermost entry of a session; it may be gone already.

    Raises:
        AssertionError: another session was entered after it, unless that is an
            InteractiveSession's, which ends when it is closed.
    """
    for above in reversed(_stack.sessions):
        if above is session or isinstance(session, InteractiveSession):
            break
        if session in _stack.sessions and not isinstance(above, InteractiveSession):
            raise AssertionError("Nesting violated for the stack of default sessions")
    for i in reversed(range(len(_stack.sessions))):
        if _stack.sessions[i] is session:
            del _stack.sessions[i]
            return


@contextlib.contextmanager
def _no_collection() -> Iterator[None]:
    """A context without Python's cycle collector: a plan makes many objects, none of them garbage,
    and the collector would go through all that the program has again and again."""
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def _visiting(visitors: Sequence[Visit]) -> Visit | None:
    """A function that calls all visitors when a node has run."""
    if not visitors:
        return None

    def visit(node: Any, inputs: list[Any], results: list[Any]) -> None:
        for visitor in list(visitors):
            visitor(node, inputs, results)

    return visit


class InteractiveSession(Session):
    """A session that makes itself the default one until it is closed; see Session."""

    #: how many of the process are not closed; a program that sets it to 0 gets no error of them
    _active_session_count = 0
    _counting = threading.Lock()

    def __init__(
        self,
        target: str = "",
        graph: Graph | None = None,
        config: Any = None,
        **unknown: NoReturn,
    ) -> None:
        super().__init__(target, graph, config, **unknown)
        with self._counting:
            another = InteractiveSession._active_session_count > 0
            InteractiveSession._active_session_count += 1
        if another:
            logging.error(
                "An interactive session is already active. This can cause out-of-memory errors or "
                "some other unexpected errors (due to the unpredictable timing of garbage "
                "collection) in some cases. You must explicitly call `InteractiveSession.close()` "
                "to release resources held by the other session(s). Please use `tf.Session()` if "
                "you intend to productionize. It is the default session again when this one is "
                "closed"
            )
        self._context = contextlib.ExitStack()
        if graph is not None:
            self._context.enter_context(graph.as_default())
        self._context.enter_context(self.as_default())

    def close(self) -> None:
        """Ends the session and gives the default back."""
        if not self.closed:
            with self._counting:
                InteractiveSession._active_session_count -= 1
        self._context.close()
        super().close()


class _Plan:
    """One (fetches, feeds), loaded into the engine. A graph only grows, so it stays valid."""

    def __init__(
        self, session: Session, fetches: Any, feed_dict: Mapping[Any, Any], separate: bool = False
    ) -> None:
        self._graph = session.graph
        #: options of the load: each node is a separate step, where the steps are observed
        self._separate = {"separate": True, "parallel": 1} if separate else {}
        self._runs = 0  # counted where build_cost_model asks for it
        fed = fed_tensors(session.graph, feed_dict)
        self._feeders = [Feeder(tensor) for tensor in fed]
        self._simple_feeds = is_simple(feed_dict)
        self._structure = fetching.Structure(session.graph, fetches)
        elements = self._structure.elements
        handled: Mapping[Operation, dtypes.DType] = HANDLED_DTYPES.find(session.graph) or {}
        #: leaves that are handles of tensors which the session keeps: the dtypes of those
        self._handles = {
            i: handled[e.op]
            for i, e in enumerate(elements)
            if isinstance(e, Tensor) and e.op in handled
        }
        fetches_of = list(zip(elements, self._structure.as_computed, strict=True))
        position_of_fed = _positions(fed)
        requested = [
            (e, c) for e, c in fetches_of if isinstance(e, Tensor) and e not in position_of_fed
        ]
        outputs = list(dict.fromkeys(requested))
        operations = (e for e in elements if isinstance(e, Operation))
        targets = list(dict.fromkeys(e for e in operations if not _is_fed(e, position_of_fed)))
        self._session = session
        position_of_output = _positions(outputs)
        #: for each leaf: None, or ("fed" or "run", position)
        self._sources = [_source(f, position_of_fed, position_of_output) for f in fetches_of]
        self._signature: Any = None
        self._fused: Sequence[Any] = ()  # nodes that several operations run as
        if outputs or targets:
            found, read = reach(
                [*(t for t, _ in outputs), *targets], set(fed), fed_reads(session.graph, fed)
            )
            self._used = [i for i, tensor in enumerate(fed) if tensor in read]
            self._all_used = len(self._used) == len(fed)
            used = [fed[i] for i in self._used]
            self._spec = SignatureSpec(
                "", _keyed(used), _keyed([t for t, _ in outputs]), targets,
                as_computed={str(i) for i, (_, computed) in enumerate(outputs) if computed},
            )  # fmt: skip
            self._signature = self._prepared(waits(session.graph, found))
        self._shorten()

    def _shorten(self) -> None:
        """Prepares the fast path of a run: plain feeds, all of them used, none fetched."""
        self._direct = (
            self._signature is not None
            and self._simple_feeds
            and self._all_used
            and not self._handles
            and all(feeder.plain is not None for feeder in self._feeders)
            and not any(source is not None and source[0] for source in self._sources)
        )
        if self._direct:
            self._run = self._signature.run_checked
            #: where each leaf is found among the outputs and the None that follows them
            self._positions = [-1 if source is None else source[1] for source in self._sources]

    def _prepared(self, waiting: bool) -> Any:
        """The signature of the run; waiting: operations of it wait for other runs."""
        try:
            if waiting:
                return WaitingSignature(self._session, self._graph, self._spec, self._loaded)
            return self._loaded(self._spec)
        except errors.OpError as error:
            raise self._with_operation(error) from None

    def _draft(self, placed: bool, spec: SignatureSpec) -> Draft:
        """The model that runs; placed: with devices even if no operation requests one."""
        draft = build_draft(self._graph, spec)
        devices = self._session._devices
        if placed or self._graph.has_devices or devices.log:
            model = draft.message()
            placement.assign_devices(model, devices)
            return Draft.of(model, draft.arrays)
        return draft

    def _loaded(self, spec: SignatureSpec) -> Any:
        """A model's signature in the engine."""
        session = self._session
        draft = self._draft(False, spec)
        if session._engine.rewritten:
            rewrite_draft(draft)
            self._fused = fused.fused_nodes(draft.graph)
        loaded = session._engine.load(
            container.pack_draft(draft),
            state=session.state,
            host=session._host,
            **{**session._options, **self._separate},
        )
        return loaded.signature()

    def run(self, feed_dict: Mapping[Any, Any]) -> Any:
        """The values in the fetches' structure."""
        if not self._direct:
            return self.run_watched(feed_dict, None, None)
        inputs = []
        for feeder, value in zip(self._feeders, feed_dict.values(), strict=False):
            right = (
                value.__class__ is np.ndarray
                and value.dtype is feeder.plain
                and value.shape in feeder.right
                and value.flags.c_contiguous
                and value.flags.aligned
            )
            inputs.append(value if right else feeder(value))
        try:
            found = self._run(inputs)
        except errors.OpError as error:
            raise self._with_operation(error) from self._cause(error)
        found.append(None)
        leaves = []
        for i in self._positions:
            value = found[i]
            whole = value.__class__ is np.ndarray and value.ndim
            leaves.append(value if whole else fetching.unwrapped(value))
        return self._structure.packed(leaves)

    def run_watched(
        self,
        feed_dict: Mapping[Any, Any],
        times: list[NodeTime] | None,
        deadline: float | None,
        visit: Visit | None = None,
    ) -> Any:
        """As run; times, deadline and visit as in Signature.run_watched."""
        values, fed = self._fed(feed_dict)
        found: list[Array] = []
        if self._signature is not None:
            inputs = self._inputs(fed)
            try:
                if visit is not None:
                    found = self._signature.run_watched(inputs, times, deadline, visit)
                elif times is None and deadline is None:
                    found = self._signature.run(inputs)
                else:
                    found = self._signature.run_watched(inputs, times, deadline)
            except errors.OpError as error:
                raise self._with_operation(error) from self._cause(error)
        return self._packed(found, values, fed)

    def stepping(self, feed_dict: Mapping[Any, Any]) -> tuple[Any, Callable[[], Any]]:
        """A run in steps (None: no step is to run), and a function for its values at the end."""
        values, fed = self._fed(feed_dict)
        if self._signature is None:
            return None, lambda: self._packed([], values, fed)
        with self.naming_operations():
            steps, results = self._signature.stepping(self._inputs(fed))
        return steps, lambda: self._packed(results(), values, fed)

    def _fed(self, feed_dict: Mapping[Any, Any]) -> tuple[list[Any], list[Any]]:
        """The values that are fed, as the program gave them and as the engine takes them."""
        values = list(feed_dict.values() if self._simple_feeds else values_of(feed_dict))
        return values, [f(value) for f, value in zip(self._feeders, values, strict=True)]

    def _inputs(self, fed: list[Any]) -> list[Any]:
        return fed if self._all_used else [fed[i] for i in self._used]

    def _packed(self, found: Sequence[Array], values: Sequence[Any], fed: Sequence[Any]) -> Any:
        """The fetches' structure with what was found and fed."""
        leaves: list[Any] = []
        for source in self._sources:
            if source is None:
                leaves.append(None)
            elif source[0]:
                leaves.append(fetching.unwrapped(self._given(source[1], values, fed)))
            else:
                leaves.append(fetching.unwrapped(found[source[1]]))
        for i, dtype in self._handles.items():
            leaves[i] = TensorHandle(leaves[i], dtype, self._session)
        return self._structure.packed(leaves)

    def _given(self, index: int, values: Sequence[Any], fed: Sequence[Any]) -> Any:
        """A fed value, as the fetch that it is, too: text as the program has it, as TensorFlow."""
        if self._feeders[index].tensor.dtype == dtypes.string:
            return np.array(values[index], object)
        return copy.deepcopy(fed[index])

    def costs_are_due(self) -> bool:
        """Whether this run is one that build_cost_model says; counts it."""
        every: int = self._session._costs_every
        if every <= 0:
            return False
        self._runs += 1
        count: int = self._runs - self._session._costs_after
        return count > 0 and count % every == 0

    def tell(
        self,
        metadata: RunMetadata,
        times: list[NodeTime],
        traced: bool,
        costs: bool,
        partitions: bool,
    ) -> None:
        """Fills a run's metadata: with times, with costs, and with what each device ran."""
        if self._signature is None or not (traced or costs or partitions):
            return
        model = self._draft(True, self._spec).message()
        parts = fused.parts_of_nodes(self._fused)
        reported = [part for time in times for part in divided(time, parts)]
        if traced:
            nodes = {node.name: node for node in model.graph.node}
            known = with_untold(
                reported, [n.name for n in model.graph.node if n.op != "Placeholder"]
            )
            fill_times(metadata, known, nodes, self._session._devices.names[0])
        if costs:
            fill_costs(metadata, reported, model.graph.node)
        if partitions:
            metadata.partition_graphs.extend(placement.partitions(model))

    @contextlib.contextmanager
    def naming_operations(self) -> Iterator[None]:
        """A context whose failures get the builder's operation."""
        try:
            yield
        except errors.OpError as error:
            raise self._with_operation(error) from self._cause(error)

    def _with_operation(self, error: errors.OpError) -> errors.OpError:
        """The error with the builder's operation, found by the node's name."""
        operation = self._graph.find_operation(error.node_name)
        if operation is None or error.op is not None:
            return error
        return as_reported(error, operation)

    def _cause(self, error: errors.OpError) -> BaseException | None:
        """The exception of a user's function; None: a kernel raised the error."""
        operation = self._graph.find_operation(error.node_name)
        if operation is None:
            return None
        called = operation.op == "HostCall" or custom.find(
            operation.domain, operation.op, operation.version
        )
        return error.__cause__ if called else None


def host_functions(session: Session, graph: Graph) -> Mapping[str, HostFunction]:
    """The host functions for a session, of its graph or of the graph of a dataset's function."""
    return _HostFunctions(session, graph)


class _HostFunctions(Mapping[str, HostFunction]):
    """A graph's host functions as one session has them, bound at their first use.

    An engine holds this outside of Python's sight, so it does not keep the session alive.
    """

    def __init__(self, session: Session, graph: Graph) -> None:
        self._session = weakref.ref(session)
        self._graph = graph
        self._bound: dict[str, HostFunction] = {}

    def __getitem__(self, name: str) -> HostFunction:
        if name not in self._bound:
            bind = self._graph.host_functions[name]
            session = self._session()
            if bind is None or session is None:
                raise KeyError(name)
            self._bound[name] = bind(session)
        return self._bound[name]

    def __contains__(self, name: object) -> bool:
        functions = self._graph.host_functions
        return isinstance(name, str) and functions.get(name) is not None

    def __iter__(self) -> Iterator[str]:
        return (name for name in self._graph.host_functions if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def _keyed(tensors: Sequence[Tensor]) -> list[tuple[str, Tensor]]:
    return [(str(i), tensor) for i, tensor in enumerate(tensors)]


def _positions(items: Iterable[_Key]) -> dict[_Key, int]:
    """The index of each item among the items, which are all different."""
    return {item: index for index, item in enumerate(items)}


def _is_fed(operation: Operation, fed: Container[Tensor]) -> bool:
    """Whether the operation need not run: all its outputs are fed."""
    return bool(operation.outputs) and all(t in fed for t in operation.outputs)


def _source(
    fetch: tuple[Tensor | Operation, bool],
    fed: Mapping[Tensor, int],
    outputs: Mapping[tuple[Tensor, bool], int],
) -> tuple[bool, int] | None:
    """The source of a leaf's value: None, or (whether it is fed, its position)."""
    element, computed = fetch
    if isinstance(element, Operation):
        return None
    if element in fed:
        return True, fed[element]
    return False, outputs[element, computed]


@registered.new_session.register
def _session_for(graph: Graph) -> Session:
    return Session(graph=graph)
