"""Random ONNX graphs through the Python runtime, cinfer and ONNX Runtime.

    GRAPHIO_DEEP=900 python tests/onnx/differential.py [SEED]     # seconds of random graphs

A graph is drawn node by node from ROWS of differential_rows.py. Each node runs at once, alone, in
all three on the same inputs, so that no tolerance has to cover more than one operator; then the
complete graph runs in both engines and must give what its nodes gave, in cinfer to the bit.
"""

from __future__ import annotations

import os
import re
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from unittest import mock

import numpy as np
import onnx
import onnxruntime
from differential_defects import DEFECTS, Defect
from differential_rows import ROWS, Array, Call, Maker
from hypothesis import HealthCheck, Phase, given, reject, seed, settings
from hypothesis import strategies as st
from hypothesis.internal.conjecture import providers
from onnx import helper, numpy_helper

import graphio.onnx
from graphio import cinfer, runtime

OPSET = 26  # the newest that ONNX Runtime takes
MOST_NODES = 8
#: by element type, of what one operator may differ by
TOLERANCE = {"float16": 2e-3, "float32": 3e-6, "float64": 1e-12}

Values = dict[str, Array]


@dataclass
class Drawn:
    """A graph as it is drawn: calls by the names of their values, and every value."""

    calls: list[tuple[Call, list[str]]] = field(default_factory=list)
    values: Values = field(default_factory=dict)
    constants: set[str] = field(default_factory=set)
    computed: list[str] = field(default_factory=list)


class Disagreement(AssertionError):
    """Two of the three gave different results."""


def proto(
    calls: Sequence[tuple[Call, list[str]]],
    values: Values,
    constants: set[str],
    outputs: Sequence[str],
    static: bool,
) -> onnx.ModelProto:
    """A model of the calls; what no call computes is a constant or an input."""
    computed = {name for _, names in calls for name in names}
    read = dict.fromkeys(n for call, _ in calls for n in call.inputs if n and n not in computed)
    inputs, weights = [], []
    for name in read:
        if name in constants:
            weights.append(numpy_helper.from_array(values[name], name))
        else:
            inputs.append(value_info(name, values[name], static))
    graph = helper.make_graph(
        [helper.make_node(c.op, c.inputs, names, **c.attrs) for c, names in calls],
        "graph",
        inputs,
        [value_info(name, values.get(name), False) for name in outputs],
        weights,
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)], ir_version=10)


def value_info(name: str, value: Array | None, static: bool) -> onnx.ValueInfoProto:
    if value is None:
        return onnx.ValueInfoProto(name=name)
    shape = value.shape if static else [f"{name}.{i}" for i in range(value.ndim)]
    number = helper.np_dtype_to_tensor_dtype(value.dtype)
    return helper.make_tensor_value_info(name, number, shape)


def run_ours(module: Any, data: bytes, values: Values, outputs: Sequence[str]) -> list[Array]:
    """The results of an engine; the values that the model reads are in `values`."""
    signature = module.load(data).signature()
    found = signature(**{key: values[key] for key in signature.inputs})
    return [np.asarray(found[name]) for name in outputs]


REFUSED: set[tuple[Any, ...]] = set()


def run_theirs(model: onnx.ModelProto, values: Values, key: tuple[Any, ...]) -> list[Array] | None:
    """The results of ONNX Runtime; None if it lacks a kernel."""
    if key in REFUSED:
        return None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    try:
        session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    except Exception as error:
        if "NOT_IMPLEMENTED" in str(error) or "INVALID_GRAPH" in str(error):
            REFUSED.add(key)
            return None
        raise
    # Copies: a kernel may write to its inputs.
    fed = {i.name: values[i.name].copy() for i in session.get_inputs()}
    found: list[Array] = session.run(None, fed)
    return found


def compare(call: Call, inputs: list[Array], ours: Array, other: Array, what: str) -> None:
    """Equal, but for what rounding may do to floats."""
    where = f"{call.op} {call.attrs}: {what}"
    if ours.dtype != other.dtype or ours.shape != other.shape:
        raise Disagreement(
            f"{where}: {ours.dtype}{ours.shape} and {other.dtype}{other.shape}{small(inputs)}"
        )
    if ours.dtype.kind != "f":
        near = np.array_equal(ours, other)
        if call.off_by and ours.dtype.kind in "iu":
            off = np.atleast_1d(ours).astype(object) - np.atleast_1d(other).astype(object)
            near = all(abs(d) <= call.off_by for d in off.reshape(-1))
    else:
        near = close(call, inputs, ours, other)
    if not near:
        raise Disagreement(f"{where}:\n{differences(ours, other)}{small(inputs)}")


