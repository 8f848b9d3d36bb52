"""The class of fuzzing targets, and the errors that readers may raise."""

from __future__ import annotations

import contextlib
import random
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from graphio.support import errors

FOLDER = Path(__file__).resolve().parent
GOLDEN = FOLDER.parent / "golden"

#: changes bytes to others of at most so many
Mutate = Callable[[bytes, int], bytes]


@dataclass(frozen=True)
class Target:
    """A reader that is handed bytes.

    Attributes:
        name: of its corpus, its regressions and its row of the log.
        run: reads bytes; an error that is not documented comes out.
        change: bytes of one input to those of another, with checksums that are right.
        seeds: inputs that are read to their end.
    """

    name: str
    run: Callable[[bytes], None]
    change: Callable[[bytes, random.Random, Mutate], bytes]
    seeds: Callable[[], Iterable[bytes]]


@contextlib.contextmanager
def refusals(*documented: type[Exception]) -> Iterator[None]:
    """Lets pass what a reader may raise: errors of graphio's, but for its own bugs.

    Args:
        documented: further classes that its docstring names.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("error", RuntimeWarning)  # numpy's
        try:
            yield
        except errors.InternalError:
            raise
        except (errors.OpError, *documented):
            return
