"""Stages of a running pipeline, and those that only pick and order what comes to them.

A stage gives items on request. An item is an element (a list of arrays, one a component) or, where
the stage has a table, the number of a row of it: picking and ordering then moves numbers, and a
batch gathers its rows at once.
"""

from __future__ import annotations

import contextlib
import zlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from graphio.data import saving
from graphio.support import errors

Array = np.ndarray[Any, Any]
Element = list[Any]
Item = Any
BLOCK = 256  # draws that a shuffle makes at once
_LARGE = 1 << 24  # bytes of a buffer that is too large for a saved position
_HASHED = 1 << 20  # bytes of an array that its signature looks at


class Stage:
    """One step of a pipeline that runs.

    Attributes:
        kind: the Dataset method's name.
        position: where the stage alone stands, for those that are somewhere; `first`, when a pass
            through the data begins.
        never_more: whether it gives no more items than its only input.
        table: the arrays that items are rows of; None: items are elements.
        inputs: the stages before.
        what: for messages, with the user's line.
    """

    kind = ""
    first: Any = None
    never_more = False

    def __init__(self, *inputs: Stage) -> None:
        self.inputs = inputs
        self.position = self.first
        self.table: Sequence[Array] | None = None
        self.what = self.kind

    def pull(self, count: int) -> Sequence[Item]:
        """The next items, fewer than count only at the end of the data."""
        raise NotImplementedError

    def elements(self, count: int) -> list[Element]:
        """The next items as elements."""
        items = self.pull(count)
        return list(items) if self.table is None else rows(self.table, items)

    def rewind(self) -> None:
        """Begins the next pass through the data."""
        for stage in self.inputs:
            stage.rewind()
        self.restart()

    def restart(self) -> None:
        """Rewinds this stage alone."""
        self.position = self.first

    def save(self) -> Any:
        """The positions of this stage and those before it; see saving.encode."""
        return {"place": self.saved_position(), "inputs": [stage.save() for stage in self.inputs]}

    def load(self, saved: Any) -> None:
        """Moves to the positions that save gave."""
        for stage, saved_position in zip(self.inputs, saved["inputs"], strict=True):
            stage.load(saved_position)
        self.set_saved_position(saved["place"])

    def saved_position(self) -> Any:
        """The position of this stage alone: it does not change when the stage goes on."""
        return self.position

    def set_saved_position(self, saved_position: Any) -> None:
        """Moves to a position. Raises TypeError, ValueError: it is not one of such a stage."""
        if type(saved_position) is not type(self.first):
            raise TypeError(f"{self.kind} has the position {saved_position!r}")
        if type(saved_position) is int:
            self.counted(saved_position, self.most())
        self.position = saved_position

    def most(self) -> int | None:
        """The most items that one pass can give; None: unknown before its end."""
        return self.inputs[0].most() if self.never_more else None

    def counted(self, number: Any, most: int | None = None) -> int:
        """A number of a saved position, checked against the count of its items.

        Positions are replayed, so an arbitrary number would run almost without end.

        Raises:
            TypeError, ValueError: it is none, or too large.
        """
        if type(number) is not int:
            raise TypeError(f"{self.kind} counts {number!r}")
        if number < 0 or (most is not None and number > most):
            raise ValueError(f"{self.kind} has the position {number}, of {most}")
        return number

    def parameters(self) -> Sequence[Any]:
        """The parameters that distinguish this stage from others of its kind."""
        return ()

    def signature(self) -> str:
        """A string that is equal for pipelines that can take over each other's positions."""
        own = ",".join(map(str, self.parameters()))
        return f"{self.kind}({own})[{';'.join(s.signature() for s in self.inputs)}]"

    def close(self) -> None:
        """Lets go of threads and files."""
        for stage in self.inputs:
            stage.close()

    def refused(self, message: str) -> errors.OpError:
        """The error of a parameter or an element that cannot be."""
        return errors.InvalidArgumentError(message=f"{message} [{self.what}]")


def rows(table: Sequence[Array], items: Sequence[int]) -> list[Element]:
    """Rows of a table as elements."""
    return [[column[i, ...] for column in table] for i in items]


class Slices(Stage):
    """Rows of arrays of one length."""

    kind = "from_tensor_slices"
    first = 0

    def __init__(self, table: Sequence[Array]) -> None:
        super().__init__()
        self.table = table
        self.length = len(table[0])
        for i, column in enumerate(table):
            if len(column) != self.length:
                raise errors.InvalidArgumentError(
                    message=f"from_tensor_slices: component {i} has {len(column)} slices, "
                    f"component 0 has {self.length}"
                )

    def pull(self, count: int) -> Sequence[Item]:
        start = self.position
        self.position = min(self.length, start + count)
        return range(start, self.position)

    def most(self) -> int | None:
        return self.length

    def parameters(self) -> Sequence[Any]:
        assert self.table is not None
        return [digest(column) for column in self.table]


