"""The limit of a file's unpacked parts: a small file must not fill the memory."""

from __future__ import annotations

from graphio.support import errors

__all__ = ["FREE", "TIMES", "check"]

FREE = 256 << 20  # bytes that the packed parts of any file may become together
TIMES = 32  # of a large file: the largest expansion


def check(what: str, size: int, unpacked: int, most: int | None, advice: str) -> None:
    """Refuses a file whose packed parts become too much, before any of them is unpacked.

    Args:
        what: how messages call the file.
        size: its bytes.
        unpacked: what its parts say that they become.
        most: what the caller allows; None: the larger of FREE and TIMES the file's size.
        advice: what to do about it.

    Raises:
        ResourceExhaustedError: it is more than that.
    """
    allowed = max(FREE, TIMES * size) if most is None else most
    if unpacked > allowed:
        raise errors.ResourceExhaustedError(
            message=f"{what} of {size} bytes unpacks to {unpacked} bytes, at most {allowed} are "
            f"taken; if it can be trusted, {advice}"
        )
