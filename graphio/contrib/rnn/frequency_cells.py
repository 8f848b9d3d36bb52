"""LSTMs over time and over bands of frequencies of their inputs."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Sequence
from typing import Any

from graphio.contrib.rnn.base import Cell, depth_of, limited, sharded
from graphio.ops.array import surface as array
from graphio.ops.linalg import matmul
from graphio.ops.math.elementwise import sigmoid, tanh
from graphio.ops.nn import core as nn
from graphio.variables import initializers
from graphio.variables.variable_scope import variable_scope

__all__ = ["BidirectionalGridLSTMCell", "GridLSTMCell", "TimeFreqLSTMCell"]


def _bands(inputs: Any, starts: Sequence[int], size: int) -> list[Any]:
    return [inputs[:, start : start + size] for start in starts]


def _zeros(x: Any, size: int) -> Any:
    batch = x.shape[0].value
    return array.zeros([array.shape(x)[0] if batch is None else batch, size], x.dtype)


def _affine(cell: Cell, name: str, number: str, shape: list[int], shards: int) -> tuple[Any, Any]:
    """A matrix "W..." and a bias "B..."."""
    zeros = initializers.zeros_initializer()
    kernel = sharded(cell, f"W{name}{number}", shape, shards)
    return kernel, cell.variable(f"B{name}{number}", shape[1:], cell.dtype, initializer=zeros)


def _gates(x: Any, weights: tuple[Any, Any], letters: str) -> dict[str, Any]:
    kernel, bias = weights
    made = nn.bias_add(matmul.matmul(x, kernel), bias)
    return dict(zip(letters, array.split(made, len(letters), axis=1), strict=True))


class TimeFreqLSTMCell(Cell):
    """An LSTM that goes over bands of frequencies in each step of time (Li et al., 2015).

    Args:
        num_units: size of c and h of a band.
        use_peepholes: True lets the gates see c.
        cell_clip: c is limited to this; None: it is not.
        initializer: accepted, without an effect, as in TensorFlow: the scope's is used.
        num_unit_shards: number of variables that W consists of.
        forget_bias: added to the forget gate.
        feature_size: size of a band.
        frequency_skip: from the start of a band to that of the next.
        reuse: True takes the variables of the scope.

    As in TensorFlow, output_size and state_size are those of one band, 1 and 2 num_units, while
    outputs and states have all bands; an initial state has to be given.

    Variables: W_0 and so on (feature_size + 2 n, 4 n), B (4 n); W_F_diag, W_I_diag, W_O_diag (n).
    """

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        cell_clip: float | None = None,
        initializer: Any = None,
        num_unit_shards: int = 1,
        forget_bias: float = 1.0,
        feature_size: int | None = None,
        frequency_skip: int = 1,
        reuse: Any = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units, self._peepholes = num_units, use_peepholes
        self._cell_clip, self._forget_bias = cell_clip, forget_bias
        self._shards = num_unit_shards
        self._band = _required(feature_size, "feature_size"), frequency_skip

    @property
    def state_size(self) -> Any:
        """That of one band."""
        return 2 * self._num_units

    @property
    def output_size(self) -> Any:
        """That of one band."""
        return self._num_units

    def call(self, inputs: Any, state: Any) -> Any:
        """Builds the step."""
        n, (size, skip), kind = self._num_units, self._band, inputs.dtype
        count = (depth_of(inputs) - size) // skip + 1
        weights = _affine(self, "", "", [size + 2 * n, 4 * n], self._shards)
        seen = {}
        if self._peepholes:
            seen = {gate: self.variable(f"W_{gate}_diag", [n], kind) for gate in "FIO"}
        h, outputs, following = _zeros(inputs, n), [], []
        for k, band in enumerate(_bands(inputs, range(0, count * skip, skip), size)):
            c, before = (state[:, at : at + n] for at in (2 * k * n, (2 * k + 1) * n))
            joined = array.concat([band, before, h], 1)
            i, j, f, o = _gates(joined, weights, "ijfo").values()
            f = f + self._forget_bias
            if seen:
                f, i = f + seen["F"] * c, i + seen["I"] * c
            c = limited(sigmoid(f) * c + sigmoid(i) * tanh(j), self._cell_clip)
            h = sigmoid(o + seen["O"] * c if seen else o) * tanh(c)
            outputs.append(h)
            following += [c, h]
        return array.concat(outputs, 1), array.concat(following, 1)


def _required(value: int | None, name: str) -> int:
    if value is None:
        raise ValueError(f"{name} is None, expected an integer of 1 or more")
    return value


class GridLSTMCell(Cell):
    """A grid LSTM over time and frequency (Kalchbrenner et al., 2015; Li and Sainath, 2016).

    Args:
        num_units: size of c and h of a band.
        use_peepholes: True lets the gates see both c.
        share_time_frequency_weights: whether time and frequency have the same weights.
        cell_clip: c is limited to this; None: it is not.
        initializer: accepted, without an effect, as in TensorFlow: the scope's is used.
        num_unit_shards: number of variables that a matrix consists of.
        forget_bias: added to the forget gates.
        feature_size: size of a band.
        frequency_skip: from the start of a band to that of the next.
        num_frequency_blocks: list of the number of bands of each block.
        start_freqindex_list, end_freqindex_list: the first column of each block and the one after
            its last; None: there is one block, of all columns.
        couple_input_forget_gates: whether a forget gate is one minus the input gate.
        state_is_tuple: False joins the state into one tensor.
        reuse: True takes the variables of the scope.

    Variables, with the number k of the block: W_f_k_0 and so on, B_f_k, W_t_k_0 and so on, B_t_k;
    with peepholes W_F_diag_freqf_k and others.

    Raises:
        ValueError: num_frequency_blocks is missing, or does not fit the inputs.
    """

    _directions: tuple[str, ...] = ("",)

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        share_time_frequency_weights: bool = False,
        cell_clip: float | None = None,
        initializer: Any = None,
        num_unit_shards: int = 1,
        forget_bias: float = 1.0,
        feature_size: int | None = None,
        frequency_skip: int | None = None,
        num_frequency_blocks: Sequence[int] | None = None,
        start_freqindex_list: Sequence[int] | None = None,
        end_freqindex_list: Sequence[int] | None = None,
        couple_input_forget_gates: bool = False,
        state_is_tuple: bool = True,
        reuse: Any = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        if num_frequency_blocks is None:
            raise ValueError("Must specify num_frequency_blocks")
        self._num_units, self._peepholes = num_units, use_peepholes
        self._shares, self._couples = share_time_frequency_weights, couple_input_forget_gates
        self._cell_clip, self._forget_bias = cell_clip, forget_bias
        self._shards, self._blocks = num_unit_shards, [int(b) for b in num_frequency_blocks]
        self._band = _required(feature_size, "feature_size"), frequency_skip
        self._bounds = start_freqindex_list, end_freqindex_list
        self._tuple = self._tuple_type() if state_is_tuple else None

    def _tuple_type(self) -> Any:
        fields = [
            f"{way}state_f{band:02d}_b{block:02d}_{part}"
            for way in self._directions
            for block, count in enumerate(self._blocks)
            for band in range(count)
            for part in "cm"
        ]
        name = type(self).__name__.replace("Cell", "StateTuple")
        return namedtuple(name, fields)

    @property
    def state_tuple_type(self) -> Any:
        """The class of the state; None where it is one tensor."""
        return self._tuple

    @property
    def state_size(self) -> Any:
        """A tuple of the sizes, or their sum."""
        parts = 2 * len(self._directions) * sum(self._blocks)
        return self._tuple(*[self._num_units] * parts) if self._tuple else self.output_size

    @property
    def output_size(self) -> Any:
        """2 num_units for each band and direction."""
        return 2 * len(self._directions) * self._num_units * sum(self._blocks)

    def call(self, inputs: Any, state: Any) -> Any:
        """Builds the step."""
        outputs, following = self._over_blocks(self._features(inputs), state, "")
        joined = self._tuple(*following) if self._tuple else array.concat(following, 1)
        return array.concat(outputs, 1), joined

    def _over_blocks(self, blocks: Any, state: Any, way: str) -> tuple[list[Any], list[Any]]:
        outputs, following = [], []
        for block, bands in enumerate(blocks):
            grid = _Grid(self, bands[0], block)
            for k, band in enumerate(bands):
                c, h = self._of_band(state, f"{way}state_f{k:02d}_b{block:02d}", k)
                c, h = grid.step(band, c, h)
                following += [c, h]
                outputs += [h, grid.h]
        return outputs, following

    def _of_band(self, state: Any, name: str, k: int) -> tuple[Any, Any]:
        if self._tuple:
            return getattr(state, name + "_c"), getattr(state, name + "_m")
        n = self._num_units
        return state[:, 2 * k * n : (2 * k + 1) * n], state[:, (2 * k + 1) * n : (2 * k + 2) * n]

    def _features(self, inputs: Any, offset: int = 0) -> list[list[Any]]:
        """The bands of each block, which begin offset columns later."""
        depth, (size, skip) = depth_of(inputs), self._band
        if offset:
            inputs = array.pad(inputs, [[0, 0], [max(-offset, 0), max(offset, 0)]])
        starts, ends = self._bounds
        if not starts:
            starts, ends = [0], [depth]
        if ends is None or not len(starts) == len(ends) == len(self._blocks):
            raise ValueError(
                f"num_frequency_blocks has {len(self._blocks)} blocks, start_freqindex_list "
                f"{len(starts)} and end_freqindex_list {len(ends or ())}; expected the same number"
            )
        found = []
        for start, end, expected in zip(starts, ends, self._blocks, strict=True):
            step = _required(skip, "frequency_skip")
            count = (end - start - size) // step + 1
            if count != expected:
                raise ValueError(
                    f"Invalid num_frequency_blocks, requires {expected} but gets {count}, please "
                    "check the input size and filter config are correct."
                )
            first = start + max(offset, 0)
            found.append(_bands(inputs, range(first, first + count * step, step), size))
        return found


class _Grid:
    """The weights of a block, and the state that goes from band to band.

    Args:
        cell: has the variables.
        band: one of the block's.
        block: its number.
    """

    def __init__(self, cell: GridLSTMCell, band: Any, block: int) -> None:
        self._cell = cell
        n = cell._num_units
        self._letters = "ijo" if cell._couples else "ijfo"
        self._ways = ("f",) if cell._shares else ("f", "t")
        shape = [depth_of(band) + 2 * n, len(self._letters) * n]
        self._weights = {
            way: _affine(cell, f"_{way}", f"_{block}", shape, cell._shards) for way in self._ways
        }
        axes = ("freq",) if cell._shares else ("freq", "time")
        letters = ("IO" if cell._couples else "FIO") if cell._peepholes else ""
        self._seen = {
            (letter, axis): [
                cell.variable(f"W_{letter}_diag_{axis}{of}_{block}", [n], band.dtype) for of in "ft"
            ]
            for axis in axes
            for letter in letters
        }
        self._axis_of_time = axes[-1]
        self.c, self.h = _zeros(band, n), _zeros(band, n)

    def step(self, band: Any, c: Any, h: Any) -> tuple[Any, Any]:
        """The next state of the band in time; that of the frequencies is kept."""
        joined = array.concat([band, h, self.h], 1)
        gates = {way: _gates(joined, self._weights[way], self._letters) for way in self._ways}
        of_frequency, of_time = gates["f"], gates[self._ways[-1]]
        both, time = (self.c, c), self._axis_of_time
        new_f = self._new_c(of_frequency, self.c, both, "freq")
        new_t = self._new_c(of_time, c, both, time)
        self.c, both = new_f, (new_f, new_t)
        self.h = sigmoid(self._gate(of_frequency["o"], "O", both, "freq")) * tanh(new_f)
        return new_t, sigmoid(self._gate(of_time["o"], "O", both, time)) * tanh(new_t)

    def _gate(self, gate: Any, letter: str, both: tuple[Any, Any], axis: str) -> Any:
        """A gate that sees the c of the frequencies and that of time."""
        for weight, c in zip(self._seen.get((letter, axis), ()), both, strict=False):
            gate = gate + weight * c
        return gate

    def _new_c(self, gates: dict[str, Any], c: Any, both: tuple[Any, Any], axis: str) -> Any:
        i = sigmoid(self._gate(gates["i"], "I", both, axis))
        if self._cell._couples:
            f = 1.0 - i
        else:
            f = sigmoid(self._gate(gates["f"] + self._cell._forget_bias, "F", both, axis))
        return limited(f * c + i * tanh(gates["j"]), self._cell._cell_clip)


class BidirectionalGridLSTMCell(GridLSTMCell):
    """A GridLSTMCell that goes over the frequencies in both directions, with weights for each.

    Args: as GridLSTMCell's, without state_is_tuple, and
        backward_slice_offset: columns by which the bands of the other direction begin later.

    The scopes "fwd" and "bwd" have the variables.
    """

    _directions = ("fwd_", "bwd_")

    def __init__(
        self,
        num_units: int,
        use_peepholes: bool = False,
        share_time_frequency_weights: bool = False,
        cell_clip: float | None = None,
        initializer: Any = None,
        num_unit_shards: int = 1,
        forget_bias: float = 1.0,
        feature_size: int | None = None,
        frequency_skip: int | None = None,
        num_frequency_blocks: Sequence[int] | None = None,
        start_freqindex_list: Sequence[int] | None = None,
        end_freqindex_list: Sequence[int] | None = None,
        couple_input_forget_gates: bool = False,
        backward_slice_offset: int = 0,
        reuse: Any = None,
    ) -> None:
        super().__init__(
            num_units, use_peepholes, share_time_frequency_weights, cell_clip, initializer,
            num_unit_shards, forget_bias, feature_size, frequency_skip, num_frequency_blocks,
            start_freqindex_list, end_freqindex_list, couple_input_forget_gates, reuse=reuse,
        )  # fmt: skip
        self._offset = int(backward_slice_offset)

    def call(self, inputs: Any, state: Any) -> Any:
        """Builds the step."""
        there = self._features(inputs)
        back = [bands[::-1] for bands in self._features(inputs, self._offset)]
        outputs, following = [], []
        for way, blocks in (("fwd", there), ("bwd", back)):
            with variable_scope(way):
                made, after = self._over_blocks(blocks, state, f"{way}_")
            outputs += made
            following += after
        assert self._tuple is not None
        return array.concat(outputs, 1), self._tuple(*following)
