"""Matrix multiplications in cinfer that were planned for other numbers of rows: a fitted plan
gives the bits of a new one, and refuses what a new one refuses."""

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
F = np.float32
DTYPES = {"of doubles": np.float64, "of halves": np.float16, "of bytes": np.uint8}
INNER, COLUMNS, KEPT = 5, 4, 8  # KEPT: the plans of a signature before one is fitted
Sizes = tuple[int, int]
Shapes = Callable[[Sizes], dict[str, tuple[int, ...]]]


def numbers(*shape: int, dtype: Any = F) -> Array:
    rng = np.random.RandomState(sum(shape))
    if dtype == np.uint8:
        return np.asarray(rng.randint(0, 256, shape), np.uint8)
    return np.asarray(rng.standard_normal(shape), dtype)


class Model(Builder):
    """Signature "run" of one matrix multiplication, of inputs a and, if given, other."""

    def matmul(
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
    """The program relu(result + input), of as many inputs as the program has."""
    return {"ops": ["Add", "Relu"], "operands": [0, 1, inputs]}


B = numbers(INNER, COLUMNS)
ROWS, OTHER_ROWS = (None, INNER), (None, COLUMNS)

# Each makes a model and says what shapes two sizes are: a's rows, and those of `other`.
MODELS: dict[str, tuple[Callable[[Model], bytes], Shapes]] = {
    "matrix": (lambda m: m.matmul("MatMul", B, a=ROWS), lambda n: {"a": (n[0], INNER)}),
    "of doubles": (
        lambda m: m.matmul("MatMul", B.astype(np.float64), a=ROWS, dtype=np.float64),
        lambda n: {"a": (n[0], INNER)},
    ),
    "of halves": (
        lambda m: m.matmul("MatMul", B.astype(np.float16), a=ROWS, dtype=np.float16),
        lambda n: {"a": (n[0], INNER)},
    ),
    "of bytes": (
        lambda m: m.matmul(
            "MatMulInteger", numbers(INNER, COLUMNS, dtype=np.uint8),
            *2 * [numbers(dtype=np.uint8)], a=ROWS, dtype=np.uint8, gives=np.int32,
        ),
        lambda n: {"a": (n[0], INNER)},
    ),
    "large": (
        lambda m: m.matmul("MatMul", numbers(520, 300), a=(None, 520)),
        lambda n: {"a": (n[0] * 40, 520)},
    ),
    "large results": (  # three rows and fewer have less than 4 KB
        lambda m: m.matmul("MatMul", numbers(INNER, 300), a=ROWS),
        lambda n: {"a": (n[0], INNER)},
    ),
    "few columns in several blocks": (
        lambda m: m.matmul(
            "FusedMatMul", numbers(40, 20), numbers(20), a=(None, 40), program=relu_of_sum(2)
        ),
        lambda n: {"a": (n[0], 40)},
    ),
    "few columns": (
        lambda m: m.matmul("MatMul", numbers(70, 2), a=(None, 70)),
        lambda n: {"a": (n[0], 70)},
    ),
    "stack": (
        lambda m: m.matmul("MatMul", B, a=(None, None, INNER)),
        lambda n: {"a": (*n, INNER)},
    ),
    "two stacks": (
        lambda m: m.matmul("MatMul", B[None], a=(None, None, INNER)),
        lambda n: {"a": (*n, INNER)},
    ),
    "both fed": (
        lambda m: m.matmul("MatMul", "other", a=(None, None), other=(None, COLUMNS)),
        lambda n: {"a": n, "other": (n[1], COLUMNS)},
    ),
    "depth that differs": (
        lambda m: m.matmul("MatMul", B, a=(None, None)),
        lambda n: {"a": n},
    ),
    "transposed": (
        lambda m: m.matmul("Gemm", numbers(COLUMNS, INNER), a=(None, None), transA=1, transB=1),
        lambda n: {"a": n},
    ),
    "transposed, one row": (
        lambda m: m.matmul("Gemm", B, a=(None, 1), other=OTHER_ROWS, transA=1),
        lambda n: {"a": (n[0], 1), "other": (n[1], COLUMNS)},
    ),
    "row added": (
        lambda m: m.matmul("Gemm", B, numbers(COLUMNS), a=ROWS, alpha=0.5),
        lambda n: {"a": (n[0], INNER)},
    ),
    "rows added": (
        lambda m: m.matmul("Gemm", B, "other", a=ROWS, other=OTHER_ROWS),
        lambda n: {"a": (n[0], INNER), "other": (n[1], COLUMNS)},
    ),
    "numbers of rows added": (
        lambda m: m.matmul("Gemm", B, "other", a=ROWS, other=(None, 1)),
        lambda n: {"a": (n[0], INNER), "other": (n[1], 1)},
    ),
    "rows that count nothing": (
        lambda m: m.matmul("Gemm", B, "other", a=ROWS, other=OTHER_ROWS, beta=0.0),
        lambda n: {"a": (n[0], INNER), "other": (n[1], COLUMNS)},
    ),
    "with another input, whose rows are fixed": (
        lambda m: m.matmul("MatMul", B, a=ROWS, other=(3, COLUMNS)),
        lambda n: {"a": (n[0], INNER), "other": (n[1] if n[1] == 5 else 3, COLUMNS)},
    ),
    "constant rows": (
        lambda m: m.matmul("Gemm", B, numbers(3, COLUMNS), a=ROWS),
        lambda n: {"a": (n[0], INNER)},
    ),
    "program": (
        lambda m: m.matmul(
            "FusedMatMul", B, numbers(COLUMNS), a=ROWS, program=relu_of_sum(2)
        ),
        lambda n: {"a": (n[0], INNER)},
    ),
    "program with rows": (
        lambda m: m.matmul(
            "FusedMatMul", B, "other", a=ROWS, other=OTHER_ROWS, program=relu_of_sum(2)
        ),
        lambda n: {"a": (n[0], INNER), "other": (n[1], COLUMNS)},
    ),
    "program with numbers of rows": (
        lambda m: m.matmul(
            "FusedGemm", B, None, "other", a=ROWS, other=(None, 1), program=relu_of_sum(2)
        ),
        lambda n: {"a": (n[0], INNER), "other": (n[1], 1)},
    ),
    "program with a matrix a row": (
        lambda m: m.matmul(
            "FusedMatMul", B, "other", a=(None, 3, INNER), other=(None, 3, COLUMNS),
            program=relu_of_sum(2),
        ),
        lambda n: {"a": (n[0], 3, INNER), "other": (n[1], 3, COLUMNS)},
    ),
    "program with the same matrix each row": (
        lambda m: m.matmul(
            "FusedMatMul", B, "other", a=(None, 3, INNER), other=(None, COLUMNS),
            program=relu_of_sum(2),
        ),
        lambda n: {"a": (n[0], 3, INNER), "other": (n[1], COLUMNS)},
    ),
    "program over long rows": (
        lambda m: m.matmul(
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
@example([*ALIKE, (KEPT + 2, KEPT + 3)])
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
    several = [cinfer.load(data, threads=threads).signature("run") for threads in (1, 2)]
    for size in sizes:
        feeds = {
            key: numbers(*shape, dtype=DTYPES.get(name, F)) for key, shape in shapes(size).items()
        }
        fresh = cinfer.load(data).signature("run")
        expected = outcome(fresh, feeds)
        assert [outcome(one, feeds) for one in several] == [expected, expected], size


def test_rows_that_need_more_memory_than_the_session_may_have_are_refused() -> None:
    data = Model().matmul("MatMul", B, a=ROWS)
    signature = cinfer.load(data, limits={"max_memory": 4096}).signature("run")
    for rows in (*range(2, KEPT + 3), 4096, 3):
        a = numbers(rows, INNER)
        if rows < 4096:
            np.testing.assert_allclose(signature(a=a)["y"], a @ B, rtol=1e-5, atol=1e-6)
        else:
            with pytest.raises(OpError, match="output 0 of 65536 bytes exceeds the .* limit"):
                signature(a=a)
