"""Files of later versions: the sentence about them, so that no reader takes them for damaged."""

from __future__ import annotations

from graphio.support import errors

__all__ = ["too_new"]


def too_new(what: str, version: str, known: str) -> errors.UnimplementedError:
    """The error of a file that this graphio cannot read because a later one wrote it.

    Args:
        what: the file, as the message's subject.
        version: that of its format.
        known: the latest version that this graphio reads.
    """
    return errors.UnimplementedError(
        message=f"{what} was written by a newer graphio and needs a reader of version {version}; "
        f"this one reads {known}. It is not damaged: upgrade graphio"
    )
