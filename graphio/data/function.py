"""Functions of datasets: built once as a separate graph, run by the session's engine."""

from __future__ import annotations

import os
import warnings
import weakref
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from graphio.data import saving, structure, variables
from graphio.data.structure import Spec
from graphio.data.variants import Variants
from graphio.execution.session import host_functions
from graphio.framework import scopes, source
from graphio.framework.constants import convert_to_tensor, placeholder
from graphio.framework.graph import Graph, Operation, Tensor
from graphio.framework.graph_state import bodies
from graphio.framework.graph_state.attachments import Attachment
from graphio.model.export import SignatureSpec, build_model, reach
from graphio.ops.control_flow import switches
from graphio.schema import container
from graphio.schema.seeds import mix_seeds
from graphio.support import errors

if TYPE_CHECKING:
    from graphio.data.dataset import Dataset

Array = np.ndarray[Any, Any]
#: how many functions a graph's datasets have
_COUNT: Attachment[int] = Attachment("functions of datasets", lambda root: 0)


class Function:
    """The function of a map, a filter or another transformation, called for every element.

    Args:
        function: takes the components of an element: a tuple's one by one, a dict as one value.
        specs: of its arguments: an element's, or with `arguments` a list of elements'.
        what: the transformation's name, for messages.
        arguments: True: specs is a list of what the function's arguments are.

    Attributes:
        captures: tensors from outside that it reads, with their placeholders inside.
        specs: of its result.
        dataset: its result, if that is a dataset.
        datasets: those among the components of its result; None for a tensor.
        number: tells the functions of a graph apart, in order of creation.
        touched: the variables that it reads or assigns, and those of its dataset. A plain use is
            a read, too: its value is that of the call.
    """

    def __init__(
        self, function: Callable[..., Any], specs: Any, what: str, arguments: bool = False
    ) -> None:
        if not callable(function):
            raise TypeError(f"{what}: expected a function, got {type(function).__name__}")
        self._outer = scopes.get_default_graph()
        self.what = f"{what} ({source.user_line()})"
        self.number = _COUNT.of(self._outer)
        _COUNT.put(self._outer, self.number + 1)
        self.captures: dict[Tensor, Tensor] = {}
        self.graph = Graph()
        outer = self._outer.root
        # Random operations in here and around draw from separate streams.
        self.graph.seed, self.graph.seeds.given = outer.seed, outer.seeds.given
        self.graph.access.resolve = self._capture
        self.graph.access.around = outer
        self.graph.members.update((key, list(values)) for key, values in outer.members.items())
        self.arguments: list[Tensor] = []
        with self.graph.as_default():
            given = [self._stand_ins(s) for s in (specs if arguments else [specs])]
            unpack = not arguments and type(given[0]) is tuple
            result = function(*given[0]) if unpack else function(*given)
            self._keep(result, what)
        self._warn_of_seed(outer)
        outer.seeds.given = self.graph.seeds.given
        self.touched: variables.Touched = variables.merged(
            [
                variables.touched_by(self.graph),
                *(dataset.touched for dataset in self.datasets if dataset is not None),
            ]
        )

    def _warn_of_seed(self, outer: Graph) -> None:
        """Says that random numbers in here follow from the seed of the graph around."""
        drawn = self.graph.seeds.given != outer.seeds.given
        if drawn and outer.seed is not None and self.graph.seed == outer.seed:
            warnings.warn(
                f"Seed {outer.seed} from outer graph might be getting used by {self.what}, if the "
                "random op has not been provided any seed. Explicitly set the seed in the function "
                "if this is not the intended behavior.",
                stacklevel=2,
            )

    def _stand_ins(self, specs: Any) -> Any:
        made = [placeholder(s.dtype, s.shape, name="element") for s in structure.flatten(specs)]
        self.arguments += made
        return structure.element_of(specs, made)

    def _capture(self, tensor: Tensor) -> Tensor | None:
        """The placeholder of a tensor of the graph around the function."""
        if tensor.graph.root is self.graph:
            return None
        found = bodies.resolve(self._outer, tensor)
        if found not in self.captures:
            with scopes.graph_as_default(self.graph), self.graph.name_scope("captured/"):
                made = placeholder(found.dtype, found.shape, name=found.op.name.split("/")[-1])
            self.captures[found] = made
        return self.captures[found]

    def _keep(self, result: Any, what: str) -> None:
        self.dataset: Dataset | None = result if _is_one_dataset(result) else None
        self.outputs: list[Tensor] = []
        self.datasets: list[Dataset | None] = []
        if isinstance(result, list):
            result = tuple(result)
        result = structure.with_composites(result)
        specs = [self._keep_component(leaf, what) for leaf in structure.flatten(result)]
        self.specs: Any = structure.specs_of(result, specs)

    def _keep_component(self, leaf: Any, what: str) -> Spec:
        structure.refuse_sparse(leaf, what)
        if _is_one_dataset(leaf) and (leaf is self.dataset or what == "map"):
            self.datasets.append(leaf)
            self.outputs += [bodies.resolve(self.graph, t) for t in leaf.captures]
            spec: Spec = leaf.dataset_spec
            return spec
        if _is_one_dataset(leaf):
            raise TypeError(
                f"{what}: the function returned a dataset inside a structure, expected tensors"
            )
        several = isinstance(leaf, Variants)
        tensor = bodies.resolve(self.graph, leaf.tensor if several else convert_to_tensor(leaf))
        self.datasets.append(None)
        self.outputs.append(tensor)
        return leaf.dataset_spec if several else Spec(tensor.dtype, tensor.shape)

    def result_specs(self) -> Any:
        """Specs of the elements that the function gives; of its dataset's elements."""
        return self.specs if self.dataset is None else self.dataset.element_specs


