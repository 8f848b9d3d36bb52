"""The operators of the standard on strings: StringConcat, StringSplit, StringNormalizer,
RegexFullMatch, TfIdfVectorizer."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from graphio.runtime import letters, regex
from graphio.runtime.registry import Array, Call, Function, function, kernel
from graphio.support import errors

_INVALID = errors.InvalidArgumentError


def _bytes(value: Any) -> bytes:
    return value.encode("utf-8", "surrogateescape") if isinstance(value, str) else bytes(value)


def _listed(call: Call, key: str) -> list[Any] | None:
    value = call.attrs.get(key)
    if value is None or isinstance(value, list):
        return value
    raise _INVALID(message=f"attribute {key!r} is {type(value).__name__}, expected a list")


def _strings(values: list[bytes], shape: tuple[int, ...]) -> Array:
    made = np.empty(len(values), object)
    made[:] = values
    shaped: Array = made.reshape(shape)
    return shaped


# ---- StringConcat, StringSplit ----


def _concat(x: Any, y: Any) -> Array:
    both = np.broadcast_arrays(x, y)
    pairs = zip(both[0].ravel(), both[1].ravel(), strict=True)
    return _strings([a + b for a, b in pairs], both[0].shape)


function("StringConcat", 20, _concat, "SS")


@kernel("StringSplit", since=20, types="S", fresh=True)
def _split(call: Call) -> Function:
    mark = _bytes(call.attrs.get("delimiter", b"")) or None
    limit = max(call.integer("maxsplit", -1), -1)

    def split(x: Any) -> tuple[Array, Array]:
        parts = [text.split(mark, limit) for text in x.ravel().tolist()]
        counts = np.array([len(p) for p in parts], np.int64).reshape(x.shape)
        most = max(map(len, parts), default=0)
        flat = [part for p in parts for part in [*p, *[b""] * (most - len(p))]]
        return _strings(flat, (*x.shape, most)), counts

    return split


# ---- StringNormalizer ----


@kernel("StringNormalizer", since=10, types="S", fresh=True)
def _normalizer(call: Call) -> Function:
    action, exact = call.text("case_change_action", "NONE"), call.integer("is_case_sensitive", 0)
    ways = {"NONE": None, "LOWER": "lower", "UPPER": "upper"}
    if action not in ways:
        raise _INVALID(message=f"case_change_action is {action!r}, expected NONE, LOWER or UPPER")
    way = ways[action]

    def key(word: str) -> str:
        return word if exact else "".join(chr(letters.folded(ord(c))) for c in word)

    stops = {key(letters.text_of(_bytes(w))) for w in _listed(call, "stopwords") or []}

    def normalize(x: Any) -> Array:
        if x.ndim not in (1, 2) or (x.ndim == 2 and x.shape[0] != 1):
            raise _INVALID(
                message=f"the input has shape {list(x.shape)}, expected a vector or one row"
            )
        words = [letters.text_of(word) for word in x.ravel().tolist()]
        kept = [word for word in words if key(word) not in stops] or [""]
        made = [(letters.changed(w, way) if way else w).encode() for w in kept]
        return _strings(made, (1, -1) if x.ndim == 2 else (-1,))

    return normalize


# ---- RegexFullMatch ----


@kernel("RegexFullMatch", since=20, types="S", fresh=True)
def _full_match(call: Call) -> Function:
    if "pattern" not in call.attrs:
        raise _INVALID(message="attribute pattern is missing")
    program = regex.compile(letters.text_of(_bytes(call.attrs["pattern"])))

    def match(x: Any) -> Array:
        found = [program.full_match(letters.text_of(text)) for text in x.ravel().tolist()]
        matched: Array = np.array(found, bool).reshape(x.shape)
        return matched

    return match


# ---- TfIdfVectorizer ----


def _needed(call: Call, key: str, least: int) -> int:
    if key not in call.attrs:
        raise _INVALID(message=f"attribute {key} is missing")
    value = call.integer(key, 0)
    if value < least:
        raise _INVALID(message=f"{key} is {value}, expected at least {least}")
    return value


def _grams(call: Call, pool: list[Any], positions: list[int]) -> dict[tuple[Any, ...], int]:
    """The n-grams of the pool and their positions in the output; those of n items lie from
    ngram_counts[n - 1] on."""
    counts = [*(call.integers("ngram_counts") or []), len(pool)]
    shortest, longest = call.integer("min_gram_length", 1), call.integer("max_gram_length", 1)
    found: list[tuple[Any, ...]] = []
    for n, (begin, end) in enumerate(zip(counts, counts[1:], strict=False), 1):
        if not 0 <= begin <= end <= len(pool) or (end - begin) % n:
            raise _INVALID(
                message=f"ngram_counts: the {n}-grams are items {begin} to {end} of {len(pool)}"
            )
        found += [tuple(pool[at : at + n]) for at in range(begin, end, n)]
    if len(found) != len(positions):
        raise _INVALID(message=f"the pool has {len(found)} n-grams, ngram_indexes {len(positions)}")
    pairs = zip(found, positions, strict=True)
    kept = [(gram, position) for gram, position in pairs if shortest <= len(gram) <= longest]
    twice = [gram for gram, count in Counter(gram for gram, _ in kept).items() if count > 1]
    if twice:
        raise _INVALID(message=f"the pool has an n-gram of {len(twice[0])} items twice")
    return dict(kept)


@kernel("TfIdfVectorizer", since=9, types="T", fresh=True)
def _tfidf(call: Call) -> Function:
    mode = call.text("mode", "")
    if mode not in ("TF", "IDF", "TFIDF"):
        raise _INVALID(message=f"mode is {mode!r}, expected TF, IDF or TFIDF")
    shortest = _needed(call, "min_gram_length", 1)
    _needed(call, "max_gram_length", shortest)
    skips = _needed(call, "max_skip_count", 0)
    strings, numbers = _listed(call, "pool_strings"), call.integers("pool_int64s")
    if bool(strings) == bool(numbers):
        raise _INVALID(message="expected one of the attributes pool_strings and pool_int64s")
    positions = call.integers("ngram_indexes")
    if not positions or not call.integers("ngram_counts"):
        raise _INVALID(
            message="attributes ngram_counts and ngram_indexes are needed, and not empty"
        )
    if min(positions) < 0 or max(positions) >= 2**31 - 1:
        raise _INVALID(message=f"ngram_indexes has {min(positions)}, expected at least 0")
    grams = _grams(call, numbers or list(map(_bytes, strings or [])), positions)
    widest = max(map(len, grams), default=0)
    weights, listed = None, _listed(call, "weights")
    if listed:
        if len(listed) != len(positions):
            raise _INVALID(
                message=f"there are {len(listed)} weights and {len(positions)} ngram_indexes"
            )
        weights = np.zeros(max(positions) + 1, np.float32)
        weights[positions] = listed

    def row(items: list[Any], result: Array) -> None:
        least = shortest
        for step in range(1, min(skips + 1, len(items)) + 1):
            for n in range(least, widest + 1):
                for begin in range(len(items) - (n - 1) * step):
                    position = grams.get(tuple(items[begin : begin + (n - 1) * step + 1 : step]))
                    if position is not None:
                        result[position] += 1
            least = max(least, 2)  # single items are the same whatever is skipped

    def count(x: Any) -> Array:
        if x.dtype.kind != ("O" if strings else "i") or x.ndim > 2:
            raise _INVALID(
                message=f"the input is {x.dtype}{list(x.shape)}, expected a vector or rows of "
                f"{'strings' if strings else 'integers'} as the pool"
            )
        rows = x.reshape(x.shape[0] if x.ndim == 2 else 1, -1).tolist() if x.size else x.tolist()
        result = np.zeros((x.shape[0] if x.ndim == 2 else 1, max(positions) + 1), np.float32)
        for items, into in zip(rows, result, strict=False):
            row(items, into)
        if mode != "TF":
            scale = np.float32(1) if weights is None else weights
            result = (
                result * scale if mode == "TFIDF" else np.where(result > 0, scale, np.float32(0))
            )
        return result if x.ndim == 2 else result[0]

    return count
