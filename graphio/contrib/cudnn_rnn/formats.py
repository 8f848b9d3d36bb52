"""cuDNN's weights as one vector, and as the variables of cells.

cuDNN keeps the parameters of a net in one opaque vector. Here it consists of all matrices, then all
biases, each in rows: of every layer and direction the matrices of inputs for each gate, those of
the state for each gate, and the projection if there is one; likewise two biases for each gate. The
cells' variables have one bias, the sum of both; back from it, each of the two is its half.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from graphio.contrib.cudnn_rnn.layers import (
    CudnnGRU,
    CudnnLSTM,
    CudnnRNNRelu,
    CudnnRNNTanh,
    checked_net,
    prefixes,
)
from graphio.framework.constants import convert_to_tensor, placeholder
from graphio.framework.graph import Tensor
from graphio.framework.saved_parts import SavedParts
from graphio.ops.array import surface as array
from graphio.variables.variable_scope import VariableScope
from graphio.variables.variables import assign

__all__ = [
    "CudnnGRUSaveable",
    "CudnnLSTMSaveable",
    "CudnnParamsFormatConverterGRU",
    "CudnnParamsFormatConverterLSTM",
    "CudnnParamsFormatConverterRelu",
    "CudnnParamsFormatConverterTanh",
    "CudnnRNNReluSaveable",
    "CudnnRNNTanhSaveable",
]


class _Part(NamedTuple):
    """A variable of a cell, and its bias.

    Attributes:
        gates: the numbers of cuDNN's gates in it, in its order.
        of: 0 for the weights of inputs, 1 for those of the state, or both, one above the other.
    """

    gates: tuple[int, ...]
    of: tuple[int, ...] = (0, 1)


class _Converter:
    """Converts between cuDNN's opaque vector and the variables of cells.

    Args:
        num_layers: number of layers.
        num_units: size of a state.
        input_size: depth of the inputs.
        num_proj: depth of the projected states; None or 0: they are not projected.
        input_mode: "linear_input", or "auto_select" where input_size is not num_units.
        direction: "unidirectional" or "bidirectional".

    Raises:
        ValueError: an argument has another value.
    """

    _parts: tuple[_Part, ...]

    def __init__(
        self,
        num_layers: int,
        num_units: int,
        input_size: int,
        num_proj: int | None = None,
        input_mode: str = "linear_input",
        direction: str = "unidirectional",
    ) -> None:
        self._directions = checked_net(input_mode, direction, input_size, num_units)
        self._num_layers, self._num_units = num_layers, num_units
        self._input_size, self._num_proj = input_size, num_proj or 0
        self._gates = 1 + max(gate for part in self._parts for gate in part.gates)

    # ---- sizes ----

    def _widths(self, cell: int) -> tuple[int, int]:
        """The depths of a cell's inputs and state; cells count over layers and directions."""
        state = self._num_proj or self._num_units
        first = cell < self._directions
        return (self._input_size if first else state * self._directions), state

    def _cells(self) -> range:
        return range(self._num_layers * self._directions)

    def _shapes(self) -> tuple[list[list[int]], list[list[int]]]:
        """The shapes of cuDNN's matrices and biases."""
        n, matrices = self._num_units, []
        for cell in self._cells():
            for width in self._widths(cell):
                matrices += [[n, width]] * self._gates
            if self._num_proj:
                matrices.append([self._num_proj, n])
        return matrices, [[n]] * (2 * self._gates * len(self._cells()))

    # ---- conversions ----

    def opaque_to_tf_canonical(self, opaque_param: Any) -> tuple[list[Tensor], ...]:
        """The matrices and the biases of cells, and the projections if there are some.

        Args:
            opaque_param: the vector.

        Raises:
            ValueError: it is known to have another length.
        """
        given = convert_to_tensor(opaque_param)
        shapes = self._shapes()
        sizes = [math.prod(shape) for shape in (*shapes[0], *shapes[1])]
        if not given.shape.is_compatible_with([sum(sizes)]):
            raise ValueError(
                f"opaque_param has shape {given.shape}, expected ({sum(sizes)},): the parameters "
                f"of {len(self._cells())} cells of {self._num_units} units"
            )
        pieces = array.split(given, sizes)
        found = iter(
            array.reshape(piece, shape)
            for piece, shape in zip(pieces, (*shapes[0], *shapes[1]), strict=True)
        )
        weights: list[Tensor] = []
        projections: list[Tensor] = []
        for _ in self._cells():
            weights += self._weights(self._take(found))
            if self._num_proj:
                projections.append(array.transpose(next(found)))
        biases = [one for _ in self._cells() for one in self._biases(self._take(found))]
        return (weights, biases, projections) if self._num_proj else (weights, biases)

    def tf_canonical_to_opaque(self, tf_canonicals: Sequence[Any], weights_proj: Any = None) -> Any:
        """The vector of cells' parameters.

        Args:
            tf_canonicals: all matrices, then all biases, as opaque_to_tf_canonical gives them.
            weights_proj: the projections, one for each cell; None: there are none.

        Raises:
            ValueError: there are more or less.
        """
        expected = 2 * len(self._parts) * len(self._cells())
        given = [convert_to_tensor(one) for one in tf_canonicals]
        if len(given) != expected:
            raise ValueError(
                f"tf_canonicals has {len(given)} tensors, expected {expected}: of each of "
                f"{len(self._cells())} cells the matrices, then of each the biases"
            )
        projections = [] if weights_proj is None else list(weights_proj)
        needed = len(self._cells()) if self._num_proj else 0
        if len(projections) != needed:
            raise ValueError(
                f"weights_proj has {len(projections)} tensors, expected {needed}: num_proj is "
                f"{self._num_proj}, and there are {len(self._cells())} cells"
            )
        count = len(self._parts)
        matrices: list[Any] = []
        biases: list[Any] = []
        for cell in self._cells():
            start = cell * count
            matrices += self._matrices(cell, given[start : start + count])
            if projections:
                matrices.append(array.transpose(projections[cell]))
            start += expected // 2
            biases += self._halves(given[start : start + count])
        return array.concat([array.reshape(one, [-1]) for one in (*matrices, *biases)], 0)

    def _take(self, found: Iterator[Any]) -> list[list[Any]]:
        """Of each gate what belongs to inputs, and what to the state."""
        return [[next(found) for _ in range(self._gates)] for _ in range(2)]

    def _weights(self, given: list[list[Any]]) -> list[Any]:
        return [
            array.transpose(
                array.concat(
                    [array.concat([given[i][gate] for i in part.of], 1) for gate in part.gates], 0
                )
            )
            for part in self._parts
        ]

    def _biases(self, given: list[list[Any]]) -> list[Any]:
        found = []
        for part in self._parts:
            joined = [array.concat([given[i][gate] for gate in part.gates], 0) for i in part.of]
            found.append(joined[0] + joined[1] if len(joined) == 2 else joined[0])
        return found

    def _matrices(self, cell: int, given: Sequence[Any]) -> list[Any]:
        widths = self._widths(cell)
        made: dict[tuple[int, int], Any] = {}
        for part, weights in zip(self._parts, given, strict=True):
            rows = array.split(array.transpose(weights), len(part.gates), axis=0)
            for gate, row in zip(part.gates, rows, strict=True):
                columns = array.split(row, [widths[i] for i in part.of], axis=1)
                made.update(zip([(i, gate) for i in part.of], columns, strict=True))
        return [made[i, gate] for i in range(2) for gate in range(self._gates)]

    def _halves(self, given: Sequence[Any]) -> list[Any]:
        made: dict[tuple[int, int], Any] = {}
        for part, bias in zip(self._parts, given, strict=True):
            share = bias * 0.5 if len(part.of) == 2 else bias
            for gate, one in zip(part.gates, array.split(share, len(part.gates)), strict=True):
                made.update({(i, gate): one for i in part.of})
        return [made[i, gate] for i in range(2) for gate in range(self._gates)]