def _is_one_dataset(value: Any) -> bool:
    return structure.is_dataset(value) and not isinstance(value, Variants)


def _plain(value: Any) -> Any:
    """A component as an engine takes it: of a dataset a string."""
    return saving.encoded(value) if value.__class__ is list else value


def _has_effect(operation: Operation) -> bool:
    """Whether a call runs the operation although its outputs have no reader."""
    return any(
        (op.op == "Assert" and not switches.is_check(op))
        or (op.op == "HostCall" and bool(op.attrs["stateful"]))
        for op in variables.with_bodies([operation])
    ) or variables.assigns(operation)


class Runner:
    """The engine of a session. Threads hold it, so it does not keep the session alive."""

    def __init__(self, session: Any) -> None:
        self._engine, self._options = session._engine, session._options
        self._session: Callable[[], Any] = weakref.ref(session)

    def check_open(self) -> None:
        """Ends what works on without an end. Raises CancelledError: the session was closed."""
        session = self._session()
        if session is None or session.closed:
            raise errors.CancelledError(message="the session was closed")

    def load(self, packed: bytes, graph: Graph) -> tuple[Any, Any]:
        """A state, and the function that runs a model of one signature on it."""
        host = host_functions(self._session(), graph) if graph.host_functions else {}
        state = self._engine.new_state()
        loaded = self._engine.load(packed, state=state, host=host, **self._options)
        return state, loaded.signature().run


class Opening:
    """The inputs of opening a pipeline.

    Attributes:
        runner: runs its functions.
        values: of the tensors that datasets and functions captured.
        loaded: functions that are ready, by their definition.
        saved_positions: the future slots of functions that are not loaded yet, by their numbers.
        new_key: a key for operations without a seed.
        shared: values of the variables that functions read and assign, while they run.
        one_shot: whether a one-shot iterator opens it.
        record: takes the tag and the number of a statistic; None: statistics are not kept.
    """

    def __init__(
        self,
        runner: Runner,
        values: Mapping[Tensor, Array],
        new_key: Callable[[], int] = lambda: int.from_bytes(os.urandom(8), "little"),
    ) -> None:
        self.runner = runner
        self.new_key = new_key
        self.values = values
        self.loaded: dict[Function, Loaded] = {}
        self.saved_positions: dict[str, Any] = {}
        self.shared: dict[str, Array] = {}
        self.one_shot = False
        self.record: Callable[[str, float], None] | None = None

    def value(self, given: Any) -> Any:
        """The array of a tensor, what a component has of a dataset, anything else as it is."""
        if isinstance(given, Tensor):
            return self.values[given]
        return given.held(self) if structure.is_dataset(given) else given

    def number(self, given: Any) -> int:
        """As value, for a number."""
        return int(self.value(given))

    def load(self, function: Function) -> Bound:
        """The function, loaded once, with the values that it captures here."""
        if function not in self.loaded:
            self.loaded[function] = Loaded(function, self)
            saved_position = self.saved_positions.pop(str(function.number), None)
            if saved_position is not None:
                self.loaded[function].set_saved_position(saved_position)
        captured = [self.values[t] for t in function.captures]
        return Bound(self.loaded[function], captured)


class Bound:
    """A loaded function with the values that it captured; see Loaded."""

    def __init__(self, loaded: Loaded, captured: Sequence[Array]) -> None:
        self._loaded, self._captured = loaded, captured
        self.function, self.pure = loaded.function, loaded.pure
        self.another, self.open = loaded.another, loaded.open
        self.components = loaded.components
        self.saved_position, self.set_saved_position = (
            loaded.saved_position,
            loaded.set_saved_position,
        )

    def __call__(self, *elements: Sequence[Any], run: Any = None) -> list[Array]:
        """The components of the result for the components of each argument."""
        return self._loaded(self._captured, elements, run)


