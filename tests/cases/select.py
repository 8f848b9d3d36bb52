"""Elements kept, left out or put elsewhere."""

from __future__ import annotations

import numpy as np

from cases import ALL_NUMBERS, FLOATS, bad, case, floats, integers
from graphio.support import errors

INVALID = errors.InvalidArgumentError
MOVED = (*ALL_NUMBERS, "bool")
TEXT = np.array([[b"b", b"", b"a"], [b"b\x00", b"a", b""]], object)
NAN, INF = np.nan, np.inf


def kinds(*shape: int, seed: int = 0) -> dict[str, np.ndarray]:
    """One array of each type."""
    found = {t: integers(*shape, low=0, high=9, seed=seed).astype(t) for t in MOVED}
    found.update({t: floats(*shape, seed=seed).astype(t) for t in FLOATS})
    return found


# ---- TopK ----


def top_k(k: int, axis: int = -1, largest: bool = True) -> object:
    """The k best along an axis by a sort of (value, index) pairs."""

    def expect(x: np.ndarray, *rest: object) -> tuple[np.ndarray, np.ndarray]:
        lines = np.moveaxis(x, axis, -1)
        positions = np.empty((*lines.shape[:-1], k), np.int64)
        for at in np.ndindex(lines.shape[:-1]):
            line = lines[at].tolist()
            # NaN counts as larger than every number.
            rank = [(v != v, 0 if v != v else v) for v in line]
            if largest:
                order = sorted(range(len(line)), key=lambda i: (-rank[i][0], -rank[i][1], i))
            else:
                order = sorted(range(len(line)), key=lambda i: (*rank[i], i))
            positions[at] = order[:k]
        positions = np.moveaxis(positions, -1, axis)
        return np.take_along_axis(x, positions, axis), positions

    return expect


for label, x in kinds(4, 5, 6).items():
    if label != "bool":
        case("TopK", [x, [3]], expect=top_k(3), label=label)
        case("TopK", [x, [2]], {"axis": 0, "largest": 0}, expect=top_k(2, 0, False), label=label)
CORNERS = np.array([[0.0, NAN, -0.0, INF, NAN, -INF, 1.0], [NAN, NAN, NAN, 2.0, 2.0, 2.0, -1.0]])
for largest in (0, 1):
    for count in (0, 1, 4, 7):
        case(
            "TopK",
            [CORNERS, [count]],
            {"largest": largest},
            expect=top_k(count, -1, bool(largest)),
            types=FLOATS,
            label=f"corners-{largest}-{count}",
        )
EDGES = np.array([2**63 - 1, -(2**63), 0, -1])
case("TopK", [EDGES, [4]], expect=top_k(4), label="edges")
case("TopK", [np.array([2**64 - 1, 0, 2**63], "uint64"), [3]], expect=top_k(3), label="edges")
case("TopK", [np.zeros((0, 3)), [2]], expect=top_k(2), types=FLOATS, label="empty")
case("TopK", [np.zeros((3, 0)), [0]], expect=top_k(0), types=FLOATS, label="nothing")
case("TopK", [floats(3, 300), [37]], {"sorted": 0}, expect=top_k(37), types=FLOATS, label="long")
case("TopK", [floats(7, 9), np.array([4], "int64")], {"axis": -2}, expect=top_k(4, 0), label="axis")
for label, count in (("above", [4]), ("negative", [-1]), ("two", [1, 1])):
    bad("TopK", [floats(2, 3), count], error=INVALID, words=["TopK 'node'"], outputs=2, label=label)
bad(
    "TopK",
    [floats(2, 3), [1]],
    {"axis": 2},
    error=INVALID,
    words=["TopK 'node'", "axis 2"],
    outputs=2,
    label="axis",
)

# ---- Unique ----


def unique(axis: int | None = None, by_value: bool = True) -> object:
    """Found one item after another in a list."""

    def key(v: object) -> tuple[bool, object]:
        return (v != v, b"" if isinstance(v, bytes) and v != v else 0 if v != v else v)

    def expect(x: np.ndarray) -> tuple[np.ndarray, ...]:
        flat = x.reshape(-1) if axis is None else x
        items = np.moveaxis(flat, axis or 0, 0)
        rows = [tuple(key(v) for v in np.asarray(i).reshape(-1).tolist()) for i in items]
        if x.dtype == object:
            rows = [tuple((False, v) for v in np.ravel(np.asarray(i, object))) for i in items]
        seen = list(dict.fromkeys(rows))
        ordered = sorted(seen) if by_value else seen
        first = np.array([rows.index(r) for r in ordered], np.int64)
        inverse = np.array([ordered.index(r) for r in rows], np.int64)
        count = np.array([rows.count(r) for r in ordered], np.int64)
        return np.take(flat, first, axis or 0), first, inverse, count

    return expect


