"""The standard's operators on strings."""

from __future__ import annotations

from typing import Any

import numpy as np

from cases import bad, case
from graphio.support import errors

INVALID, MISSING = errors.InvalidArgumentError, errors.UnimplementedError


def strings(*values: Any) -> Any:
    """A vector of text."""
    made = np.empty(len(values), object)
    made[:] = [v.encode() if isinstance(v, str) else v for v in values]
    return made


AB = strings("a", "", "ü\0")
for label, x, y, expected in (
    ("equal shapes", AB, strings("1", "2", "3"), strings("a1", "2", "ü\x003")),
    ("a scalar", np.array(b"-", object), AB, strings("-a", "-", "-ü\0")),
    (
        "both broadcast",
        AB.reshape(3, 1),
        strings("x", "y"),
        strings("ax", "ay", "x", "y", "ü\0x", "ü\0y").reshape(3, 2),
    ),
    ("no UTF-8", strings(b"\xff"), strings(b"\xfe"), strings(b"\xff\xfe")),
    ("nothing", AB[:0], AB[:1], AB[:0]),
):
    case("StringConcat", [x, y], expect=[expected], label=label)
bad("StringConcat", [AB, AB[:2]], error=INVALID, words=["StringConcat 'node'"], label="shapes")
bad("StringConcat", [AB, np.array([1])], error=MISSING, words=["input 1"], label="numbers")

# ---- StringSplit ----

LINES = strings("a, b,,c", "", " x  y ").reshape(1, 3, 1)
for label, attrs, rows in (
    ("white space", {}, [["a,", "b,,c"], [], ["x", "y"]]),
    ("an empty mark", {"delimiter": ""}, [["a,", "b,,c"], [], ["x", "y"]]),
    ("a mark", {"delimiter": ","}, [["a", " b", "", "c"], [""], [" x  y "]]),
    ("letters", {"delimiter": ",,"}, [["a, b", "c"], [""], [" x  y "]]),
    ("one cut", {"delimiter": ",", "maxsplit": 1}, [["a", " b,,c"], [""], [" x  y "]]),
    ("one word", {"maxsplit": 1}, [["a,", "b,,c"], [], ["x", "y "]]),
    ("no cut", {"delimiter": ",", "maxsplit": 0}, [["a, b,,c"], [""], [" x  y "]]),
):
    widest = max(map(len, rows))
    flat = [part for row in rows for part in row + [""] * (widest - len(row))]
    counts = np.array([len(row) for row in rows]).reshape(1, 3, 1)
    case(
        "StringSplit",
        [LINES],
        attrs,
        expect=[strings(*flat).reshape(1, 3, 1, widest), counts],
        label=label,
    )
case("StringSplit", [AB[:0]], expect=[np.empty((0, 0), object), np.zeros(0, int)], label="nothing")
case(
    "StringSplit", [np.array(b"a b", object)], expect=[strings("a", "b"), np.array(2)], label="one"
)
bad(
    "StringSplit",
    [np.array([1])],
    error=MISSING,
    words=["StringSplit 'node'"],
    outputs=2,
    label="numbers",
)
bad(
    "StringSplit",
    [AB],
    {"delimiter": 3},
    error=INVALID,
    words=["attribute", "delimiter"],
    label="delimiter",
    outputs=2,
)

# ---- StringNormalizer ----

DAYS = strings("Monday", "TUESDAY", "straße", "ÉCOLE", "monday", "", "ǅ")
for label, attrs, expected in (
    ("as it is", {}, DAYS),
    ("small", {"case_change_action": "LOWER"}, "monday tuesday straße école monday  ǆ"),
    ("large", {"case_change_action": "UPPER"}, "MONDAY TUESDAY STRAßE ÉCOLE MONDAY  Ǆ"),
    (
        "without the same words",
        {"stopwords": ["monday", "TUESDAY", "école"], "is_case_sensitive": 1},
        "Monday straße ÉCOLE  ǅ",
    ),
    (
        "without words of any case",
        {"stopwords": ["monday", "STRAẞE", "école", "ǆ"], "case_change_action": "UPPER"},
        "TUESDAY ",
    ),
):
    made = strings(*expected.split(" ")) if isinstance(expected, str) else expected
    case("StringNormalizer", [DAYS], attrs, expect=[made], label=label)
    case("StringNormalizer", [DAYS[None]], attrs, expect=[made[None]], label=f"{label}, a row")
