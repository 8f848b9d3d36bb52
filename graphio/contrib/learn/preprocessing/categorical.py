"""Rows of categories as rows of numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from graphio.contrib.learn.preprocessing.vocabulary import CategoricalVocabulary

__all__ = ["CategoricalProcessor"]

Array = np.ndarray[Any, Any]


class CategoricalProcessor:
    """Numbers the categories of each column; NaN is the unknown category, 0.

    Args:
        min_frequency: fit keeps categories that occur more often; 0: all.
        share: whether all columns have one vocabulary.
        vocabularies: a CategoricalVocabulary for each column; None: fit makes them.

    Attributes:
        vocabularies_: the vocabulary of each column.
    """

    def __init__(
        self,
        min_frequency: int = 0,
        share: bool = False,
        vocabularies: list[CategoricalVocabulary] | None = None,
    ) -> None:
        self.min_frequency = min_frequency
        self.share = share
        self.vocabularies_ = vocabularies

    def freeze(self, freeze: bool = True) -> None:
        """Freezes all vocabularies; with False they take new categories again.

        Raises:
            ValueError: there are no vocabularies yet.
        """
        for vocabulary in self._known():
            vocabulary.freeze(freeze)

    def fit(self, x: Any, unused_y: Any = None) -> CategoricalProcessor:
        """Adds the categories of rows to the vocabularies, drops rare ones and freezes them.

        Args:
            x: rows: an array, lists, or a data frame of pandas.

        Returns:
            this object.
        """
        for row in _rows(x):
            if self.vocabularies_ is None:
                one = CategoricalVocabulary()
                self.vocabularies_ = [one if self.share else CategoricalVocabulary() for _ in row]
            for vocabulary, value in zip(self.vocabularies_, row, strict=False):
                if not _is_missing(value):
                    vocabulary.add(value)
        if self.min_frequency > 0:
            # a shared vocabulary is trimmed once for each column, as in TensorFlow
            for vocabulary in self._known():
                vocabulary.trim(self.min_frequency)
        self.freeze()
        return self

    def fit_transform(self, x: Any, unused_y: Any = None) -> Iterator[Array]:
        """fit, then transform, which read the rows twice."""
        self.fit(x)
        return self.transform(x)

    def transform(self, x: Any) -> Iterator[Array]:
        """int64 [columns] for each row."""
        self.freeze()
        for row in _rows(x):
            pairs = zip(self._known(), row, strict=False)
            numbers = [0 if _is_missing(value) else known.get(value) for known, value in pairs]
            yield np.array(numbers, np.int64)

    def _known(self) -> list[CategoricalVocabulary]:
        if self.vocabularies_ is None:
            raise ValueError("There are no vocabularies yet: call fit, or give vocabularies.")
        return self.vocabularies_


def _rows(x: Any) -> Iterable[Any]:
    """The rows, also of a data frame, which would give its columns."""
    found: Iterable[Any] = x.to_numpy() if hasattr(x, "to_numpy") else x
    return found


def _is_missing(value: Any) -> bool:
    return isinstance(value, float) and math.isnan(value)
