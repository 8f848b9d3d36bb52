"""Iterators as a session has them: a running pipeline, and its position."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from graphio.data import graphs, saving, structure, variables
from graphio.data.function import Opening, Runner
from graphio.data.stages import Element, Repeat, Shuffle, Stage
from graphio.framework.graph import Graph
from graphio.framework.graph_state.attachments import ITERATORS, Attachment
from graphio.model.export import SignatureSpec, build_model
from graphio.schema import container
from graphio.schema.model_pb2 import IteratorState
from graphio.support import errors

if TYPE_CHECKING:
    from graphio.data.dataset import Dataset

Array = np.ndarray[Any, Any]
_PREFIX = "iterators"  # of the names of iterators in checkpoints and sessions
#: the element specs and variables of each get_next that takes an iterator by its string handle
_STEPS_BY_NAME: Attachment[list[tuple[Any, variables.Touched]]] = Attachment(
    "steps of iterators by name", lambda root: []
)
Found = TypeVar("Found", bound=Stage)


class Handle:
    """An iterator of a graph.

    Attributes:
        name: unique in the graph; its name in checkpoints.
        specs: of its elements.
        makers: datasets that it may run through, with the tensors that they capture.
        one_shot: whether it needs no initializer.
        functions: names of the host functions that step it.
        touched: variables that functions of its datasets read or assign.
        saveable: whether the program requires its position in checkpoints; see
            make_saveable_from_iterator.
    """

    def __init__(self, graph: Graph, name: str, specs: Any, one_shot: bool) -> None:
        self.name, self.specs, self.one_shot = name, specs, one_shot
        self.makers: list[Dataset] = []
        self.functions: list[str] = []
        self.touched: variables.Touched = {}
        self._stepped = self.saveable = False
        handles_of(graph)[name] = self

    def add_maker(self, dataset: Dataset) -> None:
        """One more dataset that it may run through.

        Raises:
            ValueError: it touches variables that an earlier get_next does not know, or is of
                another graph.
        """
        graphs.check(dataset)
        touched = variables.merged([self.touched, dataset.touched])
        if self._stepped and touched != self.touched:
            raise ValueError(
                f"iterator '{self.name}': a function of the dataset reads or assigns the variable "
                f"'{min(dataset.touched)}'; call make_initializer before get_next"
            )
        self.touched = touched
        self.makers.append(dataset)

    def step(self) -> variables.Touched:
        """The variables that a get_next that is made now reads and assigns."""
        self._stepped = True
        return self.touched


def handles_of(graph: Graph) -> dict[str, Handle]:
    """The iterators of a graph by name."""
    return ITERATORS.of(graph)


class Resource:
    """An iterator of a session."""

    def __init__(self, session: Any, handle: Handle) -> None:
        self._runner, self._graph = Runner(session), session.graph
        self._session = weakref.ref(session)
        self.handle = handle
        self._lock = threading.RLock()
        self._stage: Stage | None = None
        self._maker = 0
        self._shared: dict[str, Array] = {}  # values of variables, while elements are made
        self._values: Sequence[Array] = ()
        self._given = 0
        #: after a load: the element that comes next, and the state that was loaded
        self._ahead: tuple[Element, IteratorState] | None = None

    def make(self, maker: int, values: Sequence[Array]) -> None:
        """Begins a dataset again, with the present values of its captured tensors."""
        with self._lock:
            self.close()
            self._become(self._opened(maker, values), maker, values)

    def _opened(self, maker: int, values: Sequence[Array]) -> Stage:
        dataset = self.handle.makers[maker]
        opening = Opening(self._runner, dict(zip(dataset.captures, values, strict=True)))
        opening.shared, opening.one_shot = self._shared, self.handle.one_shot
        wishes = dataset.options().experimental_stats
        if wishes.aggregator is not None:
            opening.record = wishes.aggregator.recorder(self._session(), wishes.prefix)
        return dataset.open(opening)

    def _become(self, stage: Stage, maker: int, values: Sequence[Array]) -> None:
        self._stage, self._maker, self._values = stage, maker, values
        self._given, self._ahead = 0, None

    def get_next(
        self,
        touched: variables.Touched,
        given: Sequence[Array],
        nothing: Sequence[Array] | None = None,
    ) -> Element:
        """The next element.

        Args:
            touched: variables that get_next knows.
            given: their values.
            nothing: see Iterator._stepped.

        Returns:
            Its components; with variables that functions assign see variables.exchange.

        Raises:
            OutOfRangeError: there is none.
            FailedPreconditionError: the initializer has not run.
            UnimplementedError: functions touch other variables.
        """
        if not variables.covers(touched, self.handle.touched):
            raise errors.UnimplementedError(
                message=f"iterator '{self.handle.name}' has functions that read or assign the "
                f"variable '{min(self.handle.touched)}': make it before the get_next of "
                "from_string_handle that takes its elements"
            )
        with self._lock:
            if not touched:
                return self._next(nothing)
            element: Element = variables.exchange(
                self._session(), touched, self._shared, given, lambda: self._next(nothing)
            )
            return element

    def _next(self, nothing: Sequence[Array] | None) -> Element:
        stage = self._running()
        elements = stage.elements(1) if self._ahead is None else [self._ahead[0]]
        self._ahead = None
        if not elements and nothing is None:
            raise errors.OutOfRangeError(message="End of sequence")
        if not elements:
            return [np.array(False), *(nothing or ())]
        self._given += 1
        flag = [] if nothing is None else [np.array(True)]
        return [*flag, *map(saving.encoded, elements[0])]

    def _running(self) -> Stage:
        if self._stage is None and self.handle.one_shot:
            values = self._constants(self.handle.makers[0])
            self.make(0, values)
        if self._stage is None:
            raise errors.FailedPreconditionError(
                message=f"GetNext() failed because the iterator '{self.handle.name}' has not been "
                "initialized. Ensure that you have run the initializer operation for this "
                "iterator before getting the next element, or saving its position."
            )
        return self._stage

    @property
    def begun(self) -> bool:
        """Whether it has a position."""
        return self._stage is not None

    def save(self, requested: bool = False) -> IteratorState | None:
        """Its position; None before it begins.

        Args:
            requested: True begins a one-shot iterator.

        Raises:
            FailedPreconditionError: it must begin, and has not been initialized.
        """
        with self._lock:
            if requested:
                self._running()
            if self._stage is None:
                return None
            if self._ahead is not None:
                return self._ahead[1]
            detail = {
                "maker": self._maker,
                "signature": self._stage.signature(),
                "stage": self._stage.save(),
            }
            shuffled, repeated = _first(self._stage, Shuffle), _first(self._stage, Repeat)
            return IteratorState(
                epoch=repeated.epoch if repeated is not None else 0,
                offset=self._given,
                shuffle_seed=shuffled.key if shuffled is not None else 0,
                detail=saving.encode(detail),
            )

    def load(self, state: IteratorState) -> bool:
        """Takes the position of an iterator of an equal pipeline; the start if that was the end.

        Returns:
            False: it was another pipeline, or this one needs its initializer first, so nothing
            has changed.

        Raises:
            DataLossError: the state is none that save gives for this pipeline and its data.
        """
        detail = saving.decode(state.detail)
        with self._lock:
            try:
                return self._go(detail, state)
            except (LookupError, TypeError, ValueError, OverflowError, AttributeError) as error:
                raise errors.DataLossError(
                    message=f"the position of iterator '{self.handle.name}' is damaged, or its "
                    f"data has changed: {error}"
                ) from error

    def _go(self, detail: Any, state: IteratorState) -> bool:
        maker = detail["maker"]
        values = self._values_for(maker)
        if values is None:
            return False
        stage = self._opened(maker, values)
        with contextlib.ExitStack() as undo:
            undo.callback(stage.close)
            if stage.signature() != detail["signature"]:
                return False
            stage.load(detail["stage"])
            undo.pop_all()
        self.close()
        self._become(stage, maker, values)
        self._given = state.offset
        self._look_ahead(stage, state, detail["stage"])
        return True

    def _look_ahead(self, stage: Stage, state: IteratorState, saved_position: Any) -> None:
        """Begins the data again if the saved position was its end, unless the program saves the
        position itself."""
        if self.handle.touched:
            return  # functions have variables in a run alone
        try:
            elements = stage.elements(1)
        except errors.OpError:
            stage.load(saved_position)
            return
        if elements:
            self._ahead = (elements[0], state)
        elif not self.handle.saveable:
            self.make(self._maker, self._values)

    def _values_for(self, maker: int) -> Sequence[Array] | None:
        """The values that a dataset captures, if they are known without its initializer."""
        if maker >= len(self.handle.makers):
            return None
        if self._stage is not None and self._maker == maker:
            return self._values
        dataset = self.handle.makers[maker]
        if dataset.captures and not self.handle.one_shot:
            return None
        return self._constants(dataset)

    def _constants(self, dataset: Dataset) -> list[Array]:
        """The values that a dataset captures, where they need neither feeds nor variables."""
        tensors = list(dataset.captures)
        if not tensors:
            return []
        spec = SignatureSpec("", [], [(str(i), t) for i, t in enumerate(tensors)])
        packed = container.pack(*build_model(self._graph, [spec]))
        values: list[Array] = self._runner.load(packed, self._graph)[1]([])
        return values

    def close(self) -> None:
        """Ends the pipeline."""
        with self._lock:
            if self._stage is not None:
                self._stage.close()
            self._stage = self._ahead = None


def _first(stage: Stage, kind: type[Found]) -> Found | None:
    """The last stage of a kind in a pipeline, for readers of checkpoints."""
    while not isinstance(stage, kind):
        if not stage.inputs:
            return None
        stage = stage.inputs[0]
    return stage


def stepped_by_name(graph: Graph, specs: Any) -> variables.Touched:
    """The variables that a get_next of from_string_handle that is made now reads and assigns: those
    of all iterators of such elements."""
    fitting = [handle for handle in handles_of(graph).values() if _fits(specs, handle.specs)]
    touched = variables.merged([handle.step() for handle in fitting])
    _STEPS_BY_NAME.of(graph).append((specs, touched))
    return touched


def check_known_by_name(graph: Graph, handle: Handle) -> None:
    """Refuses the string handle of an iterator whose variables no get_next that may take it knows.

    Raises:
        ValueError: every get_next of from_string_handle that fits was made before the iterator.
    """
    made = _STEPS_BY_NAME.of(graph)
    known = [touched for specs, touched in made if _fits(specs, handle.specs)]
    if known and not any(variables.covers(touched, handle.touched) for touched in known):
        raise ValueError(
            f"string_handle: a function of the iterator '{handle.name}' reads or assigns the "
            f"variable '{min(handle.touched)}'; make the iterator before the get_next of "
            "from_string_handle"
        )


def _fits(expected: Any, found: Any) -> bool:
    types = [[s.dtype for s in structure.flatten(specs)] for specs in (expected, found)]
    return types[0] == types[1]


def resource_of(session: Any, handle: Handle) -> Resource:
    """A session's iterator, made at the first request."""
    key = f"{_PREFIX}/{handle.name}"
    found = session.resources.get(key)
    if found is None:
        found = session.resources.setdefault(key, Resource(session, handle))
    resource: Resource = found
    return resource


