"""VocabInfo: how the rows of a variable follow from those that another vocabulary numbers."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from graphio.storage.gfile import GFile

__all__ = ["VocabInfo", "sources"]

Array = np.ndarray[Any, Any]


class _Fields(NamedTuple):
    """The fields of VocabInfo."""

    new_vocab: str
    new_vocab_size: int
    num_oov_buckets: int
    old_vocab: str
    old_vocab_size: int = -1
    backup_initializer: Any = None
    axis: int = 0


class VocabInfo(_Fields):
    """The vocabularies of a variable and of its value in a checkpoint, for tf.train.warm_start.

    Args:
        new_vocab: file of the variable's vocabulary, a line a word.
        new_vocab_size: how many of its words have a row.
        num_oov_buckets: number of rows after them, for unknown words.
        old_vocab: file of the vocabulary of the checkpoint.
        old_vocab_size: how many of its words count; -1: all.
        backup_initializer: initializer of rows of new words and of unknown ones; None: zeros.
        axis: dimension of the words: 0, rows, or 1, columns.

    Raises:
        ValueError: axis is neither 0 nor 1.
    """

    __slots__ = ()

    def __new__(cls, *args: Any, **kwargs: Any) -> VocabInfo:
        made = super().__new__(cls, *args, **kwargs)
        if made.axis not in (0, 1):
            raise ValueError(
                "The only supported values for the axis argument are 0 and 1.  Provided axis: "
                f"{made.axis}"
            )
        return made


def sources(info: VocabInfo) -> Array:
    """For each row of the variable, its row in the checkpoint; -1 where there is none.

    Raises:
        ValueError: the new vocabulary has fewer words than new_vocab_size, or a number is negative
            (old_vocab_size: less than -1).
    """
    for name, least in (("new_vocab_size", 0), ("num_oov_buckets", 0), ("old_vocab_size", -1)):
        if getattr(info, name) < least:
            raise ValueError(
                f"VocabInfo: {name} is {getattr(info, name)}, expected {least} or more"
            )
    new, old = _words(info.new_vocab), _words(info.old_vocab)
    if len(new) < info.new_vocab_size:
        raise ValueError(
            f"{info.new_vocab} has {len(new)} words, expected new_vocab_size, "
            f"{info.new_vocab_size}, or more"
        )
    if info.old_vocab_size >= 0:
        del old[info.old_vocab_size :]
    numbers = {word: number for number, word in enumerate(old)}
    found = [numbers.get(word, -1) for word in new[: info.new_vocab_size]]
    return np.array([*found, *[-1] * info.num_oov_buckets], np.int64)


def _words(path: str) -> list[str]:
    with GFile(path) as file:
        found: list[str] = file.read().splitlines()
        return found
