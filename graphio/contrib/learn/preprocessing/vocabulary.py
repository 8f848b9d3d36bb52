"""Categories and words by number."""

from __future__ import annotations

import collections
from typing import Any

__all__ = ["CategoricalVocabulary"]


class CategoricalVocabulary:
    """Numbers categories from 1 in the order in which they come; 0 is the unknown one.

    Args:
        unknown_token: what reverse(0) gives.
        support_reverse: whether reverse works.
    """

    def __init__(self, unknown_token: Any = "<UNK>", support_reverse: bool = True) -> None:
        # programs and pickled files of TensorFlow have these attributes
        self._unknown_token = unknown_token
        self._support_reverse = support_reverse
        self._freq: dict[Any, int] = collections.defaultdict(int)
        self._freeze = False
        self._number([])

    def _number(self, categories: list[Any]) -> None:
        known = [self._unknown_token, *categories]
        self._mapping = {category: number for number, category in enumerate(known)}
        if self._support_reverse:
            self._reverse_mapping = known

    def __len__(self) -> int:
        """The number of categories, the unknown one included."""
        return len(self._mapping)

    def freeze(self, freeze: bool = True) -> None:
        """From now on new categories are unknown ones; with False they get numbers."""
        self._freeze = freeze

    def get(self, category: Any) -> int:
        """The number of a category. A new one gets the next number; of a frozen vocabulary, 0."""
        if category not in self._mapping:
            if self._freeze:
                return 0
            self._mapping[category] = len(self._mapping)
            if self._support_reverse:
                self._reverse_mapping.append(category)
        return self._mapping[category]

    def add(self, category: Any, count: int = 1) -> None:
        """Counts a category, which gets a number if it is new."""
        if self.get(category) > 0:
            self._freq[category] += count

    def trim(self, min_frequency: int, max_frequency: int = -1) -> None:
        """Forgets rare and frequent categories; the others get new numbers, the most frequent 1,
        equal ones in their own order, numbers before strings.

        Args:
            min_frequency: a category stays that was counted more often.
            max_frequency: a category goes that was counted so often; below 1: none.
        """
        order = sorted(
            self._freq.items(), key=lambda item: (-item[1], isinstance(item[0], str), item[0])
        )
        kept = [
            category
            for category, count in order
            if count > min_frequency and not 0 < max_frequency <= count
        ]
        self._number(kept)
        # As in TensorFlow the counts that stay are the highest ones, also those of categories
        # that max_frequency has removed: a second trim depends on them.
        self._freq = dict(order[: len(kept)])

    def reverse(self, class_id: int) -> Any:
        """The category of a number.

        Raises:
            ValueError: the vocabulary was made with support_reverse=False.
            IndexError: there is no such number.
        """
        if not self._support_reverse:
            raise ValueError(
                "This vocabulary wasn't initialized with support_reverse to support reverse() "
                "function."
            )
        return self._reverse_mapping[class_id]