def by_name(session: Any, text: Any, specs: Any) -> Resource:
    """The iterator of a string handle.

    Raises:
        InvalidArgumentError: the handle names none, or one of other elements.
    """
    name = bytes(np.asarray(text)[()]).decode(errors="replace")
    handle = handles_of(session.graph).get(name)
    if handle is None:
        raise errors.InvalidArgumentError(
            message=f"the string handle {name!r} names no iterator of this graph; run an "
            "iterator's string_handle() and feed what it gives"
        )
    check_types(specs, handle.specs)
    return resource_of(session, handle)


def check_types(expected: Any, found: Any) -> None:
    """Refuses an iterator whose elements are of other types. Raises InvalidArgumentError."""
    types = [[s.dtype for s in structure.flatten(specs)] for specs in (expected, found)]
    if types[0] != types[1]:
        raise errors.InvalidArgumentError(
            message="Data type mismatch: the iterator gives "
            f"{[t.name for t in types[1]]}, expected {[t.name for t in types[0]]}"
        )


def save_all(session: Any, requested: bool = False) -> dict[str, IteratorState]:
    """The positions of a session's iterators, by name.

    Args:
        requested: whether those that make_saveable_from_iterator was called for must have a
            position.

    Raises:
        FailedPreconditionError: one of those has not been initialized.
    """
    found = {}
    for name, handle in handles_of(session.graph).items():
        key, expected = f"{_PREFIX}/{name}", requested and handle.saveable
        known = expected or key in session.resources
        state = resource_of(session, handle).save(expected) if known else None
        if state is not None:
            found[handle.name] = state
    return found


def without_position(session: Any, known: Iterable[str], *, begun: bool) -> list[str]:
    """A session's iterators that are not among known ones, sorted.

    Args:
        begun: True names only those that have begun.
    """
    names = sorted(handles_of(session.graph).keys() - set(known))
    found = {name: session.resources.get(f"{_PREFIX}/{name}") for name in names}
    return [n for n, resource in found.items() if not begun or (resource and resource.begun)]


def load_all(session: Any, states: Mapping[str, IteratorState]) -> list[str]:
    """Moves a session's iterators; returns the names of those whose pipeline is another one."""
    moved = handles_of(session.graph)
    return [
        name
        for name, state in states.items()
        if name in moved and not resource_of(session, moved[name]).load(state)
    ]


def put_back(session: Any, before: Mapping[str, IteratorState], moved: Iterable[str]) -> None:
    """Undoes load_all: moves iterators back to save_all's positions, others to the beginning."""
    load_all(session, before)
    known = handles_of(session.graph)
    for name in moved:
        if name in known and name not in before:
            resource_of(session, known[name]).close()
