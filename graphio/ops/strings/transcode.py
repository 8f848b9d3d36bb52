"""tf.strings.unicode_transcode, by Python's codecs."""

from __future__ import annotations

import codecs
from typing import Any

from graphio.framework import dtypes
from graphio.framework.graph import Tensor
from graphio.ops.strings.python_strings import mapped
from graphio.support import api_guard, errors

__all__ = ["check_settings", "unicode_transcode"]

_OUTPUTS = ("UTF-8", "UTF-16-BE", "UTF-32-BE")
_POLICIES = ("strict", "replace", "ignore")
#: encodings of either byte order: their marks, the codec of each, and the one without a mark
_ORDERS = {
    "utf-16": ((codecs.BOM_UTF16_BE, "utf-16-be"), (codecs.BOM_UTF16_LE, "utf-16-le")),
    "utf-32": ((codecs.BOM_UTF32_BE, "utf-32-be"), (codecs.BOM_UTF32_LE, "utf-32-le")),
}


@api_guard.operator
def unicode_transcode(
    input: Any,
    input_encoding: str,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Tensor:
    """Strings in another encoding.

    Args:
        input: string tensor.
        input_encoding: as "UTF-8", "UTF-16" (big-endian where a string does not begin with a mark),
            "US-ASCII", "ISO-8859-1" or another one that Python knows. A run with one that it does
            not know is an InvalidArgumentError.
        output_encoding: "UTF-8", "UTF-16-BE" or "UTF-32-BE".
        errors: replacement of bytes that are not a character: "replace": replacement_char;
            "ignore": nothing; "strict": an InvalidArgumentError of the run.
        replacement_char: code of the character that replaces.
        replace_control_characters: whether those below 32 are not characters either.
        name: of the operation.

    Raises:
        ValueError: output_encoding, errors or replacement_char is none of these.
    """
    check_settings("unicode_transcode", output_encoding, errors, replacement_char)
    return mapped(
        "UnicodeTranscode", input, _transcoded, name, dtypes.string,
        source=str(input_encoding), target=output_encoding, policy=errors,
        replacement=chr(replacement_char), controls=bool(replace_control_characters),
    )  # fmt: skip


def check_settings(function: str, encoding: str, policy: str, replacement: int) -> None:
    """ValueError unless the settings of an output are among those of the functions' docstrings."""
    for value, allowed, what in (
        (encoding, _OUTPUTS, "output_encoding"),
        (policy, _POLICIES, "errors"),
    ):
        if value not in allowed:
            listed = ", ".join(f'"{a}"' for a in allowed)
            raise ValueError(f"{function}: Op passed string {value!r} not in: {listed}, as {what}")
    if not 0 <= replacement <= 0x10FFFF or 0xD800 <= replacement < 0xE000:
        raise ValueError(f"{function}: replacement_char {replacement} is not a character")


def _transcoded(
    text: bytes, source: str, target: str, policy: str, replacement: str, controls: bool
) -> bytes:
    other = "" if policy == "ignore" else replacement
    text, codec = _ordered(text, source)
    try:
        characters = codec.decode(text, "strict" if policy == "strict" else _ASIDE)[0]
    except UnicodeDecodeError:
        raise errors.InvalidArgumentError(
            message=f"Invalid formatting on input string: {text[:100]!r}"
        ) from None
    characters = characters.replace(_NO_CHARACTER, other)
    if controls:
        characters = "".join(other if c < " " else c for c in characters)
    return characters.encode(target)


#: placeholder for bytes that are not a character, until they are replaced; no character either
_NO_CHARACTER = "\ud800"
_ASIDE = "graphio.no_character"


def _aside(error: UnicodeError) -> tuple[str, int]:
    """A handler of errors for codecs."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return _NO_CHARACTER, error.end


codecs.register_error(_ASIDE, _aside)


def _ordered(text: bytes, encoding: str) -> tuple[bytes, codecs.CodecInfo]:
    """The text without the mark that says its byte order, and its codec."""
    try:
        b"a".decode(encoding, "ignore")  # refuses other kinds of codecs
        codec = codecs.lookup(encoding)
    except LookupError:
        raise errors.InvalidArgumentError(
            message=f"Could not create converter for input encoding: {encoding}"
        ) from None
    orders = _ORDERS.get(codec.name, ())
    for mark, name in orders:
        if text.startswith(mark):
            return text[len(mark) :], codecs.lookup(name)
    return text, codecs.lookup(orders[0][1]) if orders else codec