class Loaded:
    """A function in an engine. Calls are thread-safe.

    Attributes:
        pure: it draws no random numbers and has no variables, so calls may be in any order.
    """

    def __init__(self, function: Function, opening: Opening) -> None:
        self.function = function
        self.pure: bool = not function.graph.generators and not function.touched
        self._shared = opening.shared
        self._touched = variables.touched_here(function.graph)
        self._held: dict[str, Array] = {}  # the values of variables that its state has
        self._runner = opening.runner
        self._key, self._keys_given = opening.new_key(), 0
        self._inner: dict[Function, Loaded] = {}
        self._saved_positions: dict[str, Any] = {}
        graph = function.graph
        self._formal = [*function.captures.values(), *function.arguments]
        effects = [op for op in graph.operations if _has_effect(op)]
        outputs = list(dict.fromkeys(t for t in function.outputs if t not in self._formal))
        _, read = reach([t.op for t in outputs] + effects, set(self._formal))
        used = [t for t in self._formal if t in read]
        self._used = [self._formal.index(t) for t in used]
        self._sources = [
            (True, self._formal.index(t)) if t in self._formal else (False, outputs.index(t))
            for t in function.outputs
        ]
        self._state: Any = None
        self._packed = b""
        self.run: Callable[[Sequence[Array]], list[Array]] = lambda inputs: []
        if outputs or effects:
            inputs = [(str(i), t) for i, t in enumerate(used)]
            results = [(str(i), t) for i, t in enumerate(outputs)]
            model, arrays = build_model(graph, [SignatureSpec("", inputs, results, effects)])
            self._packed = container.pack(model, arrays)
            self._state, self.run = self.another()
            for name, key in graph.generators.items():
                self._state.set_generator(name, opening.new_key() if key is None else key, 0)

    def another(self) -> tuple[Any, Any]:
        """The function once more, with a separate state: for another thread."""
        if not self._packed:
            return None, self.run
        return self._runner.load(self._packed, self.function.graph)

    def _new_key(self) -> int:
        self._keys_given += 1
        return mix_seeds(self._key, self._keys_given)

    def __call__(
        self, captured: Sequence[Array], elements: Sequence[Sequence[Any]], run: Any
    ) -> list[Array]:
        """The components of the result.

        Args:
            captured: what the function reads from outside.
            elements: components of the arguments, in a row.
            run: of `another`; None: this one's own.

        Raises:
            OpError: what the function's graph raised; its message names the transformation.
        """
        formal = [*captured, *(v for element in elements for v in element)]
        inputs = [np.asarray(_plain(formal[i]), order="C") for i in self._used]
        try:
            found = self._with_variables(inputs) if self._touched else (run or self.run)(inputs)
        except errors.OpError as error:
            made = type(error)(None, None, f"{error.message} [{self.function.what}]")
            raise made from (error.__cause__ or error)
        return [formal[i] if fed else found[i] for fed, i in self._sources]

    def _with_variables(self, inputs: Sequence[Array]) -> list[Array]:
        for name in self._touched:
            if self._held.get(name) is not self._shared[name]:
                self._state.set(name, self._shared[name])
                self._held[name] = self._shared[name]
        try:
            return self.run(inputs)
        finally:  # assignments before an error are kept
            for name, touch in self._touched.items():
                if touch.assigned:
                    self._held[name] = self._shared[name] = self._state.get(name)

    def open(self, results: Sequence[Array]) -> Any:
        """The stage of the dataset that the function gives, from what a call gave."""
        assert self.function.dataset is not None
        return self._open(self.function.dataset, results)

    def components(self, results: Sequence[Array]) -> list[Any]:
        """The components of the result: arrays, and the stages of datasets; see open."""
        found: list[Any] = []
        at = 0
        for dataset in self.function.datasets:
            end = at + (1 if dataset is None else len(dataset.captures))
            if dataset is None:
                found.append(results[at])
            else:
                found.append(self._open(dataset, results[at:end]))
            at = end
        return found

    def _open(self, dataset: Dataset, results: Sequence[Array]) -> Any:
        values = dict(zip(dataset.captures, results, strict=True))
        opening = Opening(self._runner, values, self._new_key)
        opening.loaded, opening.saved_positions = self._inner, self._saved_positions
        opening.shared = self._shared
        return dataset.open(opening)

    def saved_position(self) -> Any:
        """The positions of the random generators, here and in nested functions."""
        state = {} if self._state is None else self._state.generators()
        inner = {
            str(function.number): loaded.saved_position()
            for function, loaded in self._inner.items()
        }
        return [
            {name: [f"{key:x}", f"{count:x}"] for name, (key, count) in state.items()},
            {**self._saved_positions, **dict(sorted(inner.items()))},
            [self._key, self._keys_given],
        ]

    def set_saved_position(self, saved_position: Any) -> None:
        """Moves to a saved position."""
        for name, (key, count) in saved_position[0].items():
            self._state.set_generator(name, int(key, 16), int(count, 16))
        self._saved_positions = dict(saved_position[1])
        self._key, self._keys_given = saved_position[2]
        for function, loaded in self._inner.items():
            if str(function.number) in self._saved_positions:
                loaded.set_saved_position(self._saved_positions.pop(str(function.number)))