for label, x in kinds(3, 4, 2, seed=2).items():
    case("Unique", [x], expect=unique(), label=label)
    case("Unique", [x], {"sorted": 0}, expect=unique(None, False), label=f"{label}-unsorted")
    doubled = np.concatenate([x, x[::-1]])
    case("Unique", [doubled], {"axis": 0}, expect=unique(0), label=f"{label}-rows")
    case(
        "Unique",
        [doubled],
        {"axis": -2, "sorted": 0},
        expect=unique(1, False),
        label=f"{label}-middle",
    )
case("Unique", [TEXT], expect=unique(), label="text")
case("Unique", [TEXT], {"axis": 1, "sorted": 0}, expect=unique(1, False), label="text-columns")
case("Unique", [CORNERS], expect=unique(), types=FLOATS, label="corners")
case("Unique", [CORNERS.T], {"axis": 0}, expect=unique(0), types=FLOATS, label="corners-rows")
COMPLEX = np.array([[1 + 2j, 0, 1 - 2j], [-0.0, 1 - 2j, -3j]])
for kind in ("complex64", "complex128"):
    x = COMPLEX.astype(kind)
    pairs = [-3j, 0, 1 - 2j, 1 + 2j]
    case(
        "Unique",
        [x],
        expect=lambda x, p=pairs: (
            np.array(p, x.dtype),
            *(np.array(v) for v in ([5, 1, 2, 0], [3, 1, 2, 1, 2, 0], [1, 2, 2, 1])),
        ),
        label=kind,
    )
    case("NonZero", [x], expect=lambda x: np.array(np.nonzero(x)), label=kind)
case("NonZero", [TEXT], expect=[np.array([[0, 0, 1, 1], [0, 2, 0, 1]])], label="text")
case("NonZero", [CORNERS], expect=lambda x: np.array(np.nonzero(x)), types=FLOATS, label="corners")
case("Unique", [np.zeros((0, 2))], expect=unique(), types=FLOATS, label="empty")
case("Unique", [np.zeros((0, 2))], {"axis": 0}, expect=unique(0), types=FLOATS, label="no-rows")
case("Unique", [np.array(3.5)], expect=unique(), types=FLOATS, label="scalar")
bad(
    "Unique",
    [floats(2, 3)],
    {"axis": 2},
    error=INVALID,
    words=["Unique 'node'", "axis 2"],
    label="axis",
)
bad(
    "Unique",
    [np.zeros((2, 0))],
    {"axis": 0},
    error=INVALID,
    words=["Unique 'node'", "no elements"],
    label="nothing to compare",
)

# ---- Compress, ReverseSequence ----

SOME = np.array([True, False, True])
for label, x in {**kinds(3, 4, 2), "text": np.array([TEXT[0], TEXT[1], TEXT[0]])}.items():
    case("Compress", [x, SOME], expect=lambda x, c: x.reshape(-1)[[0, 2]], label=label)
    case("Compress", [x, SOME], {"axis": 0}, expect=lambda x, c: x[[0, 2]], label=f"{label}-rows")
    case(
        "Compress",
        [x, SOME[:2]],
        {"axis": -2},
        expect=lambda x, c: x[..., :1, :] if x.ndim == 3 else x[:1],
        label=f"{label}-short",
    )
case("Compress", [floats(3, 2), SOME[1:2]], {"axis": 1}, expect=lambda x, c: x[:, :0], label="none")
case("Compress", [floats(0, 2), SOME[:0]], expect=lambda x, c: x.reshape(-1), label="empty")
case("Compress", [floats(0, 3), SOME], {"axis": 1}, expect=lambda x, c: x[:, :2], label="no rows")
bad(
    "Compress",
    [floats(3, 2), SOME],
    {"axis": 1},
    error=INVALID,
    words=["Compress 'node'", "at most 2"],
    label="long",
)
bad(
    "Compress",
    [floats(3, 2), SOME],
    {"axis": 2},
    error=INVALID,
    words=["Compress 'node'", "axis 2"],
    label="axis",
)


def reversed_steps(batch: int) -> object:
    def expect(x: np.ndarray, lengths: np.ndarray) -> np.ndarray:
        result = x.copy()
        for b, n in enumerate(lengths):
            if batch == 0:
                result[b, :n] = x[b, :n][::-1]
            else:
                result[:n, b] = x[:n, b][::-1]
        return result

    return expect


for label, x in {**kinds(4, 3, 2), "text": np.array([TEXT[0]] * 3 + [TEXT[1]])}.items():
    case(
        "ReverseSequence",
        [x, np.array([2, 4, 0])],
        expect=reversed_steps(1),
        label=label,
    )
    case(
        "ReverseSequence",
        [x, np.array([3, 1, 2, 0])],
        {"batch_axis": 0, "time_axis": 1},
        expect=reversed_steps(0),
        label=f"{label}-batch",
    )
