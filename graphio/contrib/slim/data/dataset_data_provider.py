"""The tensors of a Dataset's items, read through queues."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphio.contrib.slim.data import data_provider, parallel_reader
from graphio.contrib.slim.data.dataset import Dataset

__all__ = ["DatasetDataProvider", "data_provider", "parallel_reader"]


class DatasetDataProvider(data_provider.DataProvider):
    """Gives the tensors of the next record of a data set, by item.

    Args:
        dataset: a Dataset.
        num_readers: how many readers.
        reader_kwargs: arguments of their class.
        shuffle: whether files and records come in a random order.
        num_epochs: how often each file is read, counted in a local variable; None: no limit.
        common_queue_capacity: of the queue of records.
        common_queue_min: how many records stay in it, if shuffle.
        record_key: the name of the item that is the record's key.
        seed: of the order.
        scope: name scope.

    Raises:
        ValueError: an item has the name record_key, or there are no files.
    """

    def __init__(
        self,
        dataset: Dataset,
        num_readers: int = 1,
        reader_kwargs: Mapping[str, Any] | None = None,
        shuffle: bool = True,
        num_epochs: int | None = None,
        common_queue_capacity: int = 256,
        common_queue_min: int = 128,
        record_key: str = "record_key",
        seed: int | None = None,
        scope: str | None = None,
    ) -> None:
        items = list(dataset.decoder.list_items())
        if record_key in items:
            raise ValueError(
                "The item name used for `record_key` cannot also be used for a dataset item: "
                f"{record_key}"
            )
        key, record = parallel_reader.parallel_read(
            dataset.data_sources, dataset.reader, num_epochs, num_readers, reader_kwargs, shuffle,
            capacity=common_queue_capacity, min_after_dequeue=common_queue_min, seed=seed,
            scope=scope,
        )  # fmt: skip
        tensors = dict(zip(items, dataset.decoder.decode(record, items), strict=True))
        super().__init__({**tensors, record_key: key}, dataset.num_samples)
