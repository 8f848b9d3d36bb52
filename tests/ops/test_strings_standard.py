"""Letters of every language, regular expressions and n-grams: against Python's own, at random."""

from __future__ import annotations

import itertools
import re
import sys
import unicodedata

import engines
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

ENGINES = ("runtime", "cinfer")


def strings(values: list[str]) -> np.ndarray:
    made = np.empty(len(values), object)
    made[:] = [v.encode() for v in values]
    return made


def run(engine: str, op: str, x: np.ndarray, version: int, dtype: type = object, **attrs):
    data, fed = engines.one_node(op, [x], dict(sorted(attrs.items())), [dtype], version=version)
    return engines.run(engine, data, fed)[0]


def simple(c: str, way: str) -> str:
    """The mapping of one character to one."""
    made = getattr(c, way)()
    return made if len(made) == 1 else c


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("action", "way"), [("LOWER", "lower"), ("UPPER", "upper")])
def test_each_letter_has_its_other_case(engine: str, action: str, way: str) -> None:
    """Letters that Unicode gained after version 15 are left out."""
    new = set(
        itertools.chain(range(0x10D50, 0x10D90), range(0xA7CB, 0xA7DD), range(0x1C89, 0x1C8B))
    )
    letters = [
        chr(c)
        for c in range(sys.maxunicode + 1)
        if unicodedata.category(chr(c))[0] in "LMNS" and c not in new | {0x19B, 0x264}
    ]
    found = run(engine, "StringNormalizer", strings(letters), 10, case_change_action=action)
    assert [t.decode() for t in found] == [simple(c, way) for c in letters]


def pieces(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    signs = ["*", "+", "?", "{2}", "{1,3}", "{2,}", "{0,2}", "*?", "{0}", "{0,}"]
    return st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda p: f"({p[0]}|{p[1]})"),
        inner.map(lambda p: f"(?:{p}|)"),
        inner.map(lambda p: f"(?i:{p})"),
        inner.map(lambda p: f"(?s:{p})"),
        inner.map(lambda p: f"(?m:{p})"),
        st.tuples(inner, st.sampled_from(signs)).map(lambda p: f"({p[0]}){p[1]}"),
    )


ATOMS = ["a", "b", "É", ".", "[ab]", "[^a]", r"\w", r"\W", r"\d", r"\s", "[b-c]", r"\b", "^", r"\n"]
PATTERNS = st.recursive(st.sampled_from(ATOMS), pieces, max_leaves=8)
STRINGS = st.lists(st.text("abcAé1 \n", max_size=6), min_size=1, max_size=8)


@settings(max_examples=150, deadline=None)
@given(pattern=PATTERNS, lines=STRINGS)
# A part that is repeated zero times is longer than the program that is left.
@example(pattern="(?i:((^|^)){0})", lines=["", "1\nA", "A"])
@example(pattern="(a|b|[ab]|.|^|(aa|bb){1,3}){0}", lines=["", "a", "aa"])
@example(pattern="(a{2}){0}b(((a|b)*|a){0}|a)", lines=["b", "ba", "bb"])
def test_a_pattern_matches_what_python_says(pattern: str, lines: list[str]) -> None:
    r"""Python's \b, \w and \d are those of ASCII by its flag, whose letters have no case beyond."""
    flags = re.ASCII if not any(c in pattern for c in "Éé") else re.UNICODE
    if flags == re.UNICODE and re.search(r"\\[wWbd]|\[", pattern):
        return
    expected = [re.compile(pattern, flags).fullmatch(line) is not None for line in lines]
    for engine in ENGINES:
        found = run(engine, "RegexFullMatch", strings(lines), 20, bool, pattern=pattern)
        assert found.tolist() == expected, engine


@settings(max_examples=100, deadline=None)
@given(pattern=st.text("ab()[]|*+?{}1,\\^-:.$dwQEx<P=!iz", max_size=12))
def test_any_text_is_a_pattern_of_both_engines_or_of_none(pattern: str) -> None:
    outcomes = []
    for engine in ENGINES:
        try:
            lines = strings(["", "a", "ab", "ba1"])
            outcomes.append(
                run(engine, "RegexFullMatch", lines, 20, bool, pattern=pattern).tolist()
            )
        except Exception as error:
            outcomes.append(type(error).__name__)
    assert outcomes[0] == outcomes[1]


def grams(row: list[int], n: int, skips: int) -> list[tuple[int, ...]]:
    """All n-grams of a row whose items lie 1 to skips + 1 apart."""
    steps = range(1, skips + 2) if n > 1 else (1,)
    return [
        tuple(row[at + i * step] for i in range(n))
        for step in steps
        for at in range(len(row) - (n - 1) * step)
    ]


@settings(max_examples=60, deadline=None)
@given(
    rows=st.lists(st.lists(st.integers(0, 3), min_size=5, max_size=5), min_size=1, max_size=3),
    pool=st.lists(st.lists(st.integers(0, 3), min_size=1, max_size=3).map(tuple), min_size=1,
                  max_size=8, unique=True),
    skips=st.integers(0, 3),
)  # fmt: skip
def test_n_grams_are_counted(
    rows: list[list[int]], pool: list[tuple[int, ...]], skips: int
) -> None:
    pool = sorted(pool, key=len)
    starts = [sum(len(g) for g in pool if len(g) < n) for n in (1, 2, 3)]
    attrs = {
        "mode": "TF", "min_gram_length": 1, "max_gram_length": 3, "max_skip_count": skips,
        "ngram_counts": starts, "ngram_indexes": list(range(len(pool)))[::-1],
        "pool_int64s": [i for gram in pool for i in gram],
    }  # fmt: skip
    expected = [[grams(row, len(g), skips).count(g) for g in pool[::-1]] for row in rows]
    for engine in ENGINES:
        found = run(engine, "TfIdfVectorizer", np.array(rows), 9, np.float32, **attrs)
        assert found.tolist() == expected
