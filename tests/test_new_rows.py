"""Products of cinfer that were planned for other numbers of rows: a plan that is fitted gives the
bits of a new one, and refuses what a new one refuses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import engines
import numpy as np
import pytest
from engines import Builder, tensor_type
from hypothesis import example, given, settings
from hypothesis import strategies as st

from graphio.errors import OpError

cinfer = engines.module("cinfer")

Array = np.ndarray[Any, Any]
F, D = np.float32, np.float64
INNER, COLUMNS, KEPT = 5, 4, 8  # KEPT: the plans of a signature before one is fitted
Sizes = tuple[int, int]
Shapes = Callable[[Sizes], dict[str, tuple[int, ...]]]


def numbers(*shape: int, dtype: Any = F) -> Array:
    return np.random.RandomState(sum(shape)).standard_normal(shape).astype(dtype)


def bytes_of(*shape: int) -> Array:
    return np.random.RandomState(sum(shape)).randint(0, 256, shape, np.uint8)


class Model(Builder):
    """Signature "run" of one product, from inputs a and, if wanted, other."""

    def product(
        self,
        op: str,
        *constants: Array | str | None,
        a: tuple[int | None, ...],
        other: tuple[int | None, ...] | None = None,
        program: dict[str, Any] | None = None,
        dtype: Any = F,
        gives: Any = None,
        **attrs: Any,
    ) -> bytes:
        self.placeholder("a", dtype, a)
        fed = {"a": "a"}
        if other is not None:
            self.placeholder("other", dtype, other)
            fed["other"] = "other"
        inputs = ["a"]
        for i, value in enumerate(constants):
            if isinstance(value, np.ndarray):
                self.constant(f"c{i}", value)
                value = f"c{i}"
            inputs.append(value or "")
        domain, version = ("graphio", 1) if program else ("", 13)
        attrs.update(program or {})
        result = tensor_type(gives or dtype)
        self.node("y", op, inputs, [result], attrs, domain=domain, version=version)
        outputs = {"y": "y"}
        if other is not None and "other" not in inputs:
            self.node("z", "Abs", ["other"], [tensor_type(dtype)], {}, version=13)
            outputs["z"] = "z"
        self.signature(fed, outputs, [], "run")
        return self.bytes()


def relu_of_sum(inputs: int) -> dict[str, Any]:
    """The program relu(product + input), of as many inputs as the program has."""
    return {"ops": ["Add", "Relu"], "operands": [0, 1, inputs]}


B = numbers(INNER, COLUMNS)
ROWS, OTHER_ROWS = (None, INNER), (None, COLUMNS)

# Each makes a model and says what shapes two sizes are: a's rows, and those of `other`.
MODELS: dict[str, tuple[Callable[[Model], bytes], Shapes]] = {
    "matrix": (lambda m: m.product("MatMul", B, a=ROWS), lambda n: {"a": (n[0], INNER)}),
    "of doubles": (
        lambda m: m.product("MatMul", B.astype(D), a=ROWS, dtype=D),
        lambda n: {"a": (n[0], INNER)},
    ),
    "of bytes": (
        lambda m: m.product(
            "MatMulInteger", bytes_of(INNER, COLUMNS), bytes_of(), bytes_of(), a=ROWS,
            dtype=np.uint8, gives=np.int32,
        ),
        lambda n: {"a": (n[0], INNER)},
    ),
    "large": (
        lambda m: m.product("MatMul", numbers(520, 300), a=(None, 520)),
        lambda n: {"a": (n[0] * 40, 520)},
    ),
    "few columns": (
        lambda m: m.product("MatMul", numbers(70, 2), a=(None, 70)),
        lambda n: {"a": (n[0], 70)},
    ),
    "stack": (
        lambda m: m.product("MatMul", B, a=(None, None, INNER)),
        lambda n: {"a": (*n, INNER)},
    ),
    "two stacks": (
        lambda m: m.product("MatMul", B[None], a=(None, None, INNER)),
        lambda n: {"a": (*n, INNER)},
    ),
    "both fed": (
        lambda m: m.product("MatMul", "other", a=(None, None), other=(None, COLUMNS)),
        lambda n: {"a": n, "other": (n[1], COLUMNS)},
    ),
    "depth that differs": (
        lambda m: m.product("MatMul", B, a=(None, None)),
        lambda n: {"a": n},
    ),
    "transposed": (
        lambda m: m.product("Gemm", numbers(COLUMNS, INNER), a=(None, None), transA=1, transB=1),
        lambda n: {"a": n},
    ),
    "transposed, one row": (
        lambda m: m.product("Gemm", B, a=(None, 1), other=OTHER_ROWS, transA=1),
        lambda n: {"a": (n[0], 1), "other": (n[1], COLUMNS)},
    ),
    "row added": (
        lambda m: m.product("Gemm", B, numbers(COLUMNS), a=ROWS, alpha=0.5),
        lambda n: {"a": (n[0], INNER)},
    ),
    "rows added": (
        lambda m: m.product("Gemm", B, "other", a=ROWS, other=OTHER_ROWS),
        lambda n: {"a": (n[0], INNER), "other": (n[1], COLUMNS)},
    ),
    "numbers of rows added": (
        lambda m: m.product("Gemm", B, "other", a=ROWS, other=(None, 1)),
        lambda n: {"a": (n[0], INNER), "other": (n[1], 1)},
    ),
    "rows that count nothing": (
        lambda m: m.product("Gemm", B, "other", a=ROWS, other=OTHER_ROWS, beta=0.0),
        lambda n: {"a": (n[0], INNER), "other": (n[1], COLUMNS)},
    ),
    "constant rows": (
        lambda m: m.product("Gemm", B, numbers(3, COLUMNS), a=ROWS),
        lambda n: {"a": (n[0], INNER)},
    ),
    "program": (
        lambda m: m.product(
            "FusedMatMul", B, numbers(COLUMNS), a=ROWS, program=relu_of_sum(2)
        ),
        lambda n: {"a": (n[0], INNER)},
    ),
    "program with rows": (
        lambda m: m.product(
            "FusedMatMul", B, "other", a=ROWS, other=OTHER_ROWS, program=relu_of_sum(2)
        ),
        lambda n: {"a": (n[0], INNER), "other": (n[1], COLUMNS)},
    ),
    "program with numbers of rows": (
        lambda m: m.product(
            "FusedGemm", B, None, "other", a=ROWS, other=(None, 1), program=relu_of_sum(2)
        ),
        lambda n: {"a": (n[0], INNER), "other": (n[1], 1)},
    ),
    "program with a matrix a row": (
        lambda m: m.product(
            "FusedMatMul", B, "other", a=(None, 3, INNER), other=(None, 3, COLUMNS),
            program=relu_of_sum(2),
        ),
        lambda n: {"a": (n[0], 3, INNER), "other": (n[1], 3, COLUMNS)},
    ),
    "program with the same matrix each row": (
        lambda m: m.product(
            "FusedMatMul", B, "other", a=(None, 3, INNER), other=(None, COLUMNS),
            program=relu_of_sum(2),
        ),
        lambda n: {"a": (n[0], 3, INNER), "other": (n[1], COLUMNS)},
    ),
    "program over long rows": (
        lambda m: m.product(
            "FusedMatMul", numbers(2, 4100), "other", a=(None, 2), other=(None, 4100),
            program=relu_of_sum(2),
        ),
        lambda n: {"a": (n[0], 2), "other": (n[1], 4100)},
    ),
}  # fmt: skip


def outcome(signature: Any, feeds: dict[str, Array]) -> tuple[str, bytes]:
    try:
        y = signature(**feeds)["y"]
    except OpError as error:
        return str(error), b""
    return f"{y.dtype}{y.shape}", y.tobytes()


# As many plans as are kept, then sizes that do not fit, or that change one input alone.
FIVE_ROWS = [(INNER, n) for n in range(2, KEPT + 2)]
ALIKE = [(n, n) for n in range(2, KEPT + 2)]


@pytest.mark.parametrize("name", MODELS)
@example([*FIVE_ROWS, (INNER + 1, 2), (INNER + 1, INNER + 1)])
@example([*ALIKE, (3, 2), (KEPT + 2, 4)])
@settings(max_examples=10, deadline=None)
@given(
    st.lists(
        st.tuples(st.integers(0, 9), st.sampled_from([1, 2, 3, 5, 9]))
        | st.integers(0, 9).map(lambda n: (n, n)),
        min_size=KEPT + 2,
        max_size=2 * KEPT,
        unique=True,
    )
)
def test_other_rows_give_what_a_fresh_session_gives(name: str, sizes: list[Sizes]) -> None:
    make, shapes = MODELS[name]
    data = make(Model())
    one = cinfer.load(data).signature("run")
    for size in sizes:
        feeds = {
            key: numbers(*shape, dtype=D if name == "of doubles" else F)
            if name != "of bytes"
            else bytes_of(*shape)
            for key, shape in shapes(size).items()
        }
        fresh = cinfer.load(data).signature("run")
        assert outcome(one, feeds) == outcome(fresh, feeds), size
