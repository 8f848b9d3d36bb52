"""Stages that compute: functions of elements, batches, windows."""

from __future__ import annotations

import collections
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphio.data import saving
from graphio.data.function import Bound
from graphio.data.stages import Draws, Element, Item, Range, Stage
from graphio.support import errors

Array = np.ndarray[Any, Any]


class _Calling(Stage):
    """A stage that calls a function."""

    def __init__(self, source: Stage, function: Bound) -> None:
        super().__init__(source)
        self.source = source
        self.function = function

    def saved_position(self) -> Any:
        return self.function.saved_position()

    def set_saved_position(self, saved_position: Any) -> None:
        self.function.set_saved_position(saved_position)

    def parameters(self) -> Sequence[Any]:
        return [op.op for op in self.function.function.graph.operations]


class Map(_Calling):
    """A function of every element."""

    kind = "map"
    never_more = True

    def pull(self, count: int) -> Sequence[Item]:
        found: list[Element] = []
        # One at a time: what comes after an element that fails is there for the next pull.
        while len(found) < count and (elements := self.source.elements(1)):
            found.append(self.function(elements[0]))
        return found


_MOST_HELD = 1 << 18


def held(stage: Stage) -> list[Element]:
    """The elements of a dataset that is a component of an element; closes the stage.

    Raises:
        ResourceExhaustedError: there are too many.
    """
    try:
        found = stage.elements(_MOST_HELD + 1)
    finally:
        stage.close()
    if len(found) > _MOST_HELD:
        raise errors.ResourceExhaustedError(
            message=f"a dataset that is a component of an element has more than {_MOST_HELD} "
            f"elements; use take inside, or flat_map or interleave [{stage.what}]"
        )
    return found


class NestedMap(_Calling):
    """As Map, for a function that gives datasets: their elements are made with the element."""

    kind = "map"
    never_more = True

    def pull(self, count: int) -> Sequence[Item]:
        found: list[Element] = []
        while len(found) < count and (elements := self.source.elements(1)):
            parts = self.function.components(self.function(elements[0]))
            found.append([held(p) if isinstance(p, Stage) else p for p in parts])
        return found


class Filter(_Calling):
    """The elements of which a function is true."""

    kind = "filter"
    never_more = True

    def pull(self, count: int) -> Sequence[Item]:
        found: list[Element] = []
        while len(found) < count and (elements := self.source.elements(1)):
            found += elements if self.function(elements[0])[0] else []
        return found


class TakeWhile(_Calling):
    """The elements before the first of which a function is false."""

    kind = "take_while"
    never_more = True

    def __init__(self, source: Stage, function: Bound) -> None:
        super().__init__(source, function)
        self.ended = False

    def pull(self, count: int) -> Sequence[Item]:
        found: list[Element] = []
        while len(found) < count and not self.ended:
            elements = self.source.elements(1)
            self.ended = not elements or not self.function(elements[0])[0]
            found += [] if self.ended else elements
        return found

    def restart(self) -> None:
        self.ended = False

    def saved_position(self) -> Any:
        return [self.ended, super().saved_position()]

    def set_saved_position(self, saved_position: Any) -> None:
        self.ended = saved_position[0]
        super().set_saved_position(saved_position[1])


class Scan(_Calling):
    """A function of a state and every element, that gives the next state and an element."""

    kind = "scan"
    never_more = True

    def __init__(self, source: Stage, function: Bound, initial: Element) -> None:
        super().__init__(source, function)
        self.initial = self.state = initial

    def pull(self, count: int) -> Sequence[Item]:
        found: list[Element] = []
        while len(found) < count and (elements := self.source.elements(1)):
            try:
                results = self.function(self.state, elements[0])
            except errors.OutOfRangeError as error:  # it is not the end of the data
                raise self.refused(f"the function gives no element: {error.message}") from error
            self.state = results[: len(self.initial)]
            found.append(results[len(self.initial) :])
        return found

    def restart(self) -> None:
        self.state = self.initial

    def saved_position(self) -> Any:
        return [self.state, super().saved_position()]

    def set_saved_position(self, saved_position: Any) -> None:
        self.state = saved_position[0]
        super().set_saved_position(saved_position[1])


class _Slot:
    """One of the datasets that an Interleave takes from."""

    def __init__(self, function: Bound, results: Sequence[Array]) -> None:
        self.results = list(results)
        self.stage: Stage = function.open(results)


