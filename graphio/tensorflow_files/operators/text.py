"""Strings, files and what is printed."""

from __future__ import annotations

from functools import partial
from typing import Any

import graphio as tf
from graphio.tensorflow_files.calls import Call, Row

__all__ = ["ROWS", "SAME"]

SAME = {
    "DecodeBase64": "decode_base64", "MatchingFiles": "matching_files", "ReadFile": "read_file",
    "RegexFullMatch": "strings.regex_full_match", "StringStrip": "strings.strip",
    "Timestamp": "timestamp", "WriteFile": "write_file",
}  # fmt: skip


def sparse(made: Any) -> list[Any]:
    """The three tensors of a SparseTensor."""
    return [made.indices, made.values, made.dense_shape]


def _as_string(c: Call) -> Any:
    return tf.as_string(
        c[0], c.integer("precision", -1), c.flag("scientific"), c.flag("shortest"),
        c.integer("width", -1), c.text("fill", ""), name=c.name,
    )  # fmt: skip


def _decode_raw(c: Call) -> Any:
    little = c.flag("little_endian", True)
    return tf.decode_raw(c[0], c.dtype("out_type"), little, name=c.name)


def _decode_padded(c: Call) -> Any:
    return tf.decode_raw(
        c[0], c.dtype("out_type"), c.flag("little_endian", True), name=c.name,
        fixed_length=int(c.constant(1)),
    )  # fmt: skip


def _decode_csv(c: Call) -> Any:
    return tf.decode_csv(
        c[0], c.tensors[1:], c.text("field_delim", ","), c.flag("use_quote_delim", True),
        name=c.name, na_value=c.text("na_value", ""),
        select_cols=c.integers("select_cols") or None,
    )  # fmt: skip


def _reduce_join(c: Call) -> Any:
    axes = c.constant(1).reshape(-1).tolist()
    keep, separator = c.flag("keep_dims"), c.text("separator", "")
    return tf.reduce_join(c[0], axes, keep, separator, name=c.name)


def _replaced(c: Call) -> Any:
    return tf.regex_replace(c[0], c[1], c[2], c.flag("replace_global", True), name=c.name)


def _replaced_by_attributes(c: Call) -> Any:
    everywhere = c.flag("replace_global", True)
    return tf.regex_replace(c[0], c.text("pattern"), c.text("rewrite"), everywhere, name=c.name)


def _cased(function: str, c: Call) -> Any:
    return getattr(tf.strings, function)(c[0], c.text("encoding", ""), name=c.name)


def _substring(c: Call) -> Any:
    return tf.strings.substr(c[0], c[1], c[2], name=c.name, unit=c.text("unit", "BYTE"))


def _split(c: Call) -> Any:
    separator = c.constant(1).item()
    return sparse(tf.string_split(c[0], separator.decode(), c.flag("skip_empty", True)))


def _split_v2(c: Call) -> Any:
    separator = c.constant(1).item().decode()
    return sparse(tf.strings.split(c[0], separator, c.integer("maxsplit", -1)))


def _transcoded(c: Call) -> Any:
    return tf.strings.unicode_transcode(
        c[0], c.text("input_encoding"), c.text("output_encoding"), c.text("errors", "replace"),
        c.integer("replacement_char", 65533), c.flag("replace_control_characters"), name=c.name,
    )  # fmt: skip


def _bucket_strong(c: Call) -> Any:
    key = c.integers("key")
    return tf.string_to_hash_bucket_strong(c[0], c.integer("num_buckets"), key, name=c.name)


def _bucket(function: str, c: Call) -> Any:
    return getattr(tf, function)(c[0], c.integer("num_buckets"), name=c.name)


def _joined_segments(c: Call) -> Any:
    separator = c.text("separator", "")
    return tf.strings.unsorted_segment_join(c[0], c[1], c[2], separator, name=c.name)


def _format(c: Call) -> Any:
    return tf.strings.format(
        c.text("template", "%s"), c.tensors, c.text("placeholder", "%s"),
        c.integer("summarize", 3), name=c.name,
    )  # fmt: skip


def _print(c: Call) -> Any:
    first, most = c.integer("first_n", -1), c.integer("summarize", 3)
    return tf.Print(c[0], c.tensors[1:], c.text("message", ""), first, most, name=c.name)


def _sharded(c: Call) -> Any:
    """NAME-00001-of-00004"""
    shard, count = (tf.strings.as_string(c[i], width=5, fill="0") for i in (1, 2))
    return tf.strings.join([c[0], "-", shard, "-of-", count], name=c.name)


def _all_shards(c: Call) -> Any:
    """NAME-?????-of-00004"""
    count = tf.strings.as_string(c[1], width=5, fill="0")
    return tf.strings.join([c[0], "-?????-of-", count], name=c.name)


ROWS: dict[str, Row] = {
    "AsString": _as_string,
    "DecodeCSV": _decode_csv,
    "DecodePaddedRaw": _decode_padded,
    "DecodeRaw": _decode_raw,
    "EncodeBase64": lambda c: tf.encode_base64(c[0], c.flag("pad"), name=c.name),
    "Fact": lambda c: tf.constant("0! == 1", name=c.name),
    "Print": _print,
    "ReduceJoin": _reduce_join,
    "RegexReplace": _replaced,
    "ShardedFilename": _sharded,
    "ShardedFilespec": _all_shards,
    "StaticRegexFullMatch": lambda c: tf.strings.regex_full_match(
        c[0], c.text("pattern"), name=c.name
    ),
    "StaticRegexReplace": _replaced_by_attributes,
    "StringFormat": _format,
    "StringJoin": lambda c: tf.strings.join(c.tensors, c.text("separator", ""), name=c.name),
    "StringLength": lambda c: tf.strings.length(c[0], name=c.name, unit=c.text("unit", "BYTE")),
    "StringLower": partial(_cased, "lower"),
    "StringSplit": _split,
    "StringSplitV2": _split_v2,
    "StringToHashBucket": partial(_bucket, "string_to_hash_bucket"),
    "StringToHashBucketFast": partial(_bucket, "string_to_hash_bucket_fast"),
    "StringToHashBucketStrong": _bucket_strong,
    "StringToNumber": lambda c: tf.string_to_number(
        c[0], c.dtype("out_type", tf.float32), name=c.name
    ),
    "StringUpper": partial(_cased, "upper"),
    "Substr": _substring,
    "UnicodeTranscode": _transcoded,
    "UnsortedSegmentJoin": _joined_segments,
}
