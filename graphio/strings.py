"""tf.strings: functions of texts."""

from __future__ import annotations

from graphio.ops.text import (
    as_string,
    length,
    lower,
    reduce_join,
    regex_full_match,
    regex_replace,
    split,
    substr,
    upper,
)
from graphio.ops.text import string_join as join
from graphio.ops.text import string_strip as strip
from graphio.ops.text import string_to_number as to_number

__all__ = [
    "as_string",
    "join",
    "length",
    "lower",
    "reduce_join",
    "regex_full_match",
    "regex_replace",
    "split",
    "strip",
    "substr",
    "to_number",
    "upper",
]