class Interleave(_Calling):
    """The elements of the datasets that a function gives, from several in turn."""

    kind = "interleave"

    def __init__(self, source: Stage, function: Bound, cycle: int, block: int) -> None:
        super().__init__(source, function)
        if cycle < 1:
            raise self.refused("cycle_length must be greater than zero.")
        if block < 1:
            raise self.refused("block_length must be greater than zero.")
        self.cycle, self.block = cycle, block
        self.slots: list[_Slot | None] = [None] * cycle
        self.restart()

    def restart(self) -> None:
        self.close_slots()
        self.slots = [None] * self.cycle
        self.at = self.taken = 0
        self.ended = False

    def pull(self, count: int) -> Sequence[Item]:
        found: list[Element] = []
        while len(found) < count and not (self.ended and not any(self.slots)):
            slot = self.slots[self.at]
            if slot is None:
                self._open()
                continue
            requested = min(self.block - self.taken, count - len(found))
            elements = slot.stage.elements(requested)
            found += elements
            self.taken += len(elements)
            if len(elements) < requested:
                slot.stage.close()
                self.slots[self.at] = None
                self._advance()
            elif self.taken == self.block:
                self._advance()
        return found

    def _open(self) -> None:
        elements = [] if self.ended else self.source.elements(1)
        if elements:
            self.slots[self.at] = _Slot(self.function, self.function(elements[0]))
        else:
            self.ended = True
            self._advance()

    def _advance(self) -> None:
        self.at = (self.at + 1) % self.cycle
        self.taken = 0

    def saved_position(self) -> Any:
        slots = [s and [s.results, s.stage.save()] for s in self.slots]
        return [self.at, self.taken, self.ended, slots, super().saved_position()]

    def set_saved_position(self, saved_position: Any) -> None:
        at, taken, self.ended, slots, function = saved_position
        self.at, self.taken = self.counted(at, self.cycle - 1), self.counted(taken, self.block)
        if len(slots) != self.cycle:
            raise ValueError(f"{self.kind} is in {len(slots)} datasets, of {self.cycle}")
        self.close_slots()
        # Positions saved by older versions begin with the element.
        self.slots = [s and _Slot(self.function, s[-2]) for s in slots]
        for slot, saved in zip(self.slots, slots, strict=True):
            if slot is not None:
                slot.stage.load(saved[-1])
        super().set_saved_position(function)

    def parameters(self) -> Sequence[Any]:
        return [self.cycle, self.block, *super().parameters()]

    def close_slots(self) -> None:
        """Closes the datasets that are open."""
        for slot in self.slots:
            if slot is not None:
                slot.stage.close()

    def close(self) -> None:
        self.close_slots()
        super().close()


class Batch(Stage):
    """Elements, size at a time, as one with a dimension more."""

    kind = "batch"
    never_more = True

    def __init__(self, source: Stage, size: int, drop_remainder: bool) -> None:
        super().__init__(source)
        if size < 1:
            raise self.refused("Batch size must be greater than zero.")
        self.source, self.size, self.drop = source, size, drop_remainder
        #: whether an element that cannot be had takes the others of its batch with it
        self.whole = False

    def _items(self) -> Sequence[Item]:
        """The items of the next batch."""
        if not self.whole:
            return self.source.pull(self.size)
        found: list[Item] = []
        failed: errors.OpError | None = None
        for _ in range(self.size):
            try:
                items = self.source.pull(1)
            except errors.OpError as error:
                failed = failed or error
                continue
            if not items:
                break
            found += items
        if isinstance(failed, errors.OutOfRangeError):
            raise self.refused(f"the function gives no element: {failed.message}") from failed
        if failed is not None:
            raise failed
        return found

    def pull(self, count: int) -> Sequence[Item]:
        found = []
        for _ in range(count):
            items = self._items()
            if not items or (self.drop and len(items) < self.size):
                break
            table = self.source.table
            found.append(self.joined(items) if table is None else gathered(table, items))
        return found

    def joined(self, elements: Sequence[Element]) -> Element:
        """Elements as one."""
        return [self._stacked(column, i) for i, column in enumerate(zip(*elements, strict=True))]

    def _stacked(self, column: Sequence[Any], component: int) -> Any:
        if isinstance(column[0], list):  # datasets
            column = [saving.encoded(component) for component in column]
        first = column[0]
        out = np.empty((len(column), *first.shape), first.dtype)
        for i, array in enumerate(column):
            if array.shape != first.shape:
                raise self.refused(
                    "Cannot batch tensors with different shapes in component "
                    f"{component}. First element had shape {list(first.shape)} and element {i} had "
                    f"shape {list(array.shape)}."
                )
            out[i] = array if array.ndim else array[()]
        return out

    def parameters(self) -> Sequence[Any]:
        return [self.size, self.drop]


