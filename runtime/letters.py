"""Small and large letters, one for one: Unicode's simple mappings, in every language the same.

What has no single counterpart ('ß') stays. cinfer/src/base/letters.c has the same tables.
"""

from __future__ import annotations

import functools

from graphio.support import errors

__all__ = ["cased", "changed", "folded", "text_of"]


def text_of(data: bytes) -> str:
    """A string's characters. Raises InvalidArgumentError where it is not UTF-8."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        raise errors.InvalidArgumentError(
            message=f"the string {data[:100]!r} is not UTF-8"
        ) from None


def _one(c: str, way: str) -> str:
    made: str = getattr(c, way)()
    return made if len(made) == 1 else c


def changed(text: str, way: str) -> str:
    """Each letter made small (way: lower) or large (upper)."""
    if text.isascii():
        return str(getattr(text, way)())
    return "".join(_one(c, way) for c in text)


@functools.lru_cache(1 << 12)
def folded(c: int) -> int:
    """The letter that represents a letter whatever its case."""
    if c == 0x131:  # the dotless i differs from i, though its large form is I
        return c
    return ord(_one(_one(_one(chr(c), "lower"), "upper"), "lower"))


@functools.cache
def cased() -> list[int]:
    """All characters that have another case, in order."""
    letters = map(chr, range(0x20000))
    return [ord(c) for c in letters if _one(c, "lower") != c or _one(c, "upper") != c]
