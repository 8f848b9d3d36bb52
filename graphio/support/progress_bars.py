"""Progress bars of tqdm for long saves, restores and conversions."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any

from graphio.support import api_guard, installation, progress

__all__ = ["progress_bar", "progress_bars"]

_DELAY = 1.0  # seconds: what takes less shows nothing


def progress_bar(what: str, total: int, unit: str) -> Any:
    """A progress bar on stderr, if it is a terminal and the work takes more than a second."""
    try:
        from tqdm.auto import tqdm
    except ImportError:
        raise ImportError(f"progress bars need tqdm: {installation.hint('progress')}") from None
    return tqdm(
        desc=what,
        total=total,
        unit=unit,
        unit_scale=unit == "B",
        delay=_DELAY,
        disable=None,
        leave=False,
        file=sys.stderr,
    )


@api_guard.guarded
@contextlib.contextmanager
def progress_bars() -> Iterator[None]:
    """A context in which long saves, restores, imports, exports of this thread show progress bars.

        with tf.train.progress_bars():
            saver.restore(session, "run/model-1000")

    Progress bars come on stderr, if that is a terminal, after a second. A save in the background
    (an asynchronous Saver's) has none.

    Raises:
        ImportError: tqdm is not installed, when there is something to show.
    """
    with progress.shown_by(progress_bar):
        yield