class SparseBatch(Batch):
    """As Batch, where some components are the parts of SparseTensors, which begin at offsets."""

    def __init__(
        self, source: Stage, size: int, drop_remainder: bool, saved_positions: Sequence[int]
    ) -> None:
        super().__init__(source, size, drop_remainder)
        self._saved_positions = saved_positions

    def joined(self, elements: Sequence[Element]) -> Element:
        """Elements as one."""
        columns = list(zip(*elements, strict=True))
        out: Element = []
        while len(out) < len(columns):
            saved_position = len(out)
            if saved_position in self._saved_positions:
                out += self._together(*columns[saved_position : saved_position + 3])
            else:
                out.append(self._stacked(columns[saved_position], saved_position))
        return out

    def _together(self, indices: Any, values: Any, shapes: Any) -> list[Array]:
        if len({len(shape) for shape in shapes}) > 1:
            raise self.refused("SparseTensors of different ranks cannot be batched")
        rows = [
            np.insert(saved_positions, 0, row, axis=1)
            for row, saved_positions in enumerate(indices)
        ]
        whole = np.array([len(shapes), *np.max(np.stack(shapes), axis=0)], np.int64)
        return [np.concatenate(rows), np.concatenate(values), whole]


def gathered(table: Sequence[Array], items: Sequence[int]) -> Element:
    """Rows of a table as one array a component."""
    if isinstance(items, range) and items.step == 1:
        return [column[items.start : items.stop] for column in table]
    index = np.array(items, np.intp)
    return [column.take(index, axis=0) for column in table]


class PaddedBatch(Batch):
    """As Batch, each component filled up to a common shape."""

    kind = "padded_batch"

    def __init__(
        self,
        source: Stage,
        size: int,
        drop_remainder: bool,
        shapes: Sequence[Sequence[int]],
        fillings: Sequence[Array],
    ) -> None:
        super().__init__(source, size, drop_remainder)
        self.shapes, self.fillings = shapes, fillings

    def pull(self, count: int) -> Sequence[Item]:
        found = []
        for _ in range(count):
            elements = self.source.elements(self.size)
            if not elements or (self.drop and len(elements) < self.size):
                break
            found.append(self.joined(elements))
        return found

    def _stacked(self, column: Sequence[Any], component: int) -> Any:
        requested = self.shapes[component]
        for array in column:
            if array.ndim != len(requested):
                raise self.refused(
                    "All elements in a batch must have the same rank as the padded shape for "
                    f"component{component}: expected rank {len(requested)} but got element with "
                    f"rank {array.ndim}"
                )
        longest = [max(a.shape[d] for a in column) for d in range(len(requested))]
        full = [size if size < 0 else requested[d] for d, size in enumerate(requested)]
        full = [longest[d] if size < 0 else size for d, size in enumerate(full)]
        for d, size in enumerate(full):
            if longest[d] > size:
                raise errors.DataLossError(
                    message="Attempted to pad to a smaller size than the input element: component "
                    f"{component} has size {longest[d]} in dimension {d}, padded_shapes says "
                    f"{size} [{self.what}]"
                )
        out = np.full((len(column), *full), self.fillings[component], column[0].dtype)
        for i, array in enumerate(column):
            saved_position = tuple(slice(0, size) for size in array.shape)
            out[i, ...][saved_position] = array if array.ndim else array[()]
        return out

    def parameters(self) -> Sequence[Any]:
        return [*super().parameters(), self.shapes]


