"""tf.strings: functions of strings."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphio.framework import refusals
from graphio.ops.strings.core import length, lower, reduce_join, split, substr, upper
from graphio.ops.strings.core import string_strip as strip
from graphio.ops.strings.joining import string_join as join
from graphio.ops.strings.numbers import as_string
from graphio.ops.strings.numbers import string_to_number as to_number
from graphio.ops.strings.python_strings import regex_full_match, regex_replace
from graphio.ops.strings.python_strings import string_format as format
from graphio.ops.strings.python_strings import string_to_hash_bucket as to_hash_bucket
from graphio.ops.strings.python_strings import string_to_hash_bucket_fast as to_hash_bucket_fast
from graphio.ops.strings.python_strings import string_to_hash_bucket_strong as to_hash_bucket_strong
from graphio.ops.strings.segments import unsorted_segment_join
from graphio.ops.strings.transcode import unicode_transcode
from graphio.ops.strings.unicode import unicode_encode

__all__ = [
    "as_string",
    "format",
    "join",
    "length",
    "lower",
    "reduce_join",
    "regex_full_match",
    "regex_replace",
    "split",
    "strip",
    "substr",
    "to_hash_bucket",
    "to_hash_bucket_fast",
    "to_hash_bucket_strong",
    "to_number",
    "unicode_encode",
    "unicode_transcode",
    "unsorted_segment_join",
    "upper",
]

if not TYPE_CHECKING:  # type checkers report names that are left out
    __getattr__ = refusals.getter(__name__)
