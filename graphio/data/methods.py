"""Methods of Dataset whose work is done by modules that are made of datasets themselves.

These are iterators, functions that run a complete dataset, and methods that TensorFlow 2 has for
functions of tf.data.experimental in TensorFlow 1. Their modules import the class Dataset, so this
one, its base, does not import them: graphio.data imports all and connects them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

from graphio.framework import dtypes

if TYPE_CHECKING:
    from graphio.data import experimental, iterator, resampling, special, whole
    from graphio.data.dataset import Dataset
    from graphio.data.specs import type_specs
    from graphio.framework.graph import Tensor


__all__ = ["Methods", "connect"]


def connect(**modules: ModuleType) -> None:
    """Gives the methods the modules that they call: the names that are imported above for type
    checkers alone."""
    globals().update(modules)


class Methods:
    """Base of Dataset; for what `name` is see there."""

    if TYPE_CHECKING:
        element_specs: Any

        def apply(self, transformation_func: Callable[..., Any]) -> Dataset: ...

    @property
    def element_spec(self) -> Any:
        """TypeSpecs of an element's components, nested as it is."""
        return type_specs.from_specs(self.element_specs)

    @property
    def output_types(self) -> Any:
        """dtypes of an element's components, nested as it is; of a dataset its DatasetSpec."""
        return type_specs.output_types(self.element_specs)

    @property
    def output_shapes(self) -> Any:
        """Static shapes of an element's components: of a TensorArray [dynamic_size, infer_shape]
        and then the shape of an element, of a dataset its DatasetSpec."""
        return type_specs.output_shapes(self.element_specs)

    @property
    def output_classes(self) -> Any:
        """Classes of an element's components: tf.Tensor, tf.SparseTensor, tf.TensorArray, and of a
        dataset its DatasetSpec."""
        return type_specs.output_classes(self.element_specs)

    def make_one_shot_iterator(self) -> Any:
        """An iterator through the elements that needs no initializer.

        Raises:
            ValueError: the dataset reads placeholders, variables or random numbers of the graph,
                or is of another graph than the default one.
        """
        return iterator.one_shot(self)  # type: ignore[arg-type]

    def make_initializable_iterator(self, shared_name: str | None = None) -> Any:
        """An iterator whose `initializer` must run first, and begins again each time.

        Raises:
            ValueError: the dataset is of another graph than the default one.
        """
        return iterator.initializable(self, shared_name)  # type: ignore[arg-type]

    @staticmethod
    def _signature(output_types: Any, output_shapes: Any, output_signature: Any) -> Any:
        """The specs that from_generator is given; see there."""
        if (output_types is None) == (output_signature is None) or (
            output_signature is not None and output_shapes is not None
        ):
            raise TypeError(
                "from_generator: give either output_types, with output_shapes or without, or "
                "output_signature"
            )
        if output_signature is not None:
            return type_specs.to_specs(output_signature, "`output_signature`")
        return type_specs.declared(output_types, output_shapes, "from_generator")

    def _reduced(
        self, initial_state: Any, reduce_func: Callable[..., Any], name: str | None
    ) -> Any:
        """See Dataset.reduce."""
        return whole.reduced(self, initial_state, reduce_func, name)  # type: ignore[arg-type]

    def cardinality(self) -> Tensor:
        """See tf.data.experimental.cardinality."""
        return special.cardinality(self)  # type: ignore[arg-type]

    def get_single_element(self) -> Any:
        """See tf.data.experimental.get_single_element."""
        return whole.get_single_element(self)  # type: ignore[arg-type]

    def ignore_errors(self, name: str | None = None) -> Dataset:
        """See tf.data.experimental.ignore_errors."""
        return self.apply(special.without_errors)._named(name)

    def unique(self, name: str | None = None) -> Dataset:
        """See tf.data.experimental.unique."""
        return self.apply(experimental.unique())._named(name)

    def take_while(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """See tf.data.experimental.take_while."""
        return self.apply(experimental.take_while(predicate))._named(name)

    def scan(
        self, initial_state: Any, scan_func: Callable[..., Any], name: str | None = None
    ) -> Dataset:
        """See tf.data.experimental.scan."""
        return self.apply(experimental.scan(initial_state, scan_func))._named(name)

    def group_by_window(
        self,
        key_func: Callable[..., Any],
        reduce_func: Callable[..., Any],
        window_size: Any = None,
        window_size_func: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> Dataset:
        """See tf.data.experimental.group_by_window."""
        made = experimental.group_by_window(key_func, reduce_func, window_size, window_size_func)
        return self.apply(made)._named(name)

    def rejection_resample(
        self,
        class_func: Callable[..., Any],
        target_dist: Any,
        initial_dist: Any = None,
        seed: int | None = None,
        name: str | None = None,
    ) -> Dataset:
        """See tf.data.experimental.rejection_resample."""
        made = resampling.rejection_resample(class_func, target_dist, initial_dist, seed)
        return self.apply(made)._named(name)

    def bucket_by_sequence_length(
        self,
        element_length_func: Callable[..., Any],
        bucket_boundaries: Sequence[int],
        bucket_batch_sizes: Sequence[int],
        padded_shapes: Any = None,
        padding_values: Any = None,
        pad_to_bucket_boundary: bool = False,
        no_padding: bool = False,
        drop_remainder: bool = False,
        name: str | None = None,
    ) -> Dataset:
        """See tf.data.experimental.bucket_by_sequence_length."""
        made = experimental.bucket_by_sequence_length(
            element_length_func,
            bucket_boundaries,
            bucket_batch_sizes,
            padded_shapes,
            padding_values,
            pad_to_bucket_boundary,
            no_padding,
            drop_remainder,
        )
        return self.apply(made)._named(name)

    @staticmethod
    def sample_from_datasets(
        datasets: Sequence[Dataset],
        weights: Any = None,
        seed: int | None = None,
        stop_on_empty_dataset: bool = False,
    ) -> Dataset:
        """See tf.data.experimental.sample_from_datasets; stop_on_empty_dataset: True ends with the
        first dataset that ends."""
        return experimental.sample_from_datasets(datasets, weights, seed, stop_on_empty_dataset)

    @staticmethod
    def choose_from_datasets(
        datasets: Sequence[Dataset], choice_dataset: Dataset, stop_on_empty_dataset: bool = True
    ) -> Dataset:
        """See tf.data.experimental.choose_from_datasets; stop_on_empty_dataset: True ends where a
        dataset that has ended is chosen."""
        return experimental.choose_from_datasets(datasets, choice_dataset, stop_on_empty_dataset)

    @staticmethod
    def counter(
        start: Any = 0, step: Any = 1, dtype: Any = dtypes.int64, name: str | None = None
    ) -> Dataset:
        """See tf.data.experimental.Counter."""
        return experimental.Counter(start, step, dtype)._named(name)

    @staticmethod
    def random(seed: int | None = None, name: str | None = None) -> Dataset:
        """See tf.data.experimental.RandomDataset."""
        return special.RandomDataset(seed)._named(name)