def differences(a: Array, b: Array) -> str:
    """The first elements that are not equal, as far as that can be decided without a tolerance."""
    with np.errstate(all="ignore"):
        far = (a != b) & ~((a != a) & (b != b))
        if a.dtype.kind == "f":
            far &= ~np.isclose(a, b, 1e-5, 1e-7, equal_nan=True)
    positions = np.argwhere(far)[:4]
    return "\n".join(
        f"{tuple(map(int, p))}: {a[tuple(p)]!r} and {b[tuple(p)]!r}" for p in positions
    )


def small(inputs: list[Array]) -> str:
    return f"\ninputs {inputs}" if sum(x.size for x in inputs) <= 40 else ""


def close(call: Call, inputs: list[Array], ours: Array, other: Array) -> bool:
    rtol = TOLERANCE[ours.dtype.name] * call.loose
    a, b = ours.astype(np.float64), other.astype(np.float64)
    with np.errstate(all="ignore"):
        # The last finite number and infinity are neighbours.
        limit = float(np.finfo(ours.dtype).max) * (1 - 2 * rtol)
        a, b = (np.where(np.abs(x) >= limit, np.copysign(np.inf, x), x) for x in (a, b))
        return bool(np.allclose(a, b, rtol, rtol * magnitude(call, inputs), equal_nan=True))


def magnitude(call: Call, inputs: list[Array]) -> float:
    """A bound of the terms of a sum; long sums and multiplications are as wide as their inputs."""
    if not call.sums:
        return 1e-30 if call.exact_zero else 1e-6
    largest = 1.0
    for x in inputs:
        if x.dtype.kind in "fiu" and x.size:
            largest *= max(1.0, float(np.abs(x.astype(np.float64)).max()))
    return largest * max(1, max(x.size for x in inputs)) ** 0.5


class Checker:
    """Runs nodes and graphs and compares; counts what it did."""

    def __init__(self, defects: Sequence[Defect] = DEFECTS) -> None:
        self.defects: dict[str, list[Defect]] = {}
        for defect in defects:
            self.defects.setdefault(defect.op, []).append(defect)
        self.nodes: Counter[str] = Counter()
        self.theirs: Counter[str] = Counter()
        self.graphs = 0

    def node(self, graph: Drawn, call: Call, names: list[str]) -> None:
        """Runs a call alone in all three; its results become values of the graph."""
        inputs = [graph.values[n] for n in call.inputs if n]
        before = [x.tobytes() for x in inputs]
        known = {n: graph.values[n] for n in call.inputs if n}
        model = proto([(call, names)], known, graph.constants, names, static=False)
        data = graphio.onnx.convert(model)
        assert data is not None
        ours = run_ours(cinfer, data, known, names)
        for name, a, b in zip(names, ours, run_ours(runtime, data, known, names), strict=True):
            compare(call, inputs, a, b, f"{name}, cinfer and runtime")
        if before != [x.tobytes() for x in inputs]:
            raise Disagreement(f"{call.op} {call.attrs} has changed what was fed{small(inputs)}")
        self.nodes[call.op] += 1
        graph.values.update(zip(names, ours, strict=True))
        if not any(d.applies(call, inputs) for d in self.defects.get(call.op, ())):
            self.against_theirs(graph, call, names, inputs)

    def against_theirs(
        self, graph: Drawn, call: Call, names: list[str], inputs: list[Array]
    ) -> None:
        """Compares with ONNX Runtime."""
        fed = {n: graph.values[n] for n in call.inputs if n}
        kinds = {n: graph.values[n] for n in names}
        model = proto([(call, names)], {**fed, **kinds}, graph.constants, names, static=True)
        key = (call.op, *(x.dtype for x in inputs), *(x.dtype for x in kinds.values()))
        found = run_theirs(model, fed, (*key, str(call.attrs) if call.op == "Attention" else ""))
        if found is not None:
            self.theirs[call.op] += 1
            call = replace(call, sums=True)  # their exp and tanh are not exact near zero
            for name, b in zip(names, found, strict=True):
                compare(call, inputs, graph.values[name], np.asarray(b), f"{name}, cinfer and ORT")

    def whole(self, graph: Drawn, outputs: list[str], static: bool) -> None:
        """Runs the graph in both engines."""
        self.graphs += 1
        data = graphio.onnx.convert(
            proto(graph.calls, graph.values, graph.constants, outputs, static)
        )
        assert data is not None
        for name, found in zip(outputs, run_ours(cinfer, data, graph.values, outputs), strict=True):
            alone = graph.values[name]
            if found.dtype != alone.dtype or found.shape != alone.shape:
                raise Disagreement(f"{name} of the graph: {found!r}, alone {alone!r}\n{graph}")
            if found.tobytes() != alone.tobytes():
                raise Disagreement(f"{name} of the graph: {found!r}, alone {alone!r}\n{graph}")
        run_ours(runtime, data, graph.values, outputs)


