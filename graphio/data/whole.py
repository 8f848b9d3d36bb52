"""Functions that run a complete dataset at once: reduce, get_single_element."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any

from graphio.data import graphs, saving, structure, variables
from graphio.data.dataset import Dataset
from graphio.data.function import Function, Opening, Runner
from graphio.data.structure import Spec
from graphio.data.writing import TFRecordOptions
from graphio.data.writing import TFRecordWriter as _Writer
from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Operation, Tensor
from graphio.ops.base.host import host_call
from graphio.support import api_guard, errors


def reduced(dataset: Dataset, initial_state: Any, reduce_func: Any, name: str | None) -> Any:
    """See Dataset.reduce."""
    graphs.check(dataset)
    specs, leaves = structure.of_values(initial_state, "reduce")
    states = [convert_to_tensor(leaf) for leaf in leaves]
    function = state_function(reduce_func, specs, dataset, "reduce")
    result = structure.flatten(function.specs)
    tensors = list(dict.fromkeys([*dataset.captures, *function.captures]))
    touched = variables.merged([dataset.touched, function.touched])

    def run(opening: Opening, state: Any) -> Any:
        stage, step = dataset.open(opening), opening.load(function)
        try:
            while elements := stage.elements(1):
                opening.runner.check_open()
                state = step(state, elements[0])
        finally:
            stage.close()
        return state

    shapes = [structure.common_shape(s.shape, t.shape) for s, t in zip(result, states, strict=True)]
    outputs = [(t.dtype, s) for t, s in zip(states, shapes, strict=True)]
    made = opened(touched, tensors, run, states, outputs, "ReduceDataset", name)
    return structure.element_of(specs, made.outputs)


def opened(
    touched: variables.Touched,
    tensors: Sequence[Tensor],
    work: Callable[[Opening, Any], Any],
    inputs: Sequence[Tensor],
    outputs: Sequence[Any],
    kind: str,
    name: str | None = None,
) -> Operation:
    """An operation that works on a pipeline in one run.

    Args:
        touched: variables that functions of the pipeline read or assign.
        tensors: what the pipeline captures.
        work: from what a pipeline is opened with, and the values of inputs, to those of outputs.
        kind: the operation's type in TensorFlow, and its name if name is None.
    """

    def bind(session: Any) -> Any:
        runner, alive = Runner(session), weakref.ref(session)

        def run(values: Any) -> Any:
            captured, own = values[: len(tensors)], values[len(tensors) :]
            opening = Opening(runner, dict(zip(tensors, captured, strict=True)))
            own, given = own[: len(inputs)], own[len(inputs) :]
            return variables.exchange(
                alive(), touched, opening.shared, given, lambda: work(opening, own)
            )

        return run

    return variables.called(
        touched,
        lambda reads, outputs, node: host_call(
            bind, [*tensors, *inputs, *reads], outputs, function=kind, name=node, tf_type=kind
        ),
        outputs,
        name or kind,
        kind,
    )


def state_function(reduce_func: Any, specs: Any, dataset: Dataset, what: str) -> Function:
    """The function of a state and an element, with the state's shapes as open as they must be.

    Raises:
        TypeError: it gives another structure or dtype than the state's.
        InvalidArgumentError: it gives no tensors.
    """
    while True:
        function = Function(reduce_func, [specs, dataset.element_specs], what, arguments=True)
        found = function.specs[0] if what == "scan" else function.specs
        if not function.outputs:
            raise errors.InvalidArgumentError(message=f"{what}: the function gives no tensors")
        if function.dataset is not None:
            raise TypeError(f"{what}: the function returned a dataset, expected the next state")
        wider = structure.common(specs, found, f"{what}: the next state")
        same = [
            a.shape == b.shape or str(a.shape) == str(b.shape)
            for a, b in zip(structure.flatten(specs), structure.flatten(wider), strict=True)
        ]
        if all(same):
            return function
        specs = wider


@api_guard.guarded
def get_single_element(dataset: Dataset) -> Any:
    """The only element of a dataset: tensors to be run.

    Raises:
        ValueError: the dataset is of another graph than the default one.

    Raises, when run:
        InvalidArgumentError: there is none, or there are several.
    """
    graphs.check(dataset)

    def run(opening: Opening, _: Any) -> Any:
        stage = dataset.open(opening)
        try:
            found = stage.elements(2)
        finally:
            stage.close()
        if len(found) != 1:
            some = "more than one element" if found else "an empty dataset"
            raise errors.InvalidArgumentError(message=f"get_single_element: Dataset was {some}")
        return list(map(saving.encoded, found[0]))

    outputs = [(s.dtype, s.shape) for s in structure.flatten(dataset.element_specs)]
    tensors = list(dataset.captures)
    made = opened(dataset.touched, tensors, run, [], outputs, "DatasetToSingleElement")
    return structure.element_of(dataset.element_specs, made.outputs)


class TFRecordWriter:
    """Writes a dataset of strings to a TFRecord file; for single records see tf.python_io.

    Args:
        filename: of the file: a string, or a scalar string tensor.
        compression_type: "", "GZIP" or "ZLIB".
    """

    def __init__(self, filename: Any, compression_type: Any = None) -> None:
        self._filename = convert_to_tensor(filename, dtypes.string)
        self._kind = TFRecordOptions.get_compression_type_string(compression_type)

    def write(self, dataset: Dataset) -> Operation:
        """An operation that writes all elements.

        Raises:
            TypeError: an element is something else than one scalar string.
            ValueError: the dataset is of another graph than the default one.
        """
        if not isinstance(dataset, Dataset):
            raise TypeError(f"TFRecordWriter: expected a tf.data.Dataset, got {dataset!r}")
        graphs.check(dataset)
        spec = dataset.element_specs
        if not isinstance(spec, Spec) or spec.dtype != dtypes.string or spec.shape.ndims:
            raise TypeError(
                f"TFRecordWriter: elements must be scalar strings, they are {dataset.output_types}"
            )
        kind = self._kind

        def run(opening: Opening, values: Any) -> Any:
            stage = dataset.open(opening)
            try:
                with _Writer(bytes(values[0][()]).decode(), kind) as writer:
                    while elements := stage.elements(1):
                        opening.runner.check_open()
                        writer.write(elements[0][0][()])
            finally:
                stage.close()
            return []

        tensors, inputs = list(dataset.captures), [self._filename]
        return opened(dataset.touched, tensors, run, inputs, [], "DatasetToTFRecord")