class Unbatch(Stage):
    """The rows of every element, some components of which may be the parts of SparseTensors."""

    kind = "unbatch"

    def __init__(self, source: Stage, sparse_positions: Sequence[int] = ()) -> None:
        super().__init__(source)
        self.source, self._saved_positions = source, sparse_positions
        self.rest: list[Element] = []

    def pull(self, count: int) -> Sequence[Item]:
        while len(self.rest) < count:
            elements = self.source.elements(1)
            if not elements:
                break
            self.rest += self._rows(elements[0])
        found, self.rest = self.rest[:count], self.rest[count:]
        return found

    def _rows(self, element: Element) -> list[Element]:
        columns: list[list[Element]] = []
        saved_position = 0
        while saved_position < len(element):
            if saved_position in self._saved_positions:
                columns.append(self.sparse_rows(*element[saved_position : saved_position + 3]))
                saved_position += 3
            else:
                array = element[saved_position]
                columns.append([[array[i, ...]] for i in range(len(array) if array.ndim else 0)])
                saved_position += 1
        if len({len(column) for column in columns}) != 1 or not all(a.ndim for a in element):
            raise self.refused(
                "Input element must have the same batch size in each component; their shapes are "
                f"{[list(a.shape) for a in element]}"
            )
        return [[part for parts in row for part in parts] for row in zip(*columns, strict=True)]

    def sparse_rows(self, indices: Array, values: Array, shape: Array) -> list[Element]:
        """The rows of a SparseTensor as the parts of each."""
        self.check_parts(indices, values, shape)
        rows, count = indices[:, 0], int(shape[0])
        order = np.argsort(rows, kind="stable")
        ends = np.cumsum(np.bincount(rows, minlength=count))
        parts = np.split(order, ends[:-1]) if count else []
        return [[indices[part, 1:], values[part], shape[1:]] for part in parts]

    def check_parts(self, indices: Array, values: Array, shape: Array) -> None:
        """Refuses parts that are not a SparseTensor with rows."""
        if indices.ndim != 2 or len(indices) != len(values) or indices.shape[1] != len(shape):
            raise self.refused(
                "The parts of a SparseTensor do not fit each other: indices have the shape "
                f"{list(indices.shape)}, values {list(values.shape)}, dense_shape {shape.tolist()}"
            )
        if not len(shape):
            raise self.refused("A SparseTensor of rank 0 has no rows")
        rows, count = indices[:, 0], int(shape[0])
        if len(rows) and not 0 <= rows.min() <= rows.max() < count:
            raise self.refused(f"A SparseTensor of {count} rows has an element in another row")

    def restart(self) -> None:
        self.rest = []

    def saved_position(self) -> Any:
        return list(self.rest)

    def set_saved_position(self, saved_position: Any) -> None:
        self.rest = list(saved_position)


class SparseSlices(Unbatch):
    """The rows of a SparseTensor whose elements are in ascending order."""

    kind = "from_sparse_tensor_slices"

    def __init__(self, source: Stage) -> None:
        super().__init__(source, [0])
        indices, values, shape = source.elements(1)[0]
        source.rewind()
        self.check_parts(indices, values, shape)
        if np.any(np.diff(indices[:, 0]) < 0):
            raise errors.UnimplementedError(
                message="The SparseTensor must be ordered in the batch dimension; see "
                f"tf.sparse.reorder [{self.what}]"
            )


