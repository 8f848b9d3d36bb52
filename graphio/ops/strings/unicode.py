"""tf.strings.unicode_encode: characters by their codes as strings."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.base.emit import scope
from graphio.ops.base.shapes import dims_of
from graphio.ops.strings.python_strings import call
from graphio.ops.strings.transcode import check_settings
from graphio.support import api_guard, errors

__all__ = ["unicode_encode"]

Array = np.ndarray[Any, Any]


@api_guard.operator
def unicode_encode(
    input: Any,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 0xFFFD,
    name: str | None = None,
) -> Tensor:
    """Strings of the characters with given codes.

    Args:
        input: codes, int32 (..., n); the last axis is one string.
        output_encoding: "UTF-8", "UTF-16-BE" or "UTF-32-BE".
        errors: replacement of a code that is not a character: "replace": replacement_char;
            "ignore": nothing; "strict": an InvalidArgumentError of the run.
        replacement_char: code of the character that replaces.
        name: of the operation.

    Returns:
        A string tensor (...).

    Raises:
        TypeError: input is not int32.
        ValueError: input is a scalar (InvalidArgumentError where the run finds it); another
            argument has a value that is not listed.
    """
    check_settings("unicode_encode", output_encoding, errors, replacement_char)
    with scope(name, "UnicodeEncode") as at:
        codes = convert_to_tensor(input, name="input")
        if codes.dtype != dtypes.int32:
            raise TypeError(
                f"Input 'input_values' of 'UnicodeEncode' Op has type {codes.dtype.name} that does "
                "not match expected type of int32."
            )
        dims = dims_of(codes)
        if dims is not None and not dims:
            raise ValueError("input_tensor's rank must be at least 1.")
        outer = None if dims is None else dims[:-1]
        replacement = "" if errors == "ignore" else chr(replacement_char)
        made = call(
            "UnicodeEncode", _encoded, [codes], [(dtypes.string, outer)], at,
            target=output_encoding, strict=errors == "strict", replacement=replacement,
        )  # fmt: skip
        return made.outputs[0]


def _encoded(codes: Array, target: str, strict: bool, replacement: str) -> list[Array]:
    if not codes.ndim:
        raise errors.InvalidArgumentError(message="input_tensor's rank must be at least 1.")
    strings = np.empty(codes.shape[:-1], object)
    for at in np.ndindex(strings.shape):
        characters = [_character(int(code), strict, replacement) for code in codes[at]]
        strings[at] = "".join(characters).encode(target)
    return [strings]


def _character(code: int, strict: bool, replacement: str) -> str:
    if 0 <= code < 0xD800 or 0xE000 <= code <= 0x10FFFF:
        return chr(code)
    if strict:
        raise errors.InvalidArgumentError(message=f"Code point is out of range for Unicode: {code}")
    return replacement
