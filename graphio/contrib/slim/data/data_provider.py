"""The base of objects that give the tensors of items."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["DataProvider"]


class DataProvider:
    """Gives tensors by item.

    Args:
        items_to_tensors: the tensors.
        num_samples: number of records.
    """

    def __init__(self, items_to_tensors: Mapping[str, Any], num_samples: int) -> None:
        self._items_to_tensors, self._num_samples = items_to_tensors, num_samples

    def get(self, items: Any) -> list[Any]:
        """The tensors of items.

        Raises:
            ValueError: items is neither a list nor a tuple, or there is no item of a name.
        """
        if not isinstance(items, (list, tuple)):
            raise ValueError("items must be a list or tuple")
        valid = list(self.list_items())
        for item in items:
            if item not in valid:
                raise ValueError(f"Item [{item}] is invalid. Valid entries include: {valid}")
        return [self._items_to_tensors[item] for item in items]

    def list_items(self) -> Any:
        """The names of the items."""
        return self._items_to_tensors.keys()

    def num_samples(self) -> int:
        """The number of records."""
        return self._num_samples
