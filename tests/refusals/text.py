"""Texts and sequences."""

from __future__ import annotations

import numpy as np

from graphio.support.errors import UnimplementedError
from refusals import FLOAT, f, i, of, refused, texts

S = object
DEEP = texts(*[1] * 16)
refused("graphio.StringLength", [texts(1)], "unit", unit="a" * 99, outputs=[np.int32])
refused(
    "graphio.Substr",
    [texts(1), of(np.int32), of(np.int32)],
    "has no kernel; it takes",
    UnimplementedError,
    unit="BYTE",
)
refused("graphio.Substr", [texts(2), i(3), i(3)], "of the shape of string[2]", unit="BYTE")
refused("graphio.Substr", [np.array([b"a" * 200], S), np.array(300), i()], "a" * 100, unit="BYTE")
refused("graphio.StringTransform", [texts(1)], "way", way="a" * 99)
refused("StringNormalizer", [texts(1)], "case_change_action", case_change_action="a" * 99)
refused("StringNormalizer", [texts(1, 1, 1)], "StringNormalizer")
refused(
    "graphio.StringToNumber",
    [np.array([b""], S)],
    "could not correctly convert",
    dtype=1,
    outputs=[FLOAT],
)
refused(
    "graphio.StringToNumber",
    [np.array([b"  "], S)],
    "could not correctly convert",
    dtype=1,
    outputs=[FLOAT],
)
refused(
    "graphio.StringToNumber",
    [np.array([b"x" * 300], S)],
    "could not correctly convert",
    dtype=1,
    outputs=[FLOAT],
)
number = {"precision": -1, "scientific": 0, "shortest": 0, "width": -1, "fill": ""}
refused(
    "graphio.AsString",
    [f(1)],
    "Fill argument not supported",
    outputs=[S],
    **{**number, "fill": "a" * 50, "width": 3},
)
refused("graphio.AsString", [f(1)], "precision", outputs=[S], **{**number, "precision": 2**20})
refused("graphio.AsString", [f(1)], "width", outputs=[S], **{**number, "width": 2**20})
for name in ("scientific", "shortest"):
    refused("graphio.AsString", [i(1)], name, outputs=[S], **{**number, name: 1})
refused("graphio.AsString", [i(1)], "precision", outputs=[S], **{**number, "precision": 2})
refused(
    "graphio.DecodeRaw",
    [texts(1)],
    "elements of type 0",
    UnimplementedError,
    dtype=0,
    little_endian=1,
    outputs=[np.uint8],
)
refused(
    "graphio.DecodeRaw",
    [texts(1)],
    "elements of type 99",
    UnimplementedError,
    dtype=99,
    little_endian=1,
    outputs=[np.uint8],
)
refused(
    "graphio.DecodeRaw",
    [DEEP],
    "rank 16",
    dtype=2,
    little_endian=1,
    outputs=[np.uint8],
    runtime=None,
)
refused("StringSplit", [DEEP], "rank 16", UnimplementedError, outputs=[S, np.int64], runtime=None)
tfidf = {
    "max_gram_length": 1,
    "max_skip_count": 0,
    "min_gram_length": 1,
    "mode": "TF",
    "ngram_counts": [0],
    "ngram_indexes": [0],
    "pool_int64s": [1],
}
refused("TfIdfVectorizer", [i(2)], "mode", outputs=[FLOAT], **{**tfidf, "mode": "a" * 99})
refused("TfIdfVectorizer", [texts(2)], "integers", outputs=[FLOAT], **tfidf)
words = {key: value for key, value in tfidf.items() if key != "pool_int64s"} | {
    "pool_strings": ["a"]
}
refused("TfIdfVectorizer", [i(2)], "strings", outputs=[FLOAT], **words)
refused("TfIdfVectorizer", [i(2)], "TfIdf", outputs=[FLOAT], **{**tfidf, "ngram_indexes": []})
refused("TfIdfVectorizer", [i(2)], "TfIdf", outputs=[FLOAT], **{**tfidf, "ngram_counts": []})
refused(
    "TfIdfVectorizer",
    [i(2)],
    "ngram_indexes",
    outputs=[FLOAT],
    **{**tfidf, "ngram_indexes": [2**31]},
)
refused(
    "TfIdfVectorizer", [i(2)], "ngram_counts", outputs=[FLOAT], **{**tfidf, "ngram_counts": [-1]}
)
refused(
    "TfIdfVectorizer",
    [i(2)],
    "ngram_counts",
    outputs=[FLOAT],
    **{**tfidf, "ngram_counts": [1, 0], "max_gram_length": 2},
)
for pattern in (
    "\\x",
    "\\x{",
    "\\x{}",
    "\\x{110000}",
    "\\x{123456789}",
    "\\xA",
    "\\1",
    "[[:^",
    "[[:a",
    "(?P<",
    "(?P<a",
    "(?P<>x)",
    "(?<",
    "(?--i)",
    "(?)",
    "a{2000}",
    "a{1,2000}",
    "a{20000000000}",
    "(?",
    b"\xff",
    "[",
):
    refused("RegexFullMatch", [texts(1)], "RegexFullMatch", pattern=pattern, outputs=[np.bool_])
for pattern in (
    "(?<=a)",
    "(?<!a)",
    "(?P=x)",
    "[[:nope:]]",
    "\\é",
    "a**b{2,1}",
    "[\\",
    "[[:",
    "[a-",
    "(?i",
    "(?z)",
    "a{3,1}",
    "(?P>x)",
    "(?-)",
):
    refused("RegexFullMatch", [texts(1)], "RegexFullMatch", pattern=pattern, outputs=[np.bool_])
for pattern in ("[[:al", "[\\E]", "[a\\", "(a", "a)", "(?:a", "[z-a]"):
    refused("RegexFullMatch", [texts(1)], "RegexFullMatch", pattern=pattern, outputs=[np.bool_])
