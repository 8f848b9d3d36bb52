"""tf.strings: functions of texts."""

from __future__ import annotations

from graphio.ops.text import length, lower, substr, upper
from graphio.ops.text import string_join as join
from graphio.ops.text import string_strip as strip
from graphio.ops.text_calls import as_string, reduce_join, regex_full_match, regex_replace, split
from graphio.ops.text_calls import string_to_number as to_number

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
