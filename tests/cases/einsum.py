"""Einsum and determinants."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from cases import ALL_NUMBERS, FLOATS, bad, case, floats, integers
from graphio.support import errors

INVALID = errors.InvalidArgumentError


def by_hand(terms: Sequence[str], output: str, xs: Sequence[np.ndarray]) -> np.ndarray:
    """The sum over every value of every label, one multiplication at a time."""
    size: dict[str, int] = {}
    for term, x in zip(terms, xs, strict=True):
        for label, n in zip(term, x.shape, strict=True):
            size[label] = n if size.get(label, 1) == 1 else size[label]
    labels = sorted(size)
    result = np.zeros([size[label] for label in output], xs[0].dtype)
    for values in itertools.product(*(range(size[label]) for label in labels)):
        at = dict(zip(labels, values, strict=True))
        matmul = xs[0].dtype.type(1)
        for term, x in zip(terms, xs, strict=True):
            index = tuple(at[t] if n > 1 else 0 for t, n in zip(term, x.shape, strict=True))
            matmul = matmul * x[index]
        result[tuple(at[label] for label in output)] += matmul
    return result


# (equation, terms and output with the ellipsis written out, shapes)
EQUATIONS = (
    ("i->i", "i->i", (3,)),
    ("ij->ji", "ij->ji", (2, 3)),
    ("ii", "ii->", (3, 3)),
    ("ii->i", "ii->i", (3, 3)),
    ("iji->j", "iji->j", (3, 2, 3)),
    ("ij->", "ij->", (2, 3)),
    ("ijk->j", "ijk->j", (2, 3, 4)),
    ("ba", "ba->ab", (2, 3)),
    ("Ba , b", "Ba,b->Bab", (2, 3), (2,)),
    ("...ij->...ji", "abij->abji", (2, 1, 2, 3)),
    ("i...->...", "iab->ab", (2, 3, 4)),
    ("ij,jk->ik", "ij,jk->ik", (2, 3), (3, 4)),
    ("ij,jk", "ij,jk->ik", (2, 3), (3, 4)),
    ("ij,kj->ki", "ij,kj->ki", (2, 3), (4, 3)),
    ("bij,bjk->bik", "bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
    ("bij,bkj->kbi", "bij,bkj->kbi", (2, 3, 4), (2, 5, 4)),
    ("i,i->", "i,i->", (20,), (20,)),
    ("i,j->ij", "i,j->ij", (3,), (4,)),
    ("ij,ij->ij", "ij,ij->ij", (3, 4), (3, 4)),
    ("ij,ji->ij", "ij,ji->ij", (3, 4), (4, 3)),
    ("ij,k->jk", "ij,k->jk", (2, 3), (4,)),
    ("ij,kl->", "ij,kl->", (2, 3), (4, 2)),
    ("ii,ij->j", "ii,ij->j", (3, 3), (3, 2)),
    ("...ij,...jk", "abij,bjk->abik", (2, 3, 2, 4), (3, 4, 2)),
    ("...i,...i->...", "ai,bi->ab", (2, 3), (1, 3)),
    ("a,ab,abc->abc", "a,ab,abc->abc", (2,), (2, 3), (2, 3, 4)),
    ("ij,jk,kl->il", "ij,jk,kl->il", (2, 3), (3, 4), (4, 2)),
    (",ij->ji", ",ij->ji", (), (2, 3)),
    ("bhid,bhjd->bhij", "bhid,bhjd->bhij", (2, 2, 3, 4), (2, 2, 5, 4)),
    ("bihd,bjhd->bhij", "bihd,bjhd->bhij", (2, 3, 2, 4), (2, 5, 2, 4)),
    ("ij,jk->ik", "ij,jk->ik", (1, 3), (1, 4)),
    ("ij,jk->ik", "ij,jk->ik", (2, 0), (0, 3)),
    ("ij,jk->ik", "ij,jk->ik", (0, 2), (2, 3)),
)
for number, (equation, written, *shapes) in enumerate(EQUATIONS):
    left, _, out = written.partition("->")
    if equation == "...i,...i->...":  # a size of 1 spreads
        left, out = "ai,ai->a".split("->")
    for kind in (*FLOATS, "int32"):
        xs = [
            floats(*s, seed=i).astype(kind)
            if kind in FLOATS
            else integers(*s, low=-9, high=9, seed=i, dtype=kind)
            for i, s in enumerate(shapes)
        ]
        case(
            "Einsum",
            xs,
            {"equation": equation},
            expect=lambda *xs, left=left, out=out: by_hand(left.split(","), out, xs),
            atol=1e-5 if kind == "float32" else 1e-12,
            label=f"{number} {equation} {kind}",
        )
for kind in ALL_NUMBERS[2:]:
    for equation in ("ij,jk->ki", "ij->i", "ij->ji"):
        left, _, out = equation.partition("->")
        xs = [integers(4, 4, low=0, high=100, seed=i).astype(kind) for i in range(2)]
        case(
            "Einsum",
            xs[: left.count(",") + 1],
            {"equation": equation},
            expect=lambda *xs, left=left, out=out: by_hand(left.split(","), out, xs),
            label=f"wraps {equation} {kind}",
        )
case(
    "Einsum",
    [floats(70, 300), floats(300, 40, seed=1)],
    {"equation": "ij,jk->ki"},
    expect=lambda a, b: (a @ b).T,
    types=FLOATS,
    atol=1e-4,
    label="large",
)
for label, equation, shapes_, words in (
    ("terms", "ij,jk->ik", ((2, 3),), "terms"),
    ("rank", "ij->i", ((2, 3, 4),), "term 0"),
    ("sizes", "ij,jk->ik", ((2, 3), (4, 5)), "label j"),
    ("diagonal", "ii->i", ((2, 3),), "label i"),
    ("unknown", "ij->ik", ((2, 3),), "label k"),
    ("twice", "ij->ii", ((2, 3),), "label i"),
    ("sign", "i+->i", ((2,),), "equation"),
    ("arrow", "ij-ji", ((2, 3),), "equation"),
    ("behind", "ij->i,j", ((2, 3),), "equation"),
):
    bad(
        "Einsum",
        [floats(*s) for s in shapes_],
        {"equation": equation},
        error=INVALID,
        words=["Einsum 'node'", words],
        label=label,
    )

# ---- determinants ----

for n in (1, 2, 3, 6):
    case("Det", [floats(n, n)], expect=np.linalg.det, types=FLOATS, rtol=1e-5, label=f"{n}")
case("Det", [floats(2, 3, 4, 4)], expect=np.linalg.det, types=FLOATS, rtol=1e-5, label="batch")
case("Det", [np.ones((3, 3))], expect=[np.float64(0)], types=FLOATS, label="singular")
case("Det", [np.eye(4)[[1, 0, 3, 2]]], expect=[np.float64(1)], types=FLOATS, label="permutation")
case("Det", [np.zeros((2, 0, 0))], expect=lambda x: np.ones(2), types=FLOATS, label="no rows")
case("Det", [np.zeros((0, 2, 2))], expect=lambda x: np.ones(0), types=FLOATS, label="no matrices")
bad("Det", [floats(2, 3)], error=INVALID, words=["Det 'node'", "square"], label="not square")
bad("Det", [floats(3)], error=INVALID, words=["Det 'node'"], label="vector")
bad(
    "Det",
    [np.eye(2, dtype="int64")],
    error=errors.UnimplementedError,
    words=["int64"],
    label="integers",
)
