"""The interface of decoders."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from typing import Any

__all__ = ["DataDecoder"]


class DataDecoder(abc.ABC):
    """Takes the items out of a record."""

    @abc.abstractmethod
    def decode(self, data: Any, items: Sequence[str]) -> list[Any]:
        """The tensors of items of a record."""

    @abc.abstractmethod
    def list_items(self) -> list[str]:
        """The names of the items."""
