"""Variables, generators, order, control flow and the engine interface, in both engines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import engines
import numpy as np
import pytest
from engines import BOTH, Builder, tensor_type

from graphio.runtime.kernels.window import check_channels
from graphio.schema.model_pb2 import Graph
from graphio.support import errors

F32 = tensor_type("float32")
I64 = tensor_type("int64", [])
BOOL = tensor_type("bool", [])


class StateBuilder(Builder):
    """A builder with variables and generators."""

    def variable(
        self, name: str, shape: list[int | None] | None, value: Any = None, dtype: str = "float32"
    ) -> str:
        """Declares a variable and the node that reads it."""
        kind = tensor_type(dtype, shape)
        entry = self.model.variable.add(name=name, dtype=kind.tensor.dtype, node=name)
        if shape is not None:
            entry.shape.CopyFrom(kind.tensor.shape)
        if value is not None:
            entry.value = len(self.arrays)
            self.arrays.append(np.asarray(value, dtype))
        self.read(name, name, "Variable", kind)
        return name

    def read(self, node: str, name: str, op: str = "ReadVariable", kind: Any = F32) -> str:
        """Adds a node that reads a variable."""
        attrs = {"variable": name, "dtype": int(kind.tensor.dtype), "shape": kind}
        self.node(node, op, [], [kind], attrs, domain="graphio")
        return node

    def assign(self, node: str, name: str, value: str) -> str:
        """Gives a variable a value."""
        self.node(node, "Assign", [value], [F32], {"variable": name}, domain="graphio")
        return node

    def add(self, node: str, *inputs: str) -> str:
        """An Add."""
        self.node(node, "Add", inputs, [F32], version=7)
        return node

    def generator(self, name: str, key: int | None = None) -> str:
        """A random generator; None: unseeded."""
        entry = self.model.resource.add(name=name)
        entry.generator.seeded = key is not None
        entry.generator.key = key or 0
        return name

    def draw(
        self, node: str, op: str, generator: str, shape: list[int], dtype: Any, *more: str
    ) -> str:
        """Random numbers."""
        sizes = self.constant(f"{node}_shape", np.array(shape, np.int64))
        kind = tensor_type(dtype)
        attrs = {"generator": generator, "dtype": int(kind.tensor.dtype)}
        self.node(node, op, [sizes, *more], [kind], attrs, domain="graphio")
        return node


def f32(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


def load(engine: str, builder: Builder, **options: Any) -> Any:
    return engines.module(engine).load(builder.bytes(), **options)


# ---- variables ----


def counter(value: Any = (1.0, 2.0)) -> StateBuilder:
    """v is read, v += x, v is read again; and v += x fails when the flag is set."""
    b = StateBuilder()
    x = b.placeholder("x", "float32", [2])
    v = b.variable("v", [2], value)
    total = b.add("total", v, x)
    b.assign("update", "v", total)
    after = b.read("after", "v")
    b.signature({"x": "x"}, {"before": v, "new": "update", "after": after})
    return b


@BOTH
def test_a_read_gives_the_value_at_its_position(engine: str) -> None:
    model = load(engine, counter())
    found = model.signature()(x=f32(10, 20))
    assert found["before"].tolist() == [1, 2]
    assert found["new"].tolist() == found["after"].tolist() == [11, 22]
    assert model.state.get("v").tolist() == [11, 22]
    assert model.signature()(x=f32(1, 1))["before"].tolist() == [11, 22]


@BOTH
def test_arrays_that_leave_are_nobody_elses(engine: str) -> None:
    b = StateBuilder()
    x = b.placeholder("x", "float32", [2])
    b.variable("v", [2], [0, 0])
    b.assign("set", "v", x)
    b.node("same", "Identity", [x], [F32])
    c = b.constant("c", f32(5, 6))
    b.signature({"x": x}, {"set": "set", "x": "x", "same": "same", "c": c, "again": c})
    model = load(engine, b)
    run = model.signature().run
    fed = f32(1, 2)
    outputs = run([fed])
    fed[:] = 9
    for output in outputs:
        output[:] = 7
    assert model.state.get("v").tolist() == [1, 2]
    copy = model.state.get("v")
    copy[:] = 8
    assert model.state.get("v").tolist() == [1, 2]
    assert run([f32(1, 2)])[3].tolist() == [5, 6]
    given = f32(3, 4)
    model.state.set("v", given)
    given[:] = 0
    assert model.state.get("v").tolist() == [3, 4]


@BOTH
def test_an_uninitialised_variable_is_refused_before_anything_runs(engine: str) -> None:
    b = StateBuilder()
    x = b.placeholder("x", "float32", [2])
    b.variable("w", [2], [0, 0])
    b.variable("v", [2])
    b.assign("set", "w", x)
    total = b.add("total", "v", "set")
    b.signature({"x": x}, {"y": total})
    model = load(engine, b)
    assert model.state.names() == ["v", "w"]
    assert not model.state.initialized("v") and model.state.initialized("w")
    with pytest.raises(
        errors.FailedPreconditionError, match="Attempting to use uninitialized value v"
    ):
        model.signature()(x=f32(1, 2))
    assert model.state.get("w").tolist() == [0, 0]
    with pytest.raises(errors.FailedPreconditionError):
        model.state.get("v")
    with pytest.raises(errors.NotFoundError):
        model.state.get("unknown")


@BOTH
def test_a_variable_that_the_run_assigns_first_needs_no_value(engine: str) -> None:
    b = StateBuilder()
    x = b.placeholder("x", "float32", [2])
    b.model.variable.add(name="v", dtype=1)  # type: ignore[arg-type]
    b.assign("set", "v", x)
    b.read("after", "v")
    b.model.graph.node[-1].control_input.append("set")
    b.signature({"x": x}, {"y": "after"})
    assert load(engine, b).signature()(x=f32(3, 4))["y"].tolist() == [3, 4]


@BOTH
def test_a_failing_run_says_which_variables_it_assigned(engine: str) -> None:
    b = StateBuilder()
    x = b.placeholder("x", "float32", [None])
    i = b.placeholder("i", "int64", [])
    b.variable("b", None, [0.0])
    b.variable("a", None, [0.0])
    b.assign("set_b", "b", x)
    b.assign("set_a", "a", "set_b")
    source = b.node("pick", "Gather", ["set_a", i], [F32], {"axis": 0}).source
    source.file, source.line, source.function = "train.py", 88, "build"
    b.signature({"x": x, "i": i}, {"y": "pick"})
    model = load(engine, b)
    assert model.signature()(x=f32(4, 5), i=-1)["y"] == 5
    with pytest.raises(errors.InvalidArgumentError) as caught:
        model.signature()(x=f32(6, 7), i=2)
    message = str(caught.value)
    assert message.startswith(
        "Gather 'pick' (train.py:88 in build): indices[] = 2 is outside -2 to 1"
    )
    assert message.endswith(" Variables already assigned by this run: a, b.")
    assert caught.value.node_name == "pick"
    assert model.state.get("a").tolist() == [6, 7]


@BOTH
def test_shapes_that_do_not_fit_are_refused_with_the_position(engine: str) -> None:
    b = StateBuilder()
    x, y = b.placeholder("x", "float32", None), b.placeholder("y", "float32", None)
    b.add("total", x, y)
    source = b.model.graph.node[-1].source
    source.file, source.line, source.function = "train.py", 88, "build"
    b.signature({"x": x, "y": y}, {"sum": "total"})
    signature = load(engine, b).signature()
    with pytest.raises(errors.InvalidArgumentError) as caught:
        signature(x=f32(1, 2, 3), y=f32(1, 2))
    assert str(caught.value).startswith("Add 'total' (train.py:88 in build): ")
    assert signature(x=f32(1, 1), y=f32(1, 2))["sum"].tolist() == [2, 3]


@BOTH
def test_assigning_another_shape_or_dtype_is_refused(engine: str) -> None:
    b = StateBuilder()
    x = b.placeholder("x", "float32", None)
    b.variable("v", [2, None], np.zeros((2, 3)))
    b.assign("set", "v", x)
    b.signature({"x": x}, {"y": "set"})
    model = load(engine, b)
    assert model.signature()(x=np.ones((2, 5)))["y"].shape == (2, 5)
    with pytest.raises(errors.InvalidArgumentError, match="v"):
        model.signature()(x=np.ones((3, 5)))
    with pytest.raises(errors.InvalidArgumentError, match="v"):
        model.state.set("v", np.ones(2, np.float32))
    with pytest.raises(errors.InvalidArgumentError, match="v"):
        model.state.set("v", np.array([[b"a"], [b"b"]], object))


@BOTH
def test_models_share_a_state(engine: str) -> None:
    state = engines.module(engine).new_state(seed=1)
    one = load(engine, counter(), state=state)
    two = load(engine, counter((100.0, 100.0)), state=state)
    one.signature()(x=f32(1, 1))
    assert two.signature()(x=f32(1, 1))["before"].tolist() == [2, 3]
    state.declare("v", 1, (2,))
    with pytest.raises(errors.InvalidArgumentError, match="v"):
        state.declare("v", 11, (2,))


@BOTH
def test_is_initialized_reads_at_its_position(engine: str) -> None:
    b = StateBuilder()
    x = b.placeholder("x", "float32", [2])
    b.variable("v", [2])
    for name in ("first", "second"):
        b.node(name, "IsInitialized", [], [BOOL], {"variable": "v"}, domain="graphio")
        if name == "first":
            b.assign("set", "v", x)
    b.signature({"x": x}, {"first": "first", "second": "second"}, targets=["set"])
    found = load(engine, b).signature()(x=f32(1, 2))
    assert not found["first"] and found["second"]


@BOTH
def test_a_state_is_saved_and_restored(engine: str, tmp_path: Path) -> None:
    b = counter()
    b.generator("g", 7)
    b.draw("noise", "RandomUniform", "g", [5], "float32")
    b.signature({}, {"noise": "noise"}, name="draw")
    model = load(engine, b)
    model.signature("run")(x=f32(1, 1))
    model.signature("draw")()
    model.state.save(str(tmp_path / "c"), step=12)
    expected = model.signature("draw")()["noise"]
    other = load(engine, b)
    assert other.state.restore(str(tmp_path / "c")) == 12
    assert other.state.get("v").tolist() == [2, 3]
    np.testing.assert_array_equal(other.signature("draw")()["noise"], expected)
    with pytest.raises(errors.NotFoundError):
        other.state.restore(str(tmp_path / "none"))


# ---- order and needs ----


@BOTH
def test_only_what_is_needed_runs(engine: str) -> None:
    b = StateBuilder()
    x = b.placeholder("x", "float32", [2])
    b.placeholder("unfed", "float32", [2])
    b.variable("v", [2], [0, 0])
    b.assign("set", "v", x)
    b.node("group", "NoOp", [], [], domain="graphio").control_input.append("set")
    b.add("double", x, x)
    b.add("never", "unfed", x)
    b.signature({"x": x}, {"y": "double"}, name="plain")
    b.signature({"x": x}, {"y": "double"}, targets=["group"], name="effect")
    b.signature({"x": x}, {"y": "never"}, name="unfed")
    model = load(engine, b)
    model.signature("plain")(x=f32(1, 2))
    assert model.state.get("v").tolist() == [0, 0]
    model.signature("effect")(x=f32(1, 2))
    assert model.state.get("v").tolist() == [1, 2]
    words = r"You must feed a value for placeholder tensor 'unfed' with dtype float and shape \[2\]"
    with pytest.raises(errors.InvalidArgumentError, match=words):
        model.signature("unfed")(x=f32(1, 2))


@BOTH
def test_any_value_can_be_fed(engine: str) -> None:
    b = StateBuilder()
    v = b.variable("v", [2])
    b.node("halves", "Split", [v], [F32, F32], {"axis": 0}, version=13)
    b.add("sum", "halves", "halves:1")
    b.signature({"v": v}, {"y": "sum"}, name="variable")
    b.signature({"a": "halves", "b": "halves:1"}, {"y": "sum", "a": "halves"}, name="outputs")
    model = load(engine, b)
    assert model.signature("variable")(v=f32(1, 2))["y"].tolist() == [3]
    found = model.signature("outputs")(a=f32(5), b=f32(6))
    assert found["y"].tolist() == [11] and found["a"].tolist() == [5]


# ---- If and Loop ----


def set_graph(node: Any, key: str, graph: Graph) -> None:
    node.attr.add(key=key).value.g.CopyFrom(graph)


def body(inputs: dict[str, Any], outputs: list[str], captures: list[str]) -> StateBuilder:
    """A builder whose graph is a body."""
    b = StateBuilder()
    for name, kind in inputs.items():
        b.model.graph.input.add(name=name, type=kind)
    b.model.graph.output.extend(outputs)
    b.model.graph.capture.extend(sorted(captures))
    return b


@BOTH
def test_if_runs_the_branch_taken(engine: str) -> None:
    b = StateBuilder()
    p = b.placeholder("p", "bool", [])
    x = b.placeholder("x", "float32", None)
    b.variable("v", [1], [0.0])
    then, other = body({}, ["then_y"], [x]), body({}, ["else_y", "x"], [x])
    then.assign("then_set", "v", x)
    then.add("then_y", "then_set", x)
    then.model.graph.output.append("then_y")
    other.node("else_y", "Neg", [x], [F32], version=6)
    node = b.node("if", "If", [p], [F32, F32])
    set_graph(node, "else_branch", other.model.graph)
    set_graph(node, "then_branch", then.model.graph)
    b.signature({"p": p, "x": x}, {"y": "if", "z": "if:1"})
    model = load(engine, b)
    found = model.signature()(p=False, x=f32(3))
    assert found["y"].tolist() == [-3] and found["z"].tolist() == [3]
    assert model.state.get("v").tolist() == [0]
    found = model.signature()(p=True, x=f32(3))
    assert found["y"].tolist() == found["z"].tolist() == [6]
    assert model.state.get("v").tolist() == [3]


@BOTH
@pytest.mark.parametrize(
    ("op", "keys"), [("If", ["else_branch", "then_branch"]), ("Scan", ["body"])]
)
def test_an_absent_condition_or_scan_input_is_refused(
    op: str, keys: list[str], engine: str
) -> None:
    b = StateBuilder()
    x = b.placeholder("x", "float32", None)
    node = b.node("node", op, [""], [F32], version=16)
    for key in keys:
        inner = body({"piece": F32} if op == "Scan" else {}, [], [x])
        inner.node(f"{key}_y", "Neg", [x], [F32], version=6)
        inner.model.graph.output.append(f"{key}_y")
        set_graph(node, key, inner.model.graph)
    if op == "Scan":
        node.attr.add(key="num_scan_inputs").value.i = 1
    b.signature({"x": x}, {"y": "node"})
    with pytest.raises(errors.InvalidArgumentError, match="input"):
        load(engine, b).signature()(x=f32(3))


def loop_model(m: int | None, condition: bool | None) -> StateBuilder:
    """s += x while s < 10; scan output: s before the step; shapes (n)."""
    b = StateBuilder()
    x = b.placeholder("x", "float32", [None])
    ten = b.constant("ten", f32(10))
    limit = "" if m is None else b.constant("limit", np.int64(m))
    start = "" if condition is None else b.constant("start", np.bool_(condition))
    row = tensor_type("float32", [2])
    inner = body({"i": I64, "go": BOOL, "s": row}, ["again", "next", "s"], [x, ten])
    inner.add("next", "s", x)
    axes = inner.constant("axes", np.array([0]))
    inner.node("largest", "ReduceMax", ["next", axes], [F32], {"keepdims": 1}, version=18)
    inner.node("again", "Less", ["largest", ten], [tensor_type("bool")], version=7)
    constant = inner.model.graph.node[1].attr[0].value
    constant.tensor = len(b.arrays)
    b.arrays.extend(inner.arrays)
    node = b.node("loop", "Loop", [limit, start, x], [F32, F32])
    set_graph(node, "body", inner.model.graph)
    b.signature({"x": x}, {"s": "loop", "rows": "loop:1"})
    return b


@BOTH
def test_loop_carries_and_collects(engine: str) -> None:
    found = load(engine, loop_model(None, None)).signature()(x=f32(3, 1))
    assert found["s"].tolist() == [12, 4]
    assert found["rows"].tolist() == [[3, 1], [6, 2], [9, 3]]
    found = load(engine, loop_model(2, True)).signature()(x=f32(3, 1))
    assert found["s"].tolist() == [9, 3] and found["rows"].shape == (2, 2)


@BOTH
@pytest.mark.parametrize(("m", "condition"), [(0, None), (None, False)])
def test_a_loop_of_no_iterations_gives_its_start(
    engine: str, m: int | None, condition: bool | None
) -> None:
    found = load(engine, loop_model(m, condition)).signature()(x=f32(3, 1))
    assert found["s"].tolist() == [3, 1]
    assert found["rows"].shape[0] == 0 and found["rows"].dtype == np.float32


@BOTH
def test_an_error_in_a_body_names_the_inner_node(engine: str) -> None:
    with pytest.raises(errors.InvalidArgumentError, match=r"Add 'next'|Less 'again'|Loop 'loop'"):
        b = loop_model(2, True)
        b.model.graph.node[-1].attr[0].value.g.node[0].input[1] = "two_of_three"
        b.model.graph.node[-1].attr[0].value.g.capture.append("two_of_three")
        b.model.graph.node[-1].attr[0].value.g.capture.sort()
        wrong = Builder()
        wrong.constant("two_of_three", f32(1, 2, 3))
        wrong.model.graph.node[0].attr[0].value.tensor = len(b.arrays)
        b.arrays.extend(wrong.arrays)
        b.model.graph.node.insert(0, wrong.model.graph.node[0])
        load(engine, b).signature()(x=f32(3, 1))


# ---- random numbers ----


def draws(op: str, dtype: str, count: int, *, key: int = 0) -> StateBuilder:
    b = StateBuilder()
    b.generator("g", key)
    more = ()
    if op == "RandomInteger":
        more = (b.constant("low", np.array(-3, dtype)), b.constant("high", np.array(1000, dtype)))
    b.draw("draw", op, "g", [count], dtype, *more)
    b.signature({}, {"y": "draw"})
    return b


def philox(key: int, counter: int, high: int = 0) -> list[int]:
    """Philox 4x32-10 of one block, in plain integers."""
    c = [counter & 0xFFFFFFFF, counter >> 32, high & 0xFFFFFFFF, high >> 32]
    k0, k1 = key & 0xFFFFFFFF, key >> 32
    for _ in range(10):
        p0, p1 = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [(p1 >> 32) ^ c[1] ^ k0, p1 & 0xFFFFFFFF, (p0 >> 32) ^ c[3] ^ k1, p0 & 0xFFFFFFFF]
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c


def test_philox_gives_the_known_words() -> None:
    words = "6627e8d5 e169c58d bc57ac4c 9b00dbd8"
    assert " ".join(f"{w:08x}" for w in philox(0, 0)) == words


@BOTH
def test_uniform_numbers_are_the_words_of_the_stream(engine: str) -> None:
    key = 0x123456789ABCDEF0
    model = load(engine, draws("RandomUniform", "float32", 6, key=key))
    words = [w for block in range(2) for w in philox(key, block)]
    expected = [(w >> 8) * 2.0**-24 for w in words[:6]]
    assert model.signature()()["y"].tolist() == expected
    assert model.state.generators() == {"g": (key, 2)}
    expected = [(w >> 8) * 2.0**-24 for w in philox(key, 2) + philox(key, 3)][:6]
    assert model.signature()()["y"].tolist() == expected
    model.state.set_generator("g", key, 2)
    assert model.signature()()["y"].tolist() == expected
    wide = load(engine, draws("RandomUniform", "float64", 3, key=key)).signature()()["y"].tolist()
    pairs = [(words[2 * i] | words[2 * i + 1] << 32) >> 11 for i in range(3)]
    assert wide == [p * 2.0**-53 for p in pairs]


@BOTH
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_integers_are_scaled_words(engine: str, dtype: str) -> None:
    found = load(engine, draws("RandomInteger", dtype, 5, key=3)).signature()()["y"]
    words = [w for block in range(3) for w in philox(3, block)]
    if dtype == "int32":
        expected = [-3 + (w * 1003 >> 32) for w in words[:5]]
    else:
        wide = [words[2 * i] | words[2 * i + 1] << 32 for i in range(5)]
        expected = [-3 + (w * 1003 >> 64) for w in wide]
    assert found.tolist() == expected and found.dtype == dtype


def normals(w: int, other: int) -> tuple[float, float]:
    u1, u2 = ((w >> 8) + 1) * 2.0**-24, (other >> 8) * 2.0**-24
    radius = np.sqrt(-2 * np.log(u1))
    return float(radius * np.cos(2 * np.pi * u2)), float(radius * np.sin(2 * np.pi * u2))


@BOTH
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_normal_numbers_follow_the_formula(engine: str, dtype: str) -> None:
    found = load(engine, draws("RandomNormal", dtype, 1001, key=5)).signature()()["y"]
    assert found.dtype == dtype and abs(found.mean()) < 0.1 and abs(found.std() - 1) < 0.1
    if dtype == "float32":
        words = [w for block in range(2) for w in philox(5, block)]
        expected = [n for i in range(0, 8, 2) for n in normals(words[i], words[i + 1])]
        np.testing.assert_allclose(found[:8], expected, rtol=1e-6)


@BOTH
def test_truncated_numbers_take_the_first_candidate_inside(engine: str) -> None:
    model = load(engine, draws("RandomTruncatedNormal", "float32", 500, key=9))
    found = model.signature()()["y"]
    assert np.abs(found).max() < 2
    assert model.state.generators() == {"g": (9, 500)}
    for i in range(0, 500, 7):
        attempt, inside = 0, []
        while not inside:
            attempt += 1
            w = philox(9, i, attempt)
            inside = [n for n in (*normals(w[0], w[1]), *normals(w[2], w[3])) if abs(n) < 2]
        np.testing.assert_allclose(found[i], inside[0], rtol=1e-6)


def test_unseeded_generators_are_keyed_alike_in_both_engines() -> None:
    keys = []
    for name in engines.NAMES:
        b = StateBuilder()
        b.generator("g")
        b.draw("draw", "RandomUniform", "g", [3], "float32")
        b.signature({}, {"y": "draw"})
        state = engines.module(name).new_state(seed=42)
        first = load(name, b, state=state).signature()()["y"]
        keys.append((state.generators()["g"], first.tolist()))
    assert keys[0] == keys[1]


@BOTH
def test_a_wrong_range_is_refused(engine: str) -> None:
    b = StateBuilder()
    b.generator("g", 1)
    bounds = (b.constant("low", np.int64(5)), b.constant("high", np.int64(5)))
    b.draw("draw", "RandomInteger", "g", [2], "int64", *bounds)
    b.signature({}, {"y": "draw"})
    with pytest.raises(errors.InvalidArgumentError, match="RandomInteger 'draw'"):
        load(engine, b).signature()()


# ---- the interface ----


@BOTH
def test_calls_check_names_and_convert(engine: str) -> None:
    b = StateBuilder()
    x, n = b.placeholder("x", "float32", [None, 2]), b.placeholder("n", "int64", [])
    b.node("shape", "Shape", [x], [tensor_type("int64", [2])])
    b.signature({"x": x, "n": n}, {"shape": "shape", "x": x, "n": n}, name="run")
    signature = load(engine, b).signature("run")
    assert signature.inputs["x"].shape == (None, 2) and signature.inputs["x"].dtype == np.float32
    assert list(signature.outputs) == ["shape", "x", "n"]
    found = signature(x=[[1, 2], [3, 4]], n=3)
    assert found["x"].dtype == np.float32 and found["n"].dtype == np.int64 and found["n"] == 3
    assert signature(x=np.ones((1, 2)), n=np.int32(1))["shape"].tolist() == [1, 2]
    with pytest.raises(
        errors.InvalidArgumentError, match="misses n and gives unknown m, o; its inputs are x, n"
    ):
        signature(x=[[1, 2]], m=1, o=2)
    with pytest.raises(errors.InvalidArgumentError, match="float64.*int64"):
        signature(x=[[1, 2]], n=np.float64(1.5))
    with pytest.raises(errors.InvalidArgumentError, match="n"):
        signature(x=[[1, 2]], n=1.5)
    with pytest.raises(errors.InvalidArgumentError, match="x"):
        signature(x=[1, 2, 3], n=1)
    with pytest.raises(errors.InvalidArgumentError, match="x"):
        signature.run([np.ones((1, 2)), np.int64(1)])
    with pytest.raises(ValueError, match="run"):
        load(engine, b).signature("other")


@BOTH
def test_files_open_by_path_and_lazily(engine: str, tmp_path: Path) -> None:
    b = counter()
    b.model.metadata.add(key="author", value="me")
    path = tmp_path / "m.gio"
    path.write_bytes(b.bytes())
    for source in (path, str(path)):
        for lazy in (False, True):
            model = engines.module(engine).load(source, lazy=lazy)
            assert model.signature()(x=f32(1, 1))["before"].tolist() == [1, 2]
            assert model.metadata == {"author": "me"} and model.signatures == ("run",)
    with pytest.raises(errors.NotFoundError):
        engines.module(engine).load(str(tmp_path / "none.gio"))
    with pytest.raises(errors.DataLossError):
        engines.module(engine).load(b.bytes()[:-1])


@BOTH
def test_unknown_operators_are_all_named(engine: str) -> None:
    b = Builder()
    x = b.placeholder("x", "float32", [2])
    b.node("one", "Frobnicate", [x], [F32], domain="mine", version=3)
    b.node("two", "Transmogrify", ["one"], [F32], domain="mine")
    b.signature({"x": x}, {"y": "two"})
    with pytest.raises(errors.UnimplementedError) as caught:
        load(engine, b).signature()
    for words in ("mine", "Frobnicate", "Transmogrify", "one", "two"):
        assert words in str(caught.value)


@BOTH
def test_text_goes_through(engine: str) -> None:
    b = Builder()
    x = b.placeholder("x", "object", None)
    b.node("same", "Identity", [x], [tensor_type("object")])
    b.signature({"x": x}, {"y": "same"})
    found = load(engine, b).signature()(x=["é", b"\x00"])["y"]
    assert found.tolist() == ["é".encode(), b"\x00"] and found.dtype == object


# ---- the Python runtime's own promises ----


def test_numpys_warnings_stay_inside() -> None:
    b = Builder()
    x = b.placeholder("x", "float32", None)
    b.node("log", "Log", [x], [F32], version=6)
    b.signature({"x": x}, {"y": "log"})
    signature = load("runtime", b).signature()
    with np.errstate(all="raise"):
        assert signature(x=f32(0, -1))["y"][0] == -np.inf
        with pytest.raises(FloatingPointError):
            np.log(f32(0))


def test_values_that_nobody_needs_any_more_are_let_go() -> None:
    import tracemalloc

    b = Builder()
    value = b.placeholder("x", "float32", [None])
    for i in range(50):
        b.node(f"n{i}", "Exp" if i % 2 else "Neg", [value], [F32], version=6)
        value = f"n{i}"
    b.signature({"x": "x"}, {"y": value})
    signature = load("runtime", b).signature()
    x = np.zeros(100_000, np.float32)
    signature.run([x])
    tracemalloc.start()
    signature.run([x])
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 * x.nbytes


def test_runs_on_one_state_wait_for_each_other() -> None:
    import threading

    model = load("runtime", counter((0.0, 0.0)))
    run = model.signature().run

    def add() -> None:
        for _ in range(200):
            run([f32(1, 2)])

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert model.state.get("v").tolist() == [800, 1600]


SCATTERED = [
    ("ScatterElements", np.arange(7, -1, -1)),
    ("ScatterND", np.arange(7, -1, -1)[:, None]),
]


def scatter_model(op: str, indices: Any, updates: Any) -> bytes:
    """A variable, scattered into; updates None: its own value, from a second read, is scattered."""
    b = StateBuilder()
    b.variable("v", [8], np.arange(8))
    if updates is None:
        b.read("u", "v")
    else:
        b.constant("u", updates)
    b.node("s", op, ["v", b.constant("i", indices), "u"], [F32], version=18)
    b.assign("a", "v", "s")
    b.signature({}, {}, ["a"], name="change")
    b.signature({}, {"y": b.read("now", "v")}, name="see")
    return b.bytes()


@BOTH
@pytest.mark.parametrize(("op", "indices"), SCATTERED)
def test_a_variable_scattered_into_itself(engine: str, op: str, indices: Any) -> None:
    model = engines.module(engine).load(scatter_model(op, indices, None))
    model.signature("change").run([])
    np.testing.assert_array_equal(model.signature("see").run([])[0], np.arange(8)[::-1])


@BOTH
@pytest.mark.parametrize(("op", "indices"), SCATTERED)
def test_a_scatter_that_fails_leaves_the_variable(engine: str, op: str, indices: Any) -> None:
    wrong = indices.copy()
    wrong[-1] = 99
    model = engines.module(engine).load(scatter_model(op, wrong, -np.ones(8, np.float32)))
    with pytest.raises(errors.InvalidArgumentError, match="99"):
        model.signature("change").run([])
    np.testing.assert_array_equal(model.signature("see").run([])[0], np.arange(8))


def test_channels_and_outputs_that_do_not_match_are_reported_at_once() -> None:
    with pytest.raises(errors.InvalidArgumentError) as raised:
        check_channels(3, 2, 9, 4)
    assert raised.value.message == (
        "x has 3 channels, w expects 8 (4 groups of 2); "
        "w gives 9 outputs, which 4 groups cannot share"
    )