class CudnnParamsFormatConverterLSTM(_Converter):
    """Converts between cuDNN's opaque vector and the variables of CudnnCompatibleLSTMCell.

    Args, methods and errors: num_layers, num_units, input_size, num_proj, input_mode and direction
    describe the net. The layout of the vector is that of the module's head.
    """

    _parts = (_Part((0, 2, 1, 3)),)  # cuDNN has the forget gate before the new values


class CudnnParamsFormatConverterGRU(_Converter):
    """As CudnnParamsFormatConverterLSTM, for CudnnCompatibleGRUCell."""

    _parts = (_Part((0, 1)), _Part((2,), (0,)), _Part((2,), (1,)))


class CudnnParamsFormatConverterTanh(_Converter):
    """As CudnnParamsFormatConverterLSTM, for the BasicRNNCell of tanh."""

    _parts = (_Part((0,)),)


class CudnnParamsFormatConverterRelu(CudnnParamsFormatConverterTanh):
    """As CudnnParamsFormatConverterLSTM, for the BasicRNNCell of relu."""


# ---- in checkpoints ----


class _Saveable(SavedParts):
    """An opaque vector that checkpoints have as the variables of cells.

    Args:
        opaque_params: the variable.
        num_layers, num_units, input_size, input_mode, direction: as the converter's.
        scope: a name or VariableScope that the names in checkpoints begin with; None: none.
        name: of the object.
    """

    _converter: type[_Converter]
    _net: Any

    def __init__(
        self,
        opaque_params: Any,
        num_layers: int,
        num_units: int,
        input_size: int,
        input_mode: str = "linear_input",
        direction: str = "unidirectional",
        scope: Any = None,
        name: str = "cudnn_rnn_saveable",
    ) -> None:
        self.name = name
        self._variable = opaque_params
        self._format = self._converter(
            num_layers, num_units, input_size, input_mode=input_mode, direction=direction
        )
        scope_name = scope.name if isinstance(scope, VariableScope) else scope
        self.saved_name = f"{scope_name}/" if scope_name else ""
        weights, biases = self._format.opaque_to_tf_canonical(opaque_params)
        self._tensors = [*weights, *biases]
        cells = [
            (prefix, self._net._cell(num_units).cudnn_weights(input_size, num_units))
            for k in range(num_layers)
            for prefix in prefixes(self._net._cell_name, k, direction)
        ]
        self._names = [
            f"{prefix}/{one.name}"
            for matrices in (True, False)
            for prefix, variables in cells
            for one in variables
            if bool(one.rows) == matrices
        ]
        self._fed = [placeholder(t.dtype, t.shape) for t in self._tensors]
        self._assigned = assign(
            opaque_params, self._format.tf_canonical_to_opaque(self._fed), validate_shape=False
        )

    @property
    def format_converter(self) -> _Converter:
        """The converter between the vector and the cells' variables."""
        return self._format

    def declared(self) -> Mapping[str, tuple[int, Sequence[int | None]]]:
        """The cells' variables: name to dtype and shape."""
        return {
            name: (t.dtype.number, t.shape.as_list())
            for name, t in zip(self._names, self._tensors, strict=True)
        }

    def arrays(self, session: Any) -> list[np.ndarray[Any, Any]]:
        """The values of the cells' variables."""
        found: list[np.ndarray[Any, Any]] = session.run(self._tensors)
        return found

    def load(self, session: Any, arrays: Sequence[Any]) -> None:
        """Assigns the vector of these values."""
        session.run(self._assigned, dict(zip(self._fed, arrays, strict=True)))

    def snapshot(self, session: Any) -> Callable[[], None]:
        """A function that assigns the values of now again, if there are some."""
        state, name = session.state, self._variable.op.name
        if name not in state.names() or not state.initialized(name):
            return lambda: None
        before = self.arrays(session)
        return lambda: self.load(session, before)


class CudnnLSTMSaveable(_Saveable):
    """The opaque vector of CudnnLSTM in checkpoints, as the cells' variables.

    Give it to tf.train.Saver, or add it to the collection SAVEABLE_OBJECTS.

    Args:
        opaque_params: the variable.
        num_layers, num_units, input_size, input_mode, direction: of the net.
        scope: a name or VariableScope that the names in checkpoints begin with; None: none.
        name: of the object.
    """

    _converter, _net = CudnnParamsFormatConverterLSTM, CudnnLSTM


class CudnnGRUSaveable(_Saveable):
    """As CudnnLSTMSaveable, of CudnnGRU."""

    _converter, _net = CudnnParamsFormatConverterGRU, CudnnGRU


class CudnnRNNTanhSaveable(_Saveable):
    """As CudnnLSTMSaveable, of CudnnRNNTanh."""

    _converter, _net = CudnnParamsFormatConverterTanh, CudnnRNNTanh


class CudnnRNNReluSaveable(_Saveable):
    """As CudnnLSTMSaveable, of CudnnRNNRelu."""

    _converter, _net = CudnnParamsFormatConverterRelu, CudnnRNNRelu
