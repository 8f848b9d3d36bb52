"""tf.data.Dataset: a pipeline before it runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from graphio.data import (
    arguments,
    elements,
    graphs,
    records,
    stages,
    structure,
    threads,
    variables,
)
from graphio.data.arguments import AUTOTUNE
from graphio.data.caching import FileCache
from graphio.data.function import Function, Opening
from graphio.data.generators import Generator
from graphio.data.methods import Methods
from graphio.data.options import Options
from graphio.data.padding import Padding
from graphio.data.stages import Stage
from graphio.data.structure import Spec
from graphio.engine.pickling import Unpicklable
from graphio.framework import api_boundary, dtypes, scopes, source
from graphio.framework.graph import Tensor
from graphio.framework.sparse_tensor import SparseTensor
from graphio.framework.tensor_shape import TensorShape
from graphio.support import errors
from graphio.variables.variables import variables_of

__all__ = ["AUTOTUNE", "Dataset", "Options"]

Array = np.ndarray[Any, Any]
Opener = Callable[[Opening], Stage]
_SAME: Any = object()  # specs of elements as they were; None is what elements can be


class Dataset(Methods, Unpicklable):
    """A sequence of elements, each a tensor, a tuple or a dict of tensors, nested as you like.

    Datasets are made by from_tensor_slices and the other sources and by transformations, which
    give a new dataset and leave the old one as it is. Elements come through an iterator. The `name`
    that a method takes is what messages of a run call the dataset.
    """

    pickling_hint = "send the function that makes it, and make it in the other process"

    def __init__(
        self,
        specs: Any,
        opener: Opener,
        inputs: Sequence[Dataset] = (),
        given: Iterable[Any] = (),
        functions: Sequence[Function] = (),
    ) -> None:
        self.element_specs = specs
        self._opener = opener
        self._options = Options()
        for dataset in inputs:
            self._options = self._options.merge(dataset._options)
        #: tensors that the pipeline reads when it is opened
        self.captures: dict[Tensor, None] = {}
        for dataset in inputs:
            self.captures.update(dataset.captures)
        leaves = list(given)
        self.graph = graphs.of_new(inputs, not leaves and not functions)
        self.captures.update(dict.fromkeys(t for t in leaves if isinstance(t, Tensor)))
        components = [leaf for leaf in leaves if structure.is_dataset(leaf)]
        for component in components:
            self.captures.update(component.captures)
        #: variables that functions read or assign
        self.touched: variables.Touched = variables.merged(
            [
                *(d.touched for d in inputs),
                *(f.touched for f in functions),
                *(c.touched for c in components),
            ]
        )
        for function in functions:
            self.captures.update(dict.fromkeys(function.captures))
        self._line = source.user_line()
        self._name: str | None = None

    def _named(self, name: str | None) -> Dataset:
        """This dataset, which messages call so."""
        self._name = name
        return self

    def open(self, opening: Opening) -> Stage:
        """The pipeline at its beginning."""
        stage = self._opener(opening)
        if stage.what == stage.kind and (self._line.file or self._name):
            name = f" {self._name!r}" if self._name else ""
            stage.what = f"{stage.kind}{name} ({self._line})"
        return stage

    def held(self, opening: Opening) -> list[Any]:
        """The elements, as a component of an element has them.

        Raises:
            ResourceExhaustedError: there are more than 262,144.
        """
        return elements.held(self.open(opening))

    # ---- the types of elements ----

    @property
    def where(self) -> str:
        """The user's line as errors write it: " (train.py:88 in build)" or ""."""
        return f" ({self._line})" if self._line.file else ""

    @property
    def dataset_spec(self) -> Spec:
        """The spec of this dataset as a component of an element."""
        return structure.dataset_spec(self.element_specs)

    def __iter__(self) -> Any:
        raise RuntimeError(
            "a dataset cannot be iterated over in Python while a graph is built: use "
            "make_one_shot_iterator().get_next() and run that"
        )

    def __len__(self) -> int:
        raise TypeError("a dataset has no len: its elements are counted by running it")

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"<{type(self).__name__} shapes: {self.output_shapes}, types: {self.output_types}>"

    # ---- sources ----

    @staticmethod
    @api_boundary.rolling_back
    def from_tensors(tensors: Any, name: str | None = None) -> Dataset:
        """A dataset of one element.

        Args:
            tensors: nested tuples and dicts of arrays, numbers, lists or tensors.
        """
        specs, leaves = structure.of_values(tensors, "from_tensors")
        made = Dataset(specs, lambda o: stages.Tensors([o.value(v) for v in leaves]), given=leaves)
        return made._named(name)

    @staticmethod
    @api_boundary.rolling_back
    def from_tensor_slices(tensors: Any, name: str | None = None) -> Dataset:
        """A dataset of the slices along the first dimension.

        Args:
            tensors: nested tuples and dicts of arrays, lists, tensors or SparseTensors of one
                length.

        Raises:
            ValueError: a scalar; components of different lengths.
        """
        specs, leaves = structure.of_values(tensors, "from_tensor_slices")
        lengths: dict[int, str] = {}
        for i, node in enumerate(structure.nodes(specs)):
            shape = structure.node_shape(node)
            if shape.ndims == 0:
                raise ValueError(
                    f"from_tensor_slices: component {i} is a scalar, which has no slices; use "
                    "from_tensors, or put it into a list"
                )
            size = None if shape.ndims is None else shape.as_list()[0]
            if size is not None:
                lengths.setdefault(size, f"component {i} has {size} slices")
        if len(lengths) > 1:
            raise ValueError(f"from_tensor_slices: {', '.join(lengths.values())}")
        if not leaves:
            raise ValueError("from_tensor_slices: there are no components")
        sparse = structure.sparse_offsets(specs)

        def opened(o: Opening) -> Stage:
            values = [np.asarray(o.value(v), order="C") for v in leaves]
            if sparse:
                return elements.Unbatch(stages.Tensors(values), sparse)
            return stages.Slices(values)

        return Dataset(structure.sliced(specs), opened, given=leaves)._named(name)

    @staticmethod
    @api_boundary.rolling_back
    def from_sparse_tensor_slices(sparse_tensor: Any) -> Dataset:
        """A dataset of the slices of a SparseTensor along its first dimension.

        Args:
            sparse_tensor: its elements are in ascending order of the first coordinate.

        Returns:
            Tuples of indices (n, rank - 1), values (n) and dense_shape (rank - 1).

        Raises:
            TypeError: it is not a SparseTensor.

        Raises, when run:
            UnimplementedError: the elements are in another order.
            InvalidArgumentError: its parts do not fit each other.
        """
        if not isinstance(sparse_tensor, SparseTensor):
            raise TypeError(
                "`sparse_tensor` must be a `tf.sparse.SparseTensor` object, got "
                f"{type(sparse_tensor).__name__}."
            )
        specs, leaves = structure.of_values(sparse_tensor, "from_sparse_tensor_slices")
        return Dataset(
            tuple(structure.sliced(specs)),
            lambda o: elements.SparseSlices(stages.Tensors([o.value(v) for v in leaves])),
            given=leaves,
        )

    @staticmethod
    @api_boundary.rolling_back
    def from_generator(
        generator: Callable[..., Any],
        output_types: Any = None,
        output_shapes: Any = None,
        args: Sequence[Any] | None = None,
        output_signature: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """A dataset of what a Python generator yields.

        Args:
            generator: called at each pass, with the values of args; gives an iterable.
            output_types: nested dtypes of an element.
            output_shapes: nested shapes alike; None: unknown.
            args: arrays or tensors.
            output_signature: nested TypeSpecs of an element, instead of types and shapes.
            name: of the dataset, for messages.

        Raises:
            TypeError: generator cannot be called; neither types nor a signature, or both.
        """
        if not callable(generator):
            raise TypeError("`generator` must be callable.")
        specs = Methods._signature(output_types, output_shapes, output_signature)
        leaves = [structure.of_values(a, "from_generator")[1][0] for a in args or ()]
        return Dataset(
            specs, lambda o: Generator(generator, [o.value(v) for v in leaves], specs), given=leaves
        )._named(name)

    @staticmethod
    @api_boundary.rolling_back
    def range(*args: Any, output_type: Any = dtypes.int64, name: str | None = None) -> Dataset:
        """Numbers: range(stop), range(start, stop), range(start, stop, step).

        Args:
            args: integers, or scalar integer tensors.
            output_type: dtype of the numbers.
            name: of the dataset, for messages.
        """
        if not 1 <= len(args) <= 3:
            raise ValueError(f"range takes 1 to 3 numbers, got {len(args)}")
        numbers = [arguments.number(v, "range") for v in args]
        start, stop, step = [0, *numbers, 1] if len(args) == 1 else [*numbers, 1][:3]
        dtype = dtypes.as_dtype(output_type)
        if not (dtype.is_integer or dtype.is_floating):
            raise TypeError(f"range: `output_type` is {dtype.name}, expected a type of numbers")
        return Dataset(
            Spec(dtype, TensorShape([])),
            lambda o: stages.Range(
                o.number(start), o.number(stop), o.number(step), dtype.as_numpy_dtype
            ),
            given=numbers,
        )._named(name)

    @staticmethod
    @api_boundary.rolling_back
    def zip(*args: Any, datasets: Any = None, name: str | None = None) -> Dataset:
        """One element of each dataset side by side, until the shortest ends.

        Args:
            args: a nested tuple or dict of datasets, or several such.
            datasets: the same, by name.
            name: of the dataset, for messages.

        Raises:
            TypeError: no dataset, or something else.
        """
        if bool(args) == (datasets is not None):
            raise TypeError("zip: give datasets either as arguments or as `datasets`")
        datasets = datasets if not args else args[0] if len(args) == 1 else args
        flat = structure.flatten(datasets)
        if not flat:
            raise TypeError(f"zip: there are no datasets in {datasets!r}")
        for dataset in flat:
            _checked(dataset, "zip")
        specs = structure.pack(datasets, [d.element_specs for d in flat])
        made = Dataset(specs, lambda o: stages.zipped([d.open(o) for d in flat]), flat)
        return made._named(name)

    @staticmethod
    @api_boundary.rolling_back
    def list_files(
        file_pattern: Any, shuffle: bool | None = None, seed: Any = None, name: str | None = None
    ) -> Dataset:
        """The names of the files that match.

        Args:
            file_pattern: a pattern (*, ?, [a-z]) as text or path, a list of them, or a string
                tensor.
            shuffle: None or True: in random order; False: sorted.
            seed: of the order.

        Raises, when run:
            InvalidArgumentError: no file matches; of a one-shot iterator it is OutOfRangeError.
        """
        patterns = structure.of_values(records.paths_as_strings(file_pattern), "list_files")[1][0]
        files: Dataset = Dataset(
            Spec(dtypes.string, TensorShape([])),
            lambda o: stages.Slices([records.matching(o.value(patterns), o.one_shot)]),
            given=[patterns],
        )
        return (files if shuffle is False else files.shuffle(1 << 20, seed))._named(name)

    # ---- transformations ----

    def _derived(
        self, opener: Opener, specs: Any = _SAME, given: Iterable[Any] = (), functions: Any = ()
    ) -> Dataset:
        found = self.element_specs if specs is _SAME else specs
        return Dataset(found, opener, [self], given, functions)

    @api_boundary.rolling_back
    def map(
        self,
        map_func: Callable[..., Any],
        num_parallel_calls: Any = None,
        *,
        name: str | None = None,
    ) -> Dataset:
        """map_func of every element.

        Args:
            map_func: called once, to build its graph: with a tuple's components, or the element.
                A list that it returns becomes a tuple. A dataset among what it returns is a
                component that functions of later transformations take as a dataset; its elements,
                at most 262,144, are made with the element.
            num_parallel_calls: threads that work side by side; the order stays. None: none;
                AUTOTUNE: as many as there are processors.
            name: of the dataset, for messages.
        """
        function = Function(map_func, self.element_specs, "map")
        nested = any(dataset is not None for dataset in function.datasets)
        count = None if num_parallel_calls is None else arguments.number(num_parallel_calls, "map")

        def opened(o: Opening) -> Stage:
            loaded, inner = o.load(function), self.open(o)
            calls = 1 if count is None else o.number(count)
            if calls == AUTOTUNE:
                calls = min(os.cpu_count() or 1, arguments.MAX_THREADS)
            if calls < 1:
                raise inner.refused("num_parallel_calls must be greater than zero.")
            if nested:
                return elements.NestedMap(inner, loaded)
            if calls == 1 or not loaded.pure or self.touched:
                return elements.Map(inner, loaded)
            return threads.ParallelMap(inner, loaded, calls)

        return self._derived(opened, function.specs, [count], [function])._named(name)

    @api_boundary.rolling_back
    def flat_map(self, map_func: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements of the datasets that map_func gives, one dataset after the other."""
        return self._interleaved(map_func, 1, 1 << 62, "flat_map")._named(name)

    @api_boundary.rolling_back
    def interleave(
        self,
        map_func: Callable[..., Any],
        cycle_length: Any = AUTOTUNE,
        block_length: Any = 1,
        num_parallel_calls: Any = None,
        *,
        name: str | None = None,
    ) -> Dataset:
        """The elements of the datasets that map_func gives, from several in turn.

        Args:
            map_func: from an element to a dataset.
            cycle_length: how many datasets are open at a time; AUTOTUNE or None: the processors, at
                most num_parallel_calls, a third with AUTOTUNE there.
            block_length: elements taken from one before the next's turn.
            num_parallel_calls: changes nothing else; elements come one after the other.
            name: of the dataset, for messages.
        """
        if cycle_length is None or (isinstance(cycle_length, int) and cycle_length == AUTOTUNE):
            cycle_length = arguments.cycle_length(num_parallel_calls)
        return self._interleaved(map_func, cycle_length, block_length, "interleave")._named(name)

    def _interleaved(
        self, map_func: Any, cycle_length: Any, block_length: Any, what: str
    ) -> Dataset:
        function = Function(map_func, self.element_specs, what)
        if function.dataset is None:
            raise TypeError(f"{what}: `map_func` must return a `Dataset` object.")
        cycle, block = arguments.number(cycle_length, what), arguments.number(block_length, what)
        return self._derived(
            lambda o: elements.Interleave(
                self.open(o), o.load(function), o.number(cycle), o.number(block)
            ),
            function.result_specs(),
            [cycle, block],
            [function],
        )

    @api_boundary.rolling_back
    def filter(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """The elements of which predicate, a scalar bool, is true."""
        function = self._predicate(predicate, "filter")
        return self._derived(
            lambda o: elements.Filter(self.open(o), o.load(function)), functions=[function]
        )._named(name)

    @api_boundary.rolling_back_variables
    def map_with_legacy_function(
        self, map_func: Callable[..., Any], num_parallel_calls: Any = None
    ) -> Dataset:
        """See map.

        Raises:
            AttributeError: map_func assigns a variable that it makes.
        """
        known = set(variables_of(scopes.get_default_graph().root))
        made = self.map(map_func, num_parallel_calls)
        for name, touch in made.touched.items():
            if touch.assigned and name not in known:
                raise AttributeError(
                    f"'Tensor' object has no attribute 'assign_add': variable '{name}' is made in "
                    "a function of map_with_legacy_function, which has its value alone; use map, "
                    "or make the variable outside"
                )
        return made

    filter_with_legacy_function = filter

    def _predicate(self, predicate: Callable[..., Any], what: str) -> Function:
        function = Function(predicate, self.element_specs, what)
        found = function.specs
        if not isinstance(found, Spec) or found.dtype != dtypes.bool or found.shape.ndims:
            raise ValueError(f"{what}: `predicate` must return a scalar boolean tensor.")
        return function

    @api_boundary.rolling_back
    def batch(
        self,
        batch_size: Any,
        drop_remainder: Any = False,
        num_parallel_calls: Any = None,
        deterministic: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """batch_size elements at a time as one, with a dimension more in front.

        Args:
            batch_size: int or scalar integer tensor.
            drop_remainder: True leaves out a last batch that is short.
            num_parallel_calls, deterministic: accepted; batches are the same with any.
            name: of the dataset, for messages.
        """
        return self._batched(batch_size, drop_remainder)._named(name)

    def _batched(self, batch_size: Any, drop_remainder: Any, whole: bool = False) -> Dataset:
        """See batch; for the last argument see elements.Batch."""
        size = arguments.number(batch_size, "batch")
        known = size if drop_remainder is True and isinstance(size, int) else None
        sparse = structure.sparse_offsets(self.element_specs)

        def opened(o: Opening) -> Stage:
            given = self.open(o), o.number(size), bool(o.value(drop_remainder))
            made = elements.SparseBatch(*given, sparse) if sparse else elements.Batch(*given)
            made.whole = whole
            return made

        return self._derived(
            opened,
            structure.batched(self.element_specs, known),
            [size, drop_remainder],
        )

    @api_boundary.rolling_back
    def padded_batch(
        self,
        batch_size: Any,
        padded_shapes: Any = None,
        padding_values: Any = None,
        drop_remainder: Any = False,
        name: str | None = None,
    ) -> Dataset:
        """As batch, for elements of different sizes: each is filled up.

        Args:
            batch_size, drop_remainder: see batch.
            padded_shapes: nested shapes; None or -1 as a dimension: the longest of the batch.
                None alone: the shapes of the components.
            padding_values: nested scalars, or one for all; None: 0, and the empty string.

        Raises:
            TypeError: a padding value of another dtype; a padded shape of no integers.
            ValueError: a padded shape of another rank than its component.

        Raises, when run:
            DataLossError: an element is larger than its padded shape.
        """
        what = "padded_batch"
        self._refuse_datasets(what)
        self._refuse_sparse(what)
        if structure.holds_none(self.element_specs):
            raise TypeError(f"{what}: a component is None, which cannot be padded")
        size = arguments.number(batch_size, what)
        known = size if drop_remainder is True and isinstance(size, int) else None
        padding = Padding(self.element_specs, padded_shapes, padding_values)
        return self._derived(
            lambda o: elements.PaddedBatch(
                self.open(o),
                o.number(size),
                bool(o.value(drop_remainder)),
                [padding.sizes(o.value(shape)) for shape in padding.shapes],
                [o.value(v) for v in padding.fillings],
            ),
            padding.batched(known),
            [size, drop_remainder, *padding.shapes, *padding.fillings],
        )._named(name)

    def _refuse_sparse(self, what: str) -> None:
        for node in structure.nodes(self.element_specs):
            structure.refuse_sparse(node, what)

    def _refuse_datasets(self, what: str) -> None:
        if any(s.inside is not None for s in structure.flatten(self.element_specs)):
            raise TypeError(f"{what}: a component is a dataset; use flat_map to batch inside it")

    @api_boundary.rolling_back
    def shuffle(
        self,
        buffer_size: Any,
        seed: Any = None,
        reshuffle_each_iteration: bool | None = None,
        name: str | None = None,
    ) -> Dataset:
        """The elements in random order.

        Args:
            buffer_size: from how many elements each is drawn.
            seed: with the graph's seed it decides the order; None and no graph seed: another in
                every run.
            reshuffle_each_iteration: False: every pass has the same order.
        """
        size = arguments.number(buffer_size, "shuffle")
        graph = scopes.get_default_graph()
        given = seed if isinstance(seed, Tensor) else None
        key = graph.root.seeds.key(0 if given is not None else None if seed is None else int(seed))
        reshuffle = reshuffle_each_iteration is not False

        def opened(o: Opening) -> Stage:
            own = key if given is None or key is None else (key ^ o.number(given)) % (1 << 64)
            found = o.new_key() if own is None else own
            return stages.Shuffle(self.open(o), o.number(size), found, own is not None, reshuffle)

        return self._derived(opened, given=[size, given])._named(name)

    @api_boundary.rolling_back
    def repeat(self, count: Any = None, name: str | None = None) -> Dataset:
        """The elements count times over; None or -1: without end."""
        times = arguments.number(-1 if count is None else count, "repeat")
        made = self._derived(lambda o: stages.Repeat(self.open(o), o.number(times)), given=[times])
        return made._named(name)

    @api_boundary.rolling_back
    def take(self, count: Any, name: str | None = None) -> Dataset:
        """The first count elements; -1: all."""
        most = arguments.number(count, "take")
        made = self._derived(lambda o: stages.Take(self.open(o), o.number(most)), given=[most])
        return made._named(name)

    @api_boundary.rolling_back
    def skip(self, count: Any, name: str | None = None) -> Dataset:
        """All but the first count elements; -1: none."""
        least = arguments.number(count, "skip")
        made = self._derived(lambda o: stages.Skip(self.open(o), o.number(least)), given=[least])
        return made._named(name)

    @api_boundary.rolling_back
    def shard(self, num_shards: Any, index: Any, name: str | None = None) -> Dataset:
        """Every num_shards-th element, from number index on.

        Raises:
            InvalidArgumentError: index is not below num_shards.
        """
        number, first = arguments.number(num_shards, "shard"), arguments.number(index, "shard")
        if isinstance(number, int) and number < 1:
            raise errors.InvalidArgumentError(
                message=f"shard: num_shards must be >= 1; got {number}"
            )
        if isinstance(number, int) and isinstance(first, int) and not 0 <= first < number:
            raise errors.InvalidArgumentError(
                message=f"shard: index must be in [0, {number}); got {first}"
            )
        return self._derived(
            lambda o: stages.Shard(self.open(o), o.number(number), o.number(first)),
            given=[number, first],
        )._named(name)

    @api_boundary.rolling_back
    def concatenate(self, dataset: Dataset, name: str | None = None) -> Dataset:
        """These elements, then those of another dataset of the same types.

        Raises:
            TypeError: the types or structures differ.
        """
        other = _checked(dataset, "concatenate")
        specs = structure.common(self.element_specs, other.element_specs, "concatenate")
        return Dataset(
            specs, lambda o: stages.Concatenate(self.open(o), other.open(o)), [self, other]
        )._named(name)

    @api_boundary.rolling_back
    def prefetch(self, buffer_size: Any, name: str | None = None) -> Dataset:
        """Makes elements ahead, in a thread.

        Args:
            buffer_size: how many; AUTOTUNE or None: 2 or so; 0: none.
        """
        size = arguments.number(AUTOTUNE if buffer_size is None else buffer_size, "prefetch")

        def opened(o: Opening) -> Stage:
            ahead, inner = o.number(size), self.open(o)
            if ahead < AUTOTUNE:
                raise inner.refused("buffer_size must be >= 0 or AUTOTUNE.")
            # Rows of a table need no work before they are gathered; variables have no values
            # but in a run.
            if ahead == 0 or inner.table is not None or self.touched:
                return inner
            return threads.Prefetch(inner, 2 if ahead == AUTOTUNE else ahead)

        return self._derived(opened, given=[size])._named(name)

    @api_boundary.rolling_back
    def cache(self, filename: Any = "", name: str | None = None) -> Dataset:
        """Keeps the elements of the first pass for those after it.

        Args:
            filename: where; empty: in memory. A complete file is used by later programs, too.

        Raises:
            TypeError: filename is not a string.
        """
        text = structure.of_values(filename, "cache")[1][0]
        if text.dtype != dtypes.string:
            raise TypeError(f"cache: filename is {filename!r}, expected a string")

        def opened(o: Opening) -> Stage:
            path = bytes(o.value(text)[()]).decode()
            inner = self.open(o)
            return FileCache(inner, path) if path else stages.Cache(inner)

        return self._derived(opened, given=[text])._named(name)

    @api_boundary.rolling_back
    def window(
        self,
        size: Any,
        shift: Any = None,
        stride: Any = 1,
        drop_remainder: Any = False,
        name: str | None = None,
    ) -> Dataset:
        """Datasets of size elements each: every component of an element is a dataset.

        Args:
            size: elements of a window.
            shift: from one window's first element to the next's; None: size.
            stride: between the elements of a window.
            drop_remainder: True leaves out windows that are short.
        """
        length = arguments.number(size, "window")
        moved = length if shift is None else arguments.number(shift, "window")
        step = arguments.number(stride, "window")
        specs = structure.mapped_nodes(structure.dataset_spec, self.element_specs)
        widths = [len(structure.flatten(node)) for node in structure.nodes(self.element_specs)]
        return self._derived(
            lambda o: elements.Window(
                self.open(o),
                o.number(length),
                o.number(moved),
                o.number(step),
                bool(o.value(drop_remainder)),
                widths,
            ),
            specs,
            [length, moved, step, drop_remainder],
        )._named(name)

    @api_boundary.rolling_back
    def reduce(
        self, initial_state: Any, reduce_func: Callable[..., Any], name: str | None = None
    ) -> Any:
        """The state after reduce_func(state, element) for every element: tensors to be run.

        Args:
            initial_state: nested values.
            reduce_func: gives the next state, of the same structure, dtypes and shapes.

        Raises:
            TypeError: reduce_func gives another structure or dtype.
        """
        return self._reduced(initial_state, reduce_func, name)

    @api_boundary.rolling_back
    def unbatch(self, name: str | None = None) -> Dataset:
        """The slices of every element along its first dimension."""
        shapes = [structure.node_shape(node) for node in structure.nodes(self.element_specs)]
        if any(shape.ndims == 0 for shape in shapes):
            raise ValueError("Cannot unbatch an input with scalar components.")
        sizes = [shape.as_list()[0] for shape in shapes if shape.ndims is not None]
        rows = sorted({size for size in sizes if size is not None})
        if len(rows) > 1:
            raise ValueError(f"unbatch: the components have {rows} rows, expected one number")
        sparse = structure.sparse_offsets(self.element_specs)
        specs = structure.sliced(self.element_specs)
        return self._derived(lambda o: elements.Unbatch(self.open(o), sparse), specs)._named(name)

    @api_boundary.rolling_back
    def enumerate(self, start: Any = 0, name: str | None = None) -> Dataset:
        """Pairs of a number, int64 from start on, and an element."""
        return Dataset.zip((Dataset.range(start, np.iinfo(np.int64).max), self), name=name)

    def apply(self, transformation_func: Callable[[Dataset], Dataset]) -> Dataset:
        """transformation_func of this dataset.

        Raises:
            TypeError: it gives no dataset.
        """
        made = transformation_func(self)
        if not isinstance(made, Dataset):
            raise TypeError(f"`transformation_func` must return a Dataset, got {made!r}.")
        return made

    def options(self) -> Options:
        """The options of this dataset and of those that it is made of; they cannot be set."""
        found: Options = Options().merge(self._options)
        found._freeze()
        return found

    def with_options(self, options: Options, name: str | None = None) -> Dataset:
        """This dataset with options; see tf.data.Options for those that have an effect.

        Raises:
            TypeError: they are not Options.
            NotImplementedError: experimental_stats.latency_all_edges.
        """
        if not isinstance(options, Options):
            raise TypeError(f"with_options: expected tf.data.Options, got {options!r}")
        if options.experimental_stats.latency_all_edges:
            raise NotImplementedError(
                "with_options: experimental_stats.latency_all_edges is not supported; use "
                "tf.data.experimental.latency_stats where the time is of interest"
            )
        made = self._derived(self.open)
        made._options = self._options.merge(options)
        return made._named(name)


def _checked(value: Any, what: str) -> Dataset:
    if not isinstance(value, Dataset):
        raise TypeError(f"{what}: expected a tf.data.Dataset, got {value!r}")
    return value
