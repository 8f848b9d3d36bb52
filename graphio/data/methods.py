"""Methods of Dataset that TensorFlow 2 has for what is a function of tf.data.experimental in
TensorFlow 1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from graphio.framework import dtypes

if TYPE_CHECKING:
    from graphio.data.dataset import Dataset
    from graphio.framework.graph import Tensor


class Methods:
    """Base of Dataset; for what `name` is see there."""

    if TYPE_CHECKING:

        def apply(self, transformation_func: Callable[..., Any]) -> Dataset: ...

    def cardinality(self) -> Tensor:
        """See tf.data.experimental.cardinality."""
        from graphio.data.special import cardinality

        return cardinality(self)  # type: ignore[arg-type]

    def get_single_element(self) -> Any:
        """See tf.data.experimental.get_single_element."""
        from graphio.data.whole import get_single_element

        return get_single_element(self)  # type: ignore[arg-type]

    def ignore_errors(self, name: str | None = None) -> Dataset:
        """See tf.data.experimental.ignore_errors."""
        from graphio.data.special import without_errors

        return self.apply(without_errors)._named(name)

    def unique(self, name: str | None = None) -> Dataset:
        """See tf.data.experimental.unique."""
        from graphio.data.experimental import unique

        return self.apply(unique())._named(name)

    def take_while(self, predicate: Callable[..., Any], name: str | None = None) -> Dataset:
        """See tf.data.experimental.take_while."""
        from graphio.data.experimental import take_while

        return self.apply(take_while(predicate))._named(name)

    def scan(
        self, initial_state: Any, scan_func: Callable[..., Any], name: str | None = None
    ) -> Dataset:
        """See tf.data.experimental.scan."""
        from graphio.data.experimental import scan

        return self.apply(scan(initial_state, scan_func))._named(name)

    def group_by_window(
        self,
        key_func: Callable[..., Any],
        reduce_func: Callable[..., Any],
        window_size: Any = None,
        window_size_func: Callable[..., Any] | None = None,
        name: str | None = None,
    ) -> Dataset:
        """See tf.data.experimental.group_by_window."""
        from graphio.data.experimental import group_by_window

        made = group_by_window(key_func, reduce_func, window_size, window_size_func)
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
        from graphio.data.experimental import bucket_by_sequence_length

        made = bucket_by_sequence_length(
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
        from graphio.data.experimental import sample_from_datasets

        return sample_from_datasets(datasets, weights, seed, stop_on_empty_dataset)

    @staticmethod
    def choose_from_datasets(
        datasets: Sequence[Dataset], choice_dataset: Dataset, stop_on_empty_dataset: bool = True
    ) -> Dataset:
        """See tf.data.experimental.choose_from_datasets; stop_on_empty_dataset: True ends where a
        dataset that has ended is chosen."""
        from graphio.data.experimental import choose_from_datasets

        return choose_from_datasets(datasets, choice_dataset, stop_on_empty_dataset)

    @staticmethod
    def counter(
        start: Any = 0, step: Any = 1, dtype: Any = dtypes.int64, name: str | None = None
    ) -> Dataset:
        """See tf.data.experimental.Counter."""
        from graphio.data.experimental import Counter

        return Counter(start, step, dtype)._named(name)

    @staticmethod
    def random(seed: int | None = None, name: str | None = None) -> Dataset:
        """See tf.data.experimental.RandomDataset."""
        from graphio.data.special import RandomDataset

        return RandomDataset(seed)._named(name)