class Window(Stage):
    """Datasets of size elements each: every component of an element is one."""

    kind = "window"

    def __init__(
        self,
        source: Stage,
        size: int,
        shift: int,
        stride: int,
        drop: bool,
        widths: Sequence[int],
    ) -> None:
        super().__init__(source)
        for name, value in (("size", size), ("shift", shift), ("stride", stride)):
            if value < 1:
                raise self.refused(f"Window {name} must be greater than zero.")
        self.source = source
        self.size, self.shift, self.stride, self.drop = size, shift, stride, drop
        self._sure = source.table is not None or isinstance(source, Range)  # no element can fail
        ends = np.cumsum(widths).tolist()  # where components end, which may have several parts
        self.parts = [slice(end - width, end) for end, width in zip(ends, widths, strict=True)]
        self.restart()

    def restart(self) -> None:
        #: elements, and the errors of those that cannot be had
        self.buffer: collections.deque[Element | errors.OpError] = collections.deque()
        self.ended = False

    def pull(self, count: int) -> Sequence[Item]:
        found: list[Element] = []
        reach = (self.size - 1) * self.stride + 1
        while len(found) < count:
            self._fill(max(reach, self.shift))
            picked = list(self.buffer)[: reach : self.stride]
            if not picked or (self.drop and len(picked) < self.size):
                break
            for _ in range(min(self.shift, len(self.buffer))):
                self.buffer.popleft()
            window = [element for element in picked if isinstance(element, list)]
            if len(window) < len(picked):
                raise next(element for element in picked if not isinstance(element, list))
            found.append([[element[part] for element in window] for part in self.parts])
        return found

    def _fill(self, count: int) -> None:
        # One at a time, unless they are there: an element that cannot be had is missed only by a
        # window that has it.
        while len(self.buffer) < count and not self.ended:
            requested = count - len(self.buffer) if self._sure else 1
            try:
                elements = self.source.elements(requested)
            except errors.OpError as error:
                self.buffer.append(error)
                continue
            self.ended = len(elements) < requested
            self.buffer.extend(elements)

    def saved_position(self) -> Any:
        kept = [e if isinstance(e, list) else [e.error_code, e.message] for e in self.buffer]
        failed = [i for i, e in enumerate(self.buffer) if not isinstance(e, list)]
        return [kept, self.ended, failed]

    def set_saved_position(self, saved_position: Any) -> None:
        kept, self.ended, *failed = saved_position
        self.buffer = collections.deque(kept)
        for i in failed[0] if failed else ():
            code, message = kept[i]
            self.buffer[i] = errors.exception_type_from_error_code(code)(message=message)

    def parameters(self) -> Sequence[Any]:
        return [self.size, self.shift, self.stride, self.drop]


class Unique(Stage):
    """Elements that have not come before."""

    kind = "unique"
    never_more = True

    def __init__(self, source: Stage) -> None:
        super().__init__(source)
        self.source = source
        self.seen: dict[bytes, None] = {}

    def pull(self, count: int) -> Sequence[Item]:
        found: list[Element] = []
        while len(found) < count:
            elements = self.source.elements(1)
            if not elements:
                break
            array = elements[0][0]
            key = b"\0".join(array.ravel().tolist()) if array.dtype == object else array.tobytes()
            if key not in self.seen:
                self.seen[key] = None
                found += elements
        return found

    def restart(self) -> None:
        self.seen = {}

    def saved_position(self) -> Any:
        return list(self.seen)

    def set_saved_position(self, saved_position: Any) -> None:
        self.seen = dict.fromkeys(saved_position)


class IgnoreErrors(Stage):
    """The elements that can be had; those that raise are left out."""

    kind = "ignore_errors"
    never_more = True

    def __init__(self, source: Stage) -> None:
        super().__init__(source)
        self.source = source

    def pull(self, count: int) -> Sequence[Item]:
        found: list[Element] = []
        while len(found) < count:
            try:
                elements = self.source.elements(1)
            except errors.OpError:
                continue
            if not elements:
                break
            found += elements
        return found


class Choose(Stage):
    """From the input whose number the first input gives."""

    kind = "choose_from_datasets"

    first = False  # whether it has ended with an input

    def __init__(self, stop: bool, choices: Stage, *sources: Stage) -> None:
        super().__init__(choices, *sources)
        self.stop = stop

    def pull(self, count: int) -> Sequence[Item]:
        choices, *sources = self.inputs
        found: list[Element] = []
        while len(found) < count and not self.position:
            choice = choices.elements(1)
            if not choice:
                break
            number = int(choice[0][0])
            if not 0 <= number < len(sources):
                raise self.refused(f"Selector index out of range: {number} of {len(sources)}")
            elements = sources[number].elements(1)
            self.position = self.stop and not elements
            found += elements
        return found

    def set_saved_position(self, saved_position: Any) -> None:
        self.position = bool(saved_position)  # older versions saved None


