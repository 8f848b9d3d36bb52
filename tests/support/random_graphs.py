"""Random models of nested If and Loop, variables and steps in place, for comparing engines.

Every value is a float32 vector of three, so that any of them fits anywhere.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
from engines import tensor_type

from graphio.schema import container, dtypes, tensors
from graphio.schema.model_pb2 import Graph, Model, Type

VECTOR = tensor_type(np.float32, [3])
LINE, ROWS = tensor_type(np.float32, [None]), tensor_type(np.float32, [None, 3])
SCALAR, COUNT, TRUTH = (tensor_type(t, []) for t in (np.float32, np.int64, np.bool_))
MOST_DEPTH = 3
Value = int | str | np.ndarray | Graph | Type


class RandomModel:
    """A model that depends on nothing but its seed; `data` is its file."""

    def __init__(self, seed: int, most_nodes: int) -> None:
        self.random = random.Random(seed)
        self.model = Model()
        self.names = 0
        self.assigns: list[str] = []
        root = self.model.graph
        inputs = {self._placeholder(root, t): t for t in (VECTOR, VECTOR, TRUTH, COUNT)}
        x, y, yes, count = inputs
        self.truths = [yes, *(self._constant(root, np.array(t)) for t in (True, False))]
        self.counts = [count, *(self._constant(root, np.array(n)) for n in (0, 2, 3))]
        values = [x, y, self._constant(root, np.array([0.5, -1, 2], np.float32))]
        self._block(root, values, self.random.randint(2, most_nodes), 0, set())
        signature = self.model.signature.add(name="run", target=self.assigns)
        for key, kind in inputs.items():
            signature.input.add(key=key, value=key, type=kind)
        for key in sorted({self.random.choice(values) for _ in range(4)}):
            signature.output.add(key=key, value=key)
        for index, name in enumerate("vw"):
            self.model.variable.add(name=name, dtype=1, value=index, shape=VECTOR.tensor.shape)
        starts = [np.array(v, np.float32) for v in ([1, 2, 3], [-1, 0, 0.5])]
        self.data = container.pack(self.model, starts)

    def feeds(self, seed: int) -> list[np.ndarray]:
        """Inputs of one run."""
        rng = np.random.default_rng(seed)
        x, y = (rng.normal(size=3).astype(np.float32) for _ in range(2))
        return [x, y, np.array(bool(rng.integers(2))), np.array(int(rng.integers(4)))]

    # nodes

    def _node(
        self,
        graph: Graph,
        op: str,
        inputs: Sequence[str],
        outputs: Sequence[Type],
        *,
        domain: str = "",
        version: int = 1,
        **attrs: Value,
    ) -> str:
        name = self._name()
        node = graph.node.add(name=name, op=op, domain=domain, version=version, input=inputs)
        node.output_type.extend(outputs)
        for key in sorted(attrs):
            slot, value = node.attr.add(key=key).value, attrs[key]
            if isinstance(value, np.ndarray):
                slot.t.CopyFrom(tensors.from_array(value))
            elif isinstance(value, Graph):
                slot.g.CopyFrom(value)
            elif isinstance(value, Type):
                slot.type.CopyFrom(value)
            elif isinstance(value, str):
                slot.s = value.encode()
            else:
                slot.i = value
        return name

    def _name(self) -> str:
        self.names += 1
        return f"n{self.names:04d}"

    def _placeholder(self, graph: Graph, kind: Type) -> str:
        number = int(kind.tensor.dtype)
        return self._node(
            graph, "Placeholder", [], [kind], domain="graphio", dtype=number, shape=kind
        )

    def _constant(self, graph: Graph, value: np.ndarray) -> str:
        number = dtypes.of_numpy(value.dtype).numpy
        return self._node(graph, "Constant", [], [tensor_type(number, value.shape)], value=value)

    def _pick(self, values: Sequence[str], used: set[str]) -> str:
        recent = values[-6:] if self.random.random() < 0.6 else values
        used.add(name := self.random.choice(recent))
        return name

    def _binary(self, graph: Graph, a: str, b: str) -> str:
        op, version = self.random.choice([("Add", 7), ("Sub", 7), ("Max", 8), ("Min", 8)])
        return self._node(graph, op, [a, b], [VECTOR], version=version)

    # blocks

    def _block(
        self, graph: Graph, values: list[str], count: int, depth: int, used: set[str]
    ) -> None:
        for _ in range(count):
            kind = self.random.random()
            if kind < 0.35:
                pair = self._pick(values, used), self._pick(values, used)
                values.append(self._binary(graph, *pair))
            elif kind < 0.56:
                op, version = self.random.choice([("Relu", 6), ("Neg", 6), ("Identity", 1)])
                x = self._pick(values, used)
                values.append(self._node(graph, op, [x], [VECTOR], version=version))
            elif kind < 0.76:
                values.append(self._state(graph, values, depth, used, reads=kind < 0.66))
            elif depth < MOST_DEPTH:
                (self._if if kind < 0.86 else self._loop)(graph, values, depth, used)

    def _state(
        self, graph: Graph, values: list[str], depth: int, used: set[str], *, reads: bool
    ) -> str:
        variable = self.random.choice("vw")
        if reads:
            op = self.random.choice(["Variable", "ReadVariable"])
            return self._node(
                graph, op, [], [VECTOR], domain="graphio", variable=variable, dtype=1, shape=VECTOR
            )
        x = self._pick(values, used)
        name = self._node(graph, "Assign", [x], [VECTOR], domain="graphio", variable=variable)
        (graph.target if depth else self.assigns).append(name)
        return name

    @staticmethod
    def _close(body: Graph, outputs: Sequence[str], used: set[str]) -> set[str]:
        """Gives a body its outputs; returns what it captures."""
        own = {i.name for i in body.input}
        for node in body.node:
            own.update(_outputs(node.name, len(node.output_type)))
        captured = (used | set(outputs)) - own
        body.output.extend(outputs)
        body.capture.extend(sorted(captured))
        return captured

    def _if(self, graph: Graph, values: list[str], depth: int, used: set[str]) -> None:
        count, bodies = self.random.randint(1, 3), []
        for _ in range(2):
            body, inner, reads = Graph(), list(values), set[str]()
            self._block(body, inner, self.random.randint(0, 4), depth + 1, reads)
            outputs = [self._pick(inner, reads) for _ in range(count)]
            used |= self._close(body, outputs, reads)
            bodies.append(body)
        used.add(truth := self.random.choice(self.truths))
        kinds = [VECTOR] * count
        name = self._node(graph, "If", [truth], kinds, then_branch=bodies[0], else_branch=bodies[1])
        values.extend(_outputs(name, count))

    def _loop(self, graph: Graph, values: list[str], depth: int, used: set[str]) -> None:
        """Carried vectors, perhaps a line that grows, and scan outputs."""
        carried, scans = self.random.randint(1, 3), self.random.randint(0, 2)
        grows = self.random.random() < 0.25
        body, reads = Graph(), set[str]()
        step, more, *state = [self._name() for _ in range(2 + carried + grows)]
        for formal, kind in zip([step, more], [COUNT, TRUTH], strict=True):
            body.input.add(name=formal, type=kind)
        for i, formal in enumerate(state):
            body.input.add(name=formal, type=VECTOR if i < carried else LINE)
        inner = values + state[:carried] * 2
        self._block(body, inner, self.random.randint(0, 5), depth + 1, reads)
        outputs = [self._condition(body, step, more)]
        outputs += [self._pick(inner, reads) for _ in range(carried)]
        if grows:
            parts = [state[-1], self._pick(inner, reads)]
            outputs.append(self._node(body, "Concat", parts, [LINE], version=4, axis=0))
        outputs += [self._pick(inner, reads) for _ in range(scans)]
        used |= self._close(body, outputs, reads)
        used.add(count := self.random.choice(self.counts))
        if truth := self.random.choice(["", "", *self.truths]):
            used.add(truth)
        starts = [self._pick(values, used) for _ in state]
        kinds = [VECTOR] * carried + [LINE] * grows + [ROWS] * scans
        name = self._node(graph, "Loop", [count, truth, *starts], kinds, body=body)
        results = _outputs(name, len(kinds))
        values.extend(results[:carried])
        used.update(results[carried:])
        for i, result in enumerate(results[carried:]):
            values.append(self._vector_of(graph, result, values, used, line=grows and i == 0))

    def _condition(self, body: Graph, step: str, more: str) -> str:
        if self.random.random() < 0.7:
            return self._node(body, "Identity", [more], [TRUTH])
        limit = self._constant(body, np.array(self.random.randint(0, 2)))
        return self._node(body, "Less", [step, limit], [TRUTH], version=9)

    def _vector_of(
        self, graph: Graph, result: str, values: list[str], used: set[str], *, line: bool
    ) -> str:
        axis = self._constant(graph, np.array([0]))
        if not line:
            rows = [result, axis]
            return self._node(graph, "ReduceSum", rows, [VECTOR], version=13, keepdims=0)
        most = self._node(graph, "ReduceMax", [result, axis], [SCALAR], version=18, keepdims=0)
        return self._binary(graph, most, self._pick(values, used))


def _outputs(name: str, count: int) -> list[str]:
    return [f"{name}:{k}" if k else name for k in range(count)]