case(
    "ReverseSequence",
    [np.zeros((0, 2, 3)), np.array([0, 0])],
    expect=lambda x, n: x,
    types=FLOATS,
    label="empty",
)
for label, lengths, words in (
    ("above", [2, 5, 0], "0 to 4"),
    ("below", [2, -1, 0], "0 to 4"),
    ("short", [2, 1], "sequence_lens"),
):
    bad(
        "ReverseSequence",
        [floats(4, 3, 2), np.array(lengths)],
        error=INVALID,
        words=["ReverseSequence 'node'", words],
        label=label,
    )
for label, x, attrs in (
    ("rank", floats(3), {}),
    ("same", floats(3, 3), {"batch_axis": 1, "time_axis": 1}),
    ("axis", floats(3, 3), {"batch_axis": 2, "time_axis": -1}),
):
    bad(
        "ReverseSequence",
        [x, np.array([1, 1, 1])],
        attrs,
        error=INVALID,
        words=["ReverseSequence 'node'", "expected rank 2"],
        label=label,
    )

# ---- Trilu, EyeLike ----


def triangle(upper: bool, k: int = 0) -> object:
    def expect(x: np.ndarray, *rest: object) -> np.ndarray:
        result = np.zeros_like(x)
        for r in range(x.shape[-2]):
            for c in range(x.shape[-1]):
                if (c >= r + k) if upper else (c <= r + k):
                    result[..., r, c] = x[..., r, c]
        return result

    return expect


for label, x in kinds(2, 3, 4).items():
    case("Trilu", [x], expect=triangle(True), label=label)
    case("Trilu", [x, np.array(-1)], {"upper": 0}, expect=triangle(False, -1), label=f"{label}-low")
for k in (-7, -2, 0, 1, 5, 2**63 - 1, -(2**63)):
    for upper in (0, 1):
        case(
            "Trilu",
            [floats(4, 3), np.array(k)],
            {"upper": upper},
            expect=triangle(bool(upper), k),
            types=FLOATS,
            label=f"{k}-{upper}",
        )
case("Trilu", [floats(2, 0, 3)], expect=triangle(True), types=FLOATS, label="empty")
bad("Trilu", [floats(3)], error=INVALID, words=["Trilu 'node'", "rank"], label="vector")
bad(
    "Trilu",
    [floats(3, 3), np.array([1, 2])],
    error=INVALID,
    words=["Trilu 'node'", "k "],
    label="two",
)

DTYPES = {"float32": 1, "float64": 11, "int32": 6, "int64": 7, "uint8": 2, "bool": 9, "uint64": 13}
for label, number in DTYPES.items():
    case(
        "EyeLike",
        [np.full((3, 4), 7, "int32")],
        {"dtype": number, "k": 1},
        expect=lambda x: np.eye(3, 4, 1),
        dtype=label,
        label=label,
    )
for k in (0, -2, 9, -(2**63), 2**63 - 1):
    case(
        "EyeLike",
        [floats(4, 3)],
        {"k": k},
        expect=lambda x, k=k: np.eye(4, 3, max(-9, min(9, k))),
        types=FLOATS,
        label=str(k),
    )
case("EyeLike", [np.zeros((2, 3), np.float16)], expect=lambda x: np.eye(2, 3, dtype=np.float16))
case("EyeLike", [floats(0, 3)], expect=lambda x: x, types=FLOATS, label="empty")
bad("EyeLike", [floats(2, 2, 2)], error=INVALID, words=["EyeLike 'node'"], label="rank")

# ---- CumProd ----


def matmuls(axis: int, exclusive: bool = False, reverse: bool = False) -> object:
    def expect(x: np.ndarray, *rest: object) -> np.ndarray:
        lines = np.moveaxis(x, axis, 0)
        result = np.ones_like(lines)
        order = range(len(lines))[::-1] if reverse else range(len(lines))
        with np.errstate(over="ignore"):
            running = np.ones(lines.shape[1:], x.dtype)
            for i in order:
                result[i] = running
                running = (running * lines[i]).astype(x.dtype)
                if not exclusive:
                    result[i] = running
        return np.moveaxis(result, 0, axis)

    return expect


for label, x in kinds(3, 4).items():
    if label != "bool":
        case("CumProd", [x, np.array(1)], expect=matmuls(1), label=label)
for exclusive in (0, 1):
    for reverse in (0, 1):
        case(
            "CumProd",
            [floats(3, 4, 2), np.array(-2, "int32")],
            {"exclusive": exclusive, "reverse": reverse},
            expect=matmuls(1, bool(exclusive), bool(reverse)),
            types=FLOATS,
            label=f"{exclusive}{reverse}",
        )
