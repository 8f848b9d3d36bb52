"""The description of a data set."""

from __future__ import annotations

from typing import Any

__all__ = ["Dataset"]


class Dataset:
    """Where records are, and how they are read.

    Args:
        data_sources: files, or a pattern of them.
        reader: class of the reader.
        decoder: a DataDecoder.
        num_samples: number of records.
        items_to_descriptions: descriptions by item.
        kwargs: further attributes, such as num_classes.
    """

    def __init__(
        self,
        data_sources: Any,
        reader: Any,
        decoder: Any,
        num_samples: int,
        items_to_descriptions: Any,
        **kwargs: Any,
    ) -> None:
        self.data_sources, self.reader, self.decoder = data_sources, reader, decoder
        self.num_samples, self.items_to_descriptions = num_samples, items_to_descriptions
        vars(self).update(kwargs)