case(
    "StringNormalizer",
    [DAYS[:1]],
    {"stopwords": ["MONDAY"]},
    expect=[strings("")],
    label="no word stays",
)
case("StringNormalizer", [DAYS[None, :0]], expect=[strings("")[None]], label="nothing")
for label, x, attrs, words in (
    ("action", DAYS, {"case_change_action": "lower"}, ["case_change_action is 'lower'", "LOWER"]),
    ("rank", np.array(b"a", object), {}, ["expected a vector or one row"]),
    ("rows", np.stack([DAYS, DAYS]), {}, ["expected a vector or one row"]),
    ("invalid UTF-8", strings(b"a\xff"), {}, ["UTF-8"]),
    ("no word", DAYS, {"stopwords": [b"\xff"]}, ["UTF-8"]),
    ("list", DAYS, {"stopwords": "a"}, ["stopwords"]),
):
    bad("StringNormalizer", [x], attrs, error=INVALID, words=words, label=label)

# ---- RegexFullMatch ----

WORDS = strings("", "a", "ab", "aab", "b", "ABab", "a\nb", "ü", "www.example.com", "K\u212a")
for pattern, expected in (
    ("a*b?", [1, 1, 1, 1, 1, 0, 0, 0, 0, 0]),
    ("(?i)(ab)+", [0, 0, 1, 0, 0, 1, 0, 0, 0, 0]),
    ("(?s)a.*b", [0, 0, 1, 1, 0, 0, 1, 0, 0, 0]),
    ("a.*b", [0, 0, 1, 1, 0, 0, 0, 0, 0, 0]),
    ("(?m)a$\n^b", [0, 0, 0, 0, 0, 0, 1, 0, 0, 0]),
    (r"[^a-c\s]", [0, 0, 0, 0, 0, 0, 0, 1, 0, 0]),
    (r"\x{fc}|[[:alpha:]]{2,3}", [0, 0, 1, 1, 0, 0, 0, 1, 0, 0]),
    (r"www\.[\w-]+\.\bcom\b", [0, 0, 0, 0, 0, 0, 0, 0, 1, 0]),
    (r"(?i:k)+", [0, 0, 0, 0, 0, 0, 0, 0, 0, 1]),
    (r"\Qa\E{2}b|(?P<rest>b)", [0, 0, 0, 1, 1, 0, 0, 0, 0, 0]),
    ("", [1, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
    ("(a*)*", [1, 1, 0, 0, 0, 0, 0, 0, 0, 0]),
    ("(a?){500}a{0}b*", [1, 1, 1, 1, 1, 0, 0, 0, 0, 0]),
):
    case(
        "RegexFullMatch",
        [WORDS],
        {"pattern": pattern},
        expect=[np.array(expected, bool)],
        label=ascii(pattern),
    )
for pattern, expected in (
    ("(?i)\u0131", [1, 0, 0, 0, 0]),  # the dotless i equals no other i
    ("(?i)[\U0001e900-\U0010ffff]", [0, 0, 0, 1, 1]),  # and letters end before characters do
):
    case(
        "RegexFullMatch",
        [strings("\u0131", "i", "I", "\U0010ffff", "\U0001e922")],
        {"pattern": pattern},
        expect=[np.array(expected, bool)],
        label=ascii(pattern),
    )
case(
    "RegexFullMatch",
    [strings("a" * 3000, "a" * 3000 + "b").reshape(2, 1)],
    {"pattern": "(a|a|aa)*c?b"},
    expect=[np.array([[False], [True]])],
    label="what would make others try again and again",
)
for pattern, words in (
    ("(", "'(' is not closed"),
    ("a)", "')' closes nothing"),
    ("*", "follows nothing"),
    ("a**", "follows nothing"),
    ("a|+", "follows nothing"),
    ("[a", "ends too early"),
    ("a\\", "ends too early"),
    ("[b-a]", "backwards"),
    ("[[:letters:]]", "no"),
    (r"(a)\1", "referred"),
    (r"\y", "no"),
    (r"\x{110000}", "hexadecimal"),
    ("(?=a)", "group"),
    ("(?<!a)", "group"),
    ("(?P<1 2>a)", "name"),
    ("(?i-)", "flags"),
    ("a{1001}", "1000"),
    ("a{3,2}", "bad repetition"),
    ("(a{100}){1000}", "10000 steps"),
    ("(" * 1001 + ")" * 1001, "deeper than 1000"),
    ("ü(", "character 2"),
):
    bad(
        "RegexFullMatch",
        [WORDS],
        {"pattern": pattern},
        error=INVALID,
        words=["pattern", words],
        label=ascii(pattern[:20]),
    )
for pattern in (r"\pL", r"\P{Greek}", r"\C"):
    bad("RegexFullMatch", [WORDS], {"pattern": pattern}, error=MISSING, words=["\\"], label=pattern)
bad("RegexFullMatch", [WORDS], error=INVALID, words=["pattern is missing"], label="no pattern")
bad(
    "RegexFullMatch", [strings(b"\xc3")], {"pattern": "a"}, error=INVALID, words=["UTF-8"],
    label="invalid UTF-8",
)  # fmt: skip

# ---- TfIdfVectorizer ----

ROW = np.array([1, 1, 3, 3, 3, 7], np.int64)
POOL: dict[str, Any] = {
    "mode": "TF",
    "min_gram_length": 1,
    "max_gram_length": 2,
    "max_skip_count": 0,
    "ngram_counts": [0, 4],
    "ngram_indexes": [5, 1, 2, 3, 4, 0, 6],
    "pool_int64s": [2, 3, 5, 4, 5, 6, 7, 8, 3, 7],
}
for label, changes, expected in (
    ("counts", {}, [0, 3, 0, 0, 0, 0, 1]),
    ("skips", {"max_skip_count": 5}, [0, 3, 0, 0, 0, 0, 3]),
    ("pairs alone", {"min_gram_length": 2}, [0, 0, 0, 0, 0, 0, 1]),
    ("single items", {"max_gram_length": 1}, [0, 3, 0, 0, 0, 0, 0]),
    ("whether", {"mode": "IDF"}, [0, 1, 0, 0, 0, 0, 1]),
    ("weights", {"mode": "IDF", "weights": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]},
     [0, 2, 0, 0, 0, 0, 7]),
    ("both", {"mode": "TFIDF", "weights": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]},
     [0, 6, 0, 0, 0, 0, 7]),
):  # fmt: skip
    expected_values = np.array(expected, np.float32)
    case("TfIdfVectorizer", [ROW], {**POOL, **changes}, expect=[expected_values], label=label)
    rows = np.stack([ROW, ROW * 0, ROW]).astype(np.int32)
    case(
        "TfIdfVectorizer",
        [rows],
        {**POOL, **changes},
        expect=[np.stack([expected_values, expected_values * 0, expected_values])],
        label=f"{label}, rows",
    )