case("CumProd", [np.array([2.0, NAN, 0.0, INF]), 0], expect=matmuls(0), types=FLOATS, label="nan")
case("CumProd", [np.zeros((0, 2)), np.array(0)], expect=lambda x, a: x, types=FLOATS, label="empty")
bad(
    "CumProd",
    [floats(3), np.array(1)],
    error=INVALID,
    words=["CumProd 'node'", "axis 1"],
    label="axis",
)

# ---- TensorScatter ----


def cached(axis: int, circular: bool = False) -> object:
    def expect(x: np.ndarray, update: np.ndarray, starts: object = None) -> np.ndarray:
        result = x.copy()
        for b in range(x.shape[0]):
            start = 0 if starts is None else int(starts[b])
            for s in range(update.shape[axis]):
                position = (start + s) % x.shape[axis] if circular else start + s
                target = np.moveaxis(result[b], axis - 1, 0)
                target[position] = np.moveaxis(update[b], axis - 1, 0)[s]
        return result

    return expect


for label, x in kinds(2, 3, 5, 2).items():
    update = kinds(2, 3, 2, 2, seed=4)[label]
    case("TensorScatter", [x, update, np.array([3, 1])], expect=cached(2), label=label)
    case(
        "TensorScatter",
        [x, update, np.array([4, 12])],
        {"mode": "circular"},
        expect=cached(2, True),
        label=f"{label}-circular",
    )
case("TensorScatter", [floats(2, 4, 3), floats(2, 2, 3)], expect=cached(1), types=FLOATS, label="0")
case(
    "TensorScatter",
    [floats(2, 4, 3), floats(2, 4, 2), np.array([1, 0])],
    {"axis": -1},
    expect=cached(2),
    types=FLOATS,
    label="last",
)
case(
    "TensorScatter",
    [floats(2, 0, 3), floats(2, 0, 3), np.array([0, 0])],
    {"mode": "circular"},
    expect=lambda x, *r: x,
    types=FLOATS,
    label="empty",
)
for label, inputs, attrs, words in (
    ("above", [floats(2, 4, 3), floats(2, 2, 3), [3, 0]], {}, "0 to 2"),
    ("below", [floats(2, 4, 3), floats(2, 2, 3), [0, -1]], {}, "0 to 2"),
    ("large", [floats(2, 4, 3), floats(2, 5, 3)], {}, "may differ"),
    ("other", [floats(2, 4, 3), floats(2, 2, 2)], {}, "may differ"),
    ("rank", [floats(2, 4, 3), floats(2, 2)], {}, "may differ"),
    ("batch", [floats(2, 4, 3), floats(2, 2, 3), [0]], {}, "write_indices"),
    ("axis", [floats(2, 4, 3), floats(2, 4, 3)], {"axis": 0}, "axis is 0"),
    ("mode", [floats(2, 4, 3), floats(2, 4, 3)], {"mode": "other"}, "mode"),
):
    bad(
        "TensorScatter",
        inputs,
        attrs,
        error=INVALID,
        words=["TensorScatter 'node'", words],
        label=label,
    )

# ---- Flatten ----

for label, x in {**kinds(2, 3, 4), "text": TEXT.reshape(1, 2, 3)}.items():
    for axis in (-3, -1, 0, 1, 3):
        at = axis % 3 if axis < 3 else 3
        case(
            "Flatten",
            [x],
            {"axis": axis},
            expect=lambda x, at=at: x.reshape(int(np.prod(x.shape[:at])), -1),
            label=f"{label}{axis}",
        )
case("Flatten", [floats()], {"axis": 0}, expect=lambda x: x.reshape(1, 1), label="scalar")
case("Flatten", [floats(0, 3)], expect=lambda x: x, label="empty")
bad("Flatten", [floats(2, 3)], {"axis": 3}, error=INVALID, words=["Flatten 'node'"], label="axis")

LEAST = {"axis": -(2**63)}  # no sign of an absent axis
bad(
    "Compress",
    [floats(2, 3), np.array([True])],
    LEAST,
    error=INVALID,
    words=["Compress 'node'", "axis"],
    label="least axis",
)
bad("Unique", [floats(2, 3)], LEAST, error=INVALID, words=["Unique 'node'", "axis"], label="least")
case(
    "TensorScatter",
    [floats(1, 4, 2), floats(1, 2, 2, seed=1), np.array([2**63 - 1])],
    {"mode": "circular"},
    expect=lambda x, u, i: np.stack([u[:, 1], x[:, 1], x[:, 2], u[:, 0]], 1),
    types=FLOATS,
    label="largest index",
)