@st.composite
def graphs(draw: st.DrawFn, checker: Checker) -> Drawn:
    """A graph, each node checked as soon as it is drawn."""
    graph = Drawn()
    maker = Maker(draw, graph.values, graph.constants, graph.computed)
    for _ in range(draw(st.integers(2, MOST_NODES))):
        op = draw(st.sampled_from(sorted(ROWS)))
        maker.begin()
        call = ROWS[op](maker, op)
        names = [f"v{len(graph.calls)}_{i}" for i in range(call.outputs)]
        checker.node(graph, call, names)
        graph.calls.append((call, names))
        graph.computed.extend(names)
    outputs = [name for name in graph.computed if draw(st.booleans())]
    checker.whole(graph, outputs or graph.computed[-1:], draw(st.booleans()))
    return graph


def check(checker: Checker, examples: int, **options: Any) -> None:
    """Draws and checks graphs; a disagreement is shrunk and raised."""

    @settings(
        max_examples=examples,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        database=None,
        report_multiple_bugs=False,
        **options,
    )
    @given(st.data())
    def run(data: st.DataObject) -> None:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            data.draw(graphs(checker))

    if "derandomize" in options:
        # Hypothesis also draws numbers that it reads in the code: a change of that would change
        # the graphs.
        with mock.patch.object(providers, "_get_local_constants", providers.Constants):
            run()
    else:
        seed(int.from_bytes(os.urandom(4), "little"))(run)()


class Collector(Checker):
    """Keeps the smallest disagreement of each kind and goes on."""

    def __init__(self) -> None:
        super().__init__()
        self.found: dict[str, tuple[int, str]] = {}
        self.times: Counter[str] = Counter()

    def node(self, graph: Drawn, call: Call, names: list[str]) -> None:
        self.collect(lambda: super(Collector, self).node(graph, call, names), graph, call)

    def whole(self, graph: Drawn, outputs: list[str], static: bool) -> None:
        whole = Call("the graph", list(graph.values))
        self.collect(lambda: super(Collector, self).whole(graph, outputs, static), graph, whole)

    def collect(self, run: Callable[[], None], graph: Drawn, call: Call) -> None:
        try:
            run()
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
            kind = f"{call.op} {type(error).__name__} {text.splitlines()[0].split(': ')[-1]}"
            kind = re.sub(r"[0-9]+", "#", kind)[:100]
            size = sum(graph.values[n].size for n in call.inputs if n)
            self.times[kind] += 1
            if kind not in self.found or size < self.found[kind][0]:
                given = [graph.values[n] for n in call.inputs if n]
                kinds = [f"{x.dtype}{x.shape}" for x in given]
                self.found[kind] = size, f"{call.op} {kinds} {call.attrs}: {text}"
            reject()


def main() -> int:
    """Random graphs for GRAPHIO_DEEP seconds; of each kind of disagreement the smallest."""
    seconds, checker = float(os.environ.get("GRAPHIO_DEEP", "60")), Collector()
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        check(checker, 200, phases=[Phase.generate])
    never = sorted(set(ROWS) - set(checker.nodes))
    for kind, (_, text) in sorted(checker.found.items()):
        print(f"{checker.times[kind]} times: {text[:2000]}\n")
    print(f"{checker.graphs} graphs, {sum(checker.nodes.values())} nodes of {len(checker.nodes)}")
    print(f"operators, {sum(checker.theirs.values())} compared with ORT; never: {never}")
    print("never in ORT:", *sorted(set(checker.nodes) - set(checker.theirs)))
    return 1 if checker.found else 0


if __name__ == "__main__":
    sys.exit(main())