def digest(array: Array) -> str:
    """dtype, shape, and a checksum of the array, or of rows spread over a large one."""
    if array.nbytes > _HASHED and array.ndim:
        step = -(-array.nbytes // _HASHED)
        array_part = array[::step]
    else:
        array_part = array
    if array.dtype == object:
        data = b"\0".join(bytes(v) for v in array_part.ravel()[:4096].tolist())
    else:
        data = np.ascontiguousarray(array_part).tobytes()
    return f"{array.dtype}{list(array.shape)}:{zlib.crc32(data):08x}"


class Tensors(Stage):
    """One element."""

    kind = "from_tensors"
    first = False  # whether it was given

    def __init__(self, element: Element) -> None:
        super().__init__()
        self.element = element

    def pull(self, count: int) -> Sequence[Item]:
        if self.position or not count:
            return []
        self.position = True
        return [self.element]

    def most(self) -> int | None:
        return 1

    def parameters(self) -> Sequence[Any]:
        return [digest(saving.encoded(a)) for a in self.element]


class Range(Stage):
    """Numbers of a type; those that a type of integers does not hold wrap around."""

    kind = "range"
    first = 0

    def __init__(self, start: int, stop: int, step: int, dtype: Any = np.int64) -> None:
        super().__init__()
        self.dtype = np.dtype(dtype)
        if step == 0:
            raise self.refused("step cannot be zero.")
        self.numbers = range(start, stop, step)

    def pull(self, count: int) -> Sequence[Item]:
        found = self.numbers[self.position : self.position + count]
        self.position += len(found)
        if self.dtype == np.int64:
            return [[np.array(number, np.int64)] for number in found]
        return [[np.array(number, np.int64).astype(self.dtype)] for number in found]

    def most(self) -> int | None:
        return len(self.numbers)

    def parameters(self) -> Sequence[Any]:
        kind = [] if self.dtype == np.int64 else [self.dtype.name]
        return [self.numbers, *kind]


class Given(Stage):
    """Elements that are there already: what a window holds."""

    kind = "window"
    first = 0

    def __init__(self, found: list[Element]) -> None:
        super().__init__()
        self.found = found

    def pull(self, count: int) -> Sequence[Item]:
        start = self.position
        self.position = min(len(self.found), start + count)
        return self.found[start : self.position]

    def most(self) -> int | None:
        return len(self.found)


class _Picking(Stage):
    """A stage whose items are some of its input's."""

    never_more = True

    def __init__(self, source: Stage) -> None:
        super().__init__(source)
        self.source = source
        self.table = source.table

    def saved(self, items: Sequence[Item]) -> Any:
        """Items in the form of a saved position."""
        return list(items) if self.table is None else np.array(items, np.int64)

    def loaded(self, items: Any) -> list[Item]:
        """The items of a saved position. Raises ValueError: a row that there is not."""
        if self.table is None:
            return list(items)
        found: list[Item] = items.tolist()
        if found and not 0 <= min(found) <= max(found) < len(self.table[0]):
            raise ValueError(f"{self.kind} holds row {max(found)} of {len(self.table[0])}")
        return found


class Take(_Picking):
    """The first items; count < 0: all."""

    kind = "take"
    first = 0

    def __init__(self, source: Stage, count: int) -> None:
        super().__init__(source)
        self.count = count

    def pull(self, count: int) -> Sequence[Item]:
        if self.count >= 0:
            count = min(count, self.count - self.position)
            if count <= 0:
                self.source.close()  # this pass needs no more items
        items = self.source.pull(count) if count > 0 else []
        self.position += len(items)
        return items

    def most(self) -> int | None:
        most = self.source.most()
        return most if self.count < 0 else self.count if most is None else min(most, self.count)

    def parameters(self) -> Sequence[Any]:
        return [self.count]


class Skip(_Picking):
    """All but the first items; count < 0: none."""

    kind = "skip"
    first = False  # whether it has skipped

    def __init__(self, source: Stage, count: int) -> None:
        super().__init__(source)
        self.count = count

    def pull(self, count: int) -> Sequence[Item]:
        if self.count < 0:
            return []
        if not self.position:
            self.position = True
            left = self.count
            while left > 0:
                found = len(self.source.pull(min(left, 1024)))
                left = left - found if found else 0
        return self.source.pull(count)

    def parameters(self) -> Sequence[Any]:
        return [self.count]


class Shard(_Picking):
    """Every number-th item from index on."""

    kind = "shard"

    def __init__(self, source: Stage, number: int, index: int) -> None:
        super().__init__(source)
        if number < 1:
            raise self.refused(f"Number of shards must be greater than zero (currently {number})")
        if not 0 <= index < number:
            raise self.refused(f"Index must be between 0 and {number - 1} (currently {index})")
        self.number, self.index = number, index

    def pull(self, count: int) -> Sequence[Item]:
        return self.source.pull(count * self.number)[self.index :: self.number]

    def parameters(self) -> Sequence[Any]:
        return [self.number, self.index]


class Repeat(_Picking):
    """The items count times over; count < 0: without end, unless there are none."""

    kind = "repeat"

    def __init__(self, source: Stage, count: int) -> None:
        super().__init__(source)
        self.count = count
        self.epoch = 0
        self.given = 0  # in this epoch

    def pull(self, count: int) -> Sequence[Item]:
        if self.epoch == self.count or not count:
            return []
        items = self.source.pull(count)
        self.given += len(items)
        if len(items) == count:
            return items
        found = list(items)
        while len(found) < count and self._next_epoch():
            items = self.source.pull(count - len(found))
            self.given += len(items)
            found += items
        return found

    def _next_epoch(self) -> bool:
        """Goes on to the next epoch; False if there is none."""
        if self.epoch == self.count or (self.count < 0 and not self.given):
            return False
        self.epoch += 1
        self.given = 0
        if self.epoch == self.count:
            return False
        self.source.rewind()
        return True

    def restart(self) -> None:
        self.epoch = self.given = 0

    def most(self) -> int | None:
        most = self.source.most()
        if self.count >= 0 and most is not None:
            return self.count * most
        return 0 if most == 0 else None

    def saved_position(self) -> Any:
        return [self.epoch, self.given]

    def set_saved_position(self, saved_position: Any) -> None:
        epoch, given = saved_position
        self.epoch = self.counted(epoch, None if self.count < 0 else self.count)
        self.given = self.counted(given, self.source.most())

    def parameters(self) -> Sequence[Any]:
        return [self.count]


def _bytes(item: Item) -> int:
    """Approximate bytes of an item in a saved position."""
    if isinstance(item, (int, bytes)):
        return 8 if isinstance(item, int) else len(item)
    if isinstance(item, list):
        return sum(map(_bytes, item))
    return sum(map(_bytes, item.ravel().tolist())) if item.dtype == object else int(item.nbytes)


class Draws:
    """Random numbers of 64 bits: number i of the Philox stream of a key and an epoch."""

    def __init__(self, key: int, epoch: int) -> None:
        self._key = np.array([key, epoch], np.uint64)
        self._block: list[int] = []
        self._first = -1

    def __call__(self, i: int, count: int) -> list[int]:
        """Numbers i to i + count."""
        found: list[int] = []
        while len(found) < count:
            at = i + len(found)
            first = at // BLOCK * BLOCK
            if first != self._first:
                generator = np.random.Philox(key=self._key, counter=first)
                self._block, self._first = generator.random_raw(BLOCK).tolist(), first
            found += self._block[at - first : at - first + count - len(found)]
        return found


class Shuffle(_Picking):
    """Items in random order: each is drawn from a buffer, in which the next takes its place.

    Each epoch has separate draws. A saved position has the buffer; if that is large, it has the
    beginning of the epoch instead, from which the draws are repeated.
    """

    kind = "shuffle"

    def __init__(self, source: Stage, size: int, key: int, seeded: bool, reshuffle: bool) -> None:
        super().__init__(source)
        if size < 1:
            raise self.refused(f"buffer_size must be greater than zero, got {size}.")
        self.size, self.reshuffle, self.key = size, reshuffle, key
        self.seeded = key if seeded else None
        self.epoch = -1
        self.restart()

    def restart(self) -> None:
        self.epoch = self.epoch + 1 if self.reshuffle else 0
        self.buffer: list[Item] = []
        self.filled = False
        self.drawn = 0
        self._draws = Draws(self.key, self.epoch)
        self._start: Any = None  # of the source, when the epoch began

    def pull(self, count: int) -> Sequence[Item]:
        buffer = self.buffer
        if not self.filled:
            self._fill()
        items = self.source.pull(count) if buffer else []
        left = min(count, len(items) + len(buffer))
        draws = self._draws(self.drawn, left)
        self.drawn += left
        found, below = [], len(buffer)
        for item, draw in zip(items, draws, strict=False):
            k = draw * below >> 64
            found.append(buffer[k])
            buffer[k] = item
        for draw in draws[len(items) :]:
            k = draw * len(buffer) >> 64
            found.append(buffer[k])
            buffer[k] = buffer[-1]
            buffer.pop()
        return found

    def _fill(self) -> None:
        if self._start is None:
            self._start = self.source.save()
        # An element that cannot be had leaves in the buffer those before it.
        step = 1 if self.table is None else self.size
        while len(self.buffer) < self.size:
            items = self.source.pull(min(step, self.size - len(self.buffer)))
            if not items:
                break
            self.buffer.extend(items)
        self.filled = True

    def saved_position(self) -> Any:
        large = sum(_bytes(item) for item in self.buffer) > _LARGE
        return {
            "key": self.key,
            "epoch": self.epoch,
            "drawn": self.drawn,
            "filled": self.filled,
            "start": self._start,
            "buffer": None if large else self.saved(self.buffer),
        }

    def set_saved_position(self, saved_position: Any) -> None:
        self.key, self.epoch = saved_position["key"], saved_position["epoch"]
        self._draws = Draws(self.key, self.epoch)
        self._start = saved_position["start"]
        self.counted(saved_position["drawn"], self.source.most())
        if saved_position["buffer"] is not None:
            self.drawn, self.filled = saved_position["drawn"], saved_position["filled"]
            self.buffer = self.loaded(saved_position["buffer"])
            return
        self.source.load(self._start)
        self.drawn, self.filled, self.buffer = 0, False, []
        if saved_position["filled"]:
            self._fill()
        while self.drawn < saved_position["drawn"]:
            if not self.pull(min(BLOCK, saved_position["drawn"] - self.drawn)):
                raise ValueError(f"{saved_position['drawn']} draws of {self.drawn} elements")

    def parameters(self) -> Sequence[Any]:
        return [self.size, self.seeded, self.reshuffle]


class Cache(_Picking):
    """Keeps the items of the first pass in memory.

    The kept items are not part of a saved position: a restore repeats the first pass.
    """

    kind = "cache"

    def __init__(self, source: Stage) -> None:
        super().__init__(source)
        self.kept: list[Item] = []
        self.complete = False
        self.position = 0
        self._start: Any = None  # of the input, before the first pull

    def pull(self, count: int) -> Sequence[Item]:
        if not self.complete and self.position == len(self.kept):
            self._fetch(count)
        found = self.kept[self.position : self.position + count]
        self.position += len(found)
        if len(found) < count and not self.complete:
            return [*found, *self.pull(count - len(found))]
        return found

    def _fetch(self, count: int) -> None:
        if self._start is None:
            self._start = self.source.save()
        items = self.source.pull(count)
        self.kept.extend(items)
        self.complete = len(items) < count

    def rewind(self) -> None:
        self.position = 0  # the first pass goes on where it was

    def saved_position(self) -> Any:
        return [self.position, len(self.kept), self.complete, self._start]

    def set_saved_position(self, saved_position: Any) -> None:
        self.position, count, complete, start = saved_position
        self.counted(self.position, self.counted(count, self.source.most()))
        self.kept, self.complete = [], False
        self._start = start
        if start is not None:
            self.source.load(start)
            self._fetch(count + complete)
        if not 0 <= self.position <= len(self.kept):
            raise ValueError(f"{self.position} of {len(self.kept)} kept elements")


class Zip(Stage):
    """One element of each input side by side, until the first ends."""

    kind = "zip"
    first = False  # whether it has ended

    def pull(self, count: int) -> Sequence[Item]:
        if self.position or not count:
            return []
        requested = count
        columns: list[list[Element]] = []
        for stage in self.inputs:
            columns.append(stage.elements(count))
            if count < requested:  # one before has ended: a cache behind that is as long ends, too
                with contextlib.suppress(errors.OpError):
                    stage.elements(1)
            count = len(columns[-1])
        self.position = count < requested
        return [[v for part in (c[i] for c in columns) for v in part] for i in range(count)]

    def most(self) -> int | None:
        known = [most for stage in self.inputs if (most := stage.most()) is not None]
        return min(known, default=None)


def zipped(stages: Sequence[Stage]) -> Stage:
    """Zip; of arrays that nothing has picked from yet, one table."""
    if not all(isinstance(stage, Slices) for stage in stages):
        return Zip(*stages)
    length = min(stage.length for stage in stages if isinstance(stage, Slices))
    return Slices([column[:length] for stage in stages for column in stage.table or ()])


class Concatenate(Stage):
    """One input after the other."""

    kind = "concatenate"
    first = 0  # the input's number

    def pull(self, count: int) -> Sequence[Item]:
        found: list[Element] = []
        while self.position < len(self.inputs) and len(found) < count:
            found += self.inputs[self.position].elements(count - len(found))
            self.position += len(found) < count
        return found

    def most(self) -> int | None:
        parts = [stage.most() for stage in self.inputs]
        return None if None in parts else sum(part or 0 for part in parts)

    def set_saved_position(self, saved_position: Any) -> None:
        self.position = self.counted(saved_position, len(self.inputs))