STRINGS: dict[str, Any] = {
    **{k: v for k, v in POOL.items() if k != "pool_int64s"},
    "max_gram_length": 3,
    "ngram_counts": [0, 1, 1],
    "ngram_indexes": [0, 1],
    "pool_strings": ["ab", "a", "", "ü"],
}
case(
    "TfIdfVectorizer",
    [strings("ab", "a", "", "ü", "a", "", "ab")],
    STRINGS,
    expect=[np.float32([2, 1])],
    label="texts",
)
case("TfIdfVectorizer", [ROW[:0]], POOL, expect=[np.zeros(7, np.float32)], label="nothing")
case(
    "TfIdfVectorizer", [np.array(3)], POOL, expect=[np.float32([0, 1, 0, 0, 0, 0, 0])], label="one"
)
for label, x, attrs, words in (
    ("mode", ROW, {"mode": "tf"}, ["mode is 'tf'"]),
    ("lengths", ROW, {"max_gram_length": 0}, ["max_gram_length is 0"]),
    ("skips", ROW, {"max_skip_count": -1}, ["max_skip_count is -1"]),
    ("both pools", ROW, {"pool_strings": ["a"]}, ["expected one of"]),
    ("texts", strings("a"), {}, ["input", "as the pool"]),
    ("rank", ROW[None, None], {}, ["vector or rows"]),
    ("counts", ROW, {"ngram_counts": [0, 99]}, ["1-grams", "99"]),
    ("halves", ROW, {"ngram_counts": [0, 3]}, ["2-grams"]),
    ("places", ROW, {"ngram_indexes": [0, 1]}, ["7 n-grams", "2"]),
    ("negative", ROW, {"ngram_indexes": [-1] * 7}, ["-1"]),
    ("weights", ROW, {"weights": [1.0]}, ["1 weights"]),
    ("twice", ROW, {"pool_int64s": [2, 3, 5, 4, 5, 6, 5, 6, 3, 7]}, ["2 items twice"]),
):
    bad("TfIdfVectorizer", [x], {**POOL, **attrs}, error=INVALID, words=words, label=label)
bad("TfIdfVectorizer", [ROW.astype(np.float32)], POOL, error=MISSING,
    words=["input 0", "int32, int64 or strings"], label="type")  # fmt: skip
for key in ("mode", "min_gram_length", "max_skip_count", "ngram_counts", "pool_int64s"):
    bad(
        "TfIdfVectorizer",
        [ROW],
        {k: v for k, v in POOL.items() if k != key},
        error=INVALID,
        words=[key],
        label=f"without {key}",
    )