class Sample(Stage):
    """From an input that is drawn with given odds, among those that have not ended."""

    kind = "sample_from_datasets"

    def __init__(
        self, weights: Sequence[float] | Stage, key: int, stop: bool, *sources: Stage
    ) -> None:
        self.moving = weights if isinstance(weights, Stage) else None
        super().__init__(*([] if self.moving is None else [self.moving]), *sources)
        self.sources, self.stop = sources, stop
        if isinstance(weights, Stage):
            weights = [1.0] * len(sources)
        self.weights = self._checked(weights)
        self.key = key
        self.epoch = -1
        self.restart()

    def restart(self) -> None:
        self.live = [w > 0 for w in self.weights]
        self.drawn = 0
        self.epoch += 1
        self._draws = Draws(self.key, self.epoch)

    def _checked(self, weights: Any) -> list[float]:
        given = np.asarray(weights, np.float64)
        if given.shape != (len(self.sources),):
            raise self.refused(
                f"there are {given.size} weights for {len(self.sources)} datasets, of shape "
                f"{list(given.shape)}"
            )
        if not (given >= 0).all() or np.isinf(given).any():
            raise self.refused(f"the weights are {given.tolist()}, expected numbers of 0 or more")
        return [float(weight) for weight in given]

    def _weigh(self) -> None:
        """Takes the weights of the next draw, where they come from a dataset."""
        if self.moving is None:
            return
        found = self.moving.elements(1)
        if found:
            self.weights = self._checked(found[0][0])
        else:
            self.live = [False] * len(self.sources)

    def pull(self, count: int) -> Sequence[Item]:
        found: list[Element] = []
        while len(found) < count and any(self.live):
            self._weigh()
            if not any(w * on for w, on in zip(self.weights, self.live, strict=True)):
                self.live = [False] * len(self.sources)
                break
            odds = np.cumsum([w * on for w, on in zip(self.weights, self.live, strict=True)])
            chance = (self._draws(self.drawn, 1)[0] >> 11) * 2.0**-53
            at = int(np.searchsorted(odds, chance * odds[-1], side="right"))
            self.drawn += 1
            elements = self.sources[at].elements(1)
            self.live[at] = bool(elements)
            if self.stop and not elements:
                self.live = [False] * len(self.live)
            found += elements
        return found

    def saved_position(self) -> Any:
        return [list(self.live), self.drawn, self.key, self.epoch]

    def set_saved_position(self, saved_position: Any) -> None:
        live, self.drawn, self.key, self.epoch = saved_position
        self.live = list(live)
        self._draws = Draws(self.key, self.epoch)

    def parameters(self) -> Sequence[Any]:
        return self.weights if self.moving is None else ["weights of a dataset"]


class GroupByWindow(Stage):
    """Elements gathered by key; a full group goes through a function that gives a dataset."""

    kind = "group_by_window"

    def __init__(self, source: Stage, key: Bound, reduce: Bound, size: Bound) -> None:
        super().__init__(source)
        self.source = source
        self.key, self.reduce, self.size = key, reduce, size
        self.ready: list[Element] = []
        self.restart()

    def restart(self) -> None:
        self.groups: dict[int, list[Element]] = {}
        self.ready = []
        self.ended = False

    def pull(self, count: int) -> Sequence[Item]:
        while len(self.ready) < count and not (self.ended and not self.groups):
            elements = [] if self.ended else self.source.elements(1)
            if elements:
                self._add(elements[0])
            else:
                if not self.ended:
                    self._end()
                if self.groups:
                    self._reduce(*self.groups.popitem())
        found, self.ready = self.ready[:count], self.ready[count:]
        return found

    def _add(self, element: Element) -> None:
        key = int(self.key(element)[0])
        group = self.groups.setdefault(key, [])
        group.append(element)
        size = int(self.size([np.array(key, np.int64)])[0])
        if size < 1:
            raise self.refused("Window size must be greater than zero, but got " + str(size))
        if len(group) >= size:
            self._reduce(key, self.groups.pop(key))

    def _end(self) -> None:
        """The groups that are left come by ascending keys: they are taken from the dict's end."""
        self.ended = True
        self.groups = dict(sorted(self.groups.items(), reverse=True))

    def _reduce(self, key: int, group: list[Element]) -> None:
        given: Element = [np.array(key, np.int64), group]
        stage = self.reduce.open(self.reduce(given))
        while True:
            elements = stage.elements(1)
            if not elements:
                break
            self.ready += elements
        stage.close()

    def saved_position(self) -> Any:
        functions = [f.saved_position() for f in (self.key, self.reduce, self.size)]
        groups = [[key, list(group)] for key, group in self.groups.items()]
        return [groups, list(self.ready), self.ended, functions]

    def set_saved_position(self, saved_position: Any) -> None:
        self.groups = {key: list(group) for key, group in saved_position[0]}
        self.ready, self.ended = list(saved_position[1]), saved_position[2]
        if self.ended:
            self._end()
        for function, inner in zip(
            (self.key, self.reduce, self.size), saved_position[3], strict=True
        ):
            function.set_saved_position(inner)
