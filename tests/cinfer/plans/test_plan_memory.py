"""Each allocation of a session fails in turn, wherever a block of a plan's memory ends and whatever
list is full: the call says so, and succeeds when it is made again (docs/security.md: S12)."""

from __future__ import annotations

import itertools
from typing import Any

import engines
import numpy as np
import pytest
from engines import Builder, tensor_type
from failing_memory import Memory

from graphio.schema import model_pb2 as pb

cinfer = engines.module("cinfer")
from graphio.cinfer import status  # noqa: E402
from graphio.cinfer._native import ffi, lib  # noqa: E402

F = np.float32
Call = tuple[int, list[Any]] | None  # a signature and what it is fed
VARIANTS = 24


def node(name: str, op: str, *inputs: str) -> pb.Node:
    made = pb.Node(name=name, op=op, version=14, input=inputs)
    made.output_type.append(tensor_type(F))
    return made


def model(more: int) -> bytes:
    """Branches that capture, wait and give; a loop; constants that come out; inputs of no use."""
    builder = Builder()
    kind = tensor_type(F)
    builder.placeholder("x", F, [None])
    builder.placeholder("yes", np.bool_, [])
    builder.constant("trips", np.int64(2))
    builder.constant("one", F([1]))
    unused = [builder.placeholder(f"unused{i}", F, []) for i in range(more)]
    captured = [
        builder.node(f"n{i}", "Neg", ["x"], [kind], version=13).name for i in range(more % 24)
    ]
    builder.node("size", "Shape", ["x"], [tensor_type(np.int64)], version=15)
    builder.node("ones", "Expand", ["one", "size"], [kind], version=13)
    builder.constant("much", np.arange(4096, dtype=F))  # each half needs a separate block
    builder.node("halves", "Split", ["much"], [kind, kind], {"num_outputs": 2}, version=18)
    last = builder.node("last", "Add", ["x", "ones"], [kind], version=14)
    last.control_input.extend(captured)
    branches = []
    for name in ("no", "yes"):
        nodes = [node(f"{name}{i}", "Abs", "x") for i in range(1 + more % 7)]
        branch = pb.Graph(node=nodes, output=[nodes[0].name], target=[n.name for n in nodes])
        branch.capture.extend(sorted(["x", *captured]))
        branches.append(branch)
    chosen = builder.node("chosen", "If", ["yes"], [kind], version=21)
    for key, branch in zip(("else_branch", "then_branch"), branches, strict=True):
        chosen.attr.add(key=key).value.g.CopyFrom(branch)
    body = pb.Graph(node=[node("go", "Identity", "more"), node("next", "Add", "a", "a")])
    body.output.extend(["go", "next", "next"])
    for name, dtype, shape in (("i", np.int64, []), ("more", np.bool_, []), ("a", F, None)):
        body.input.add(name=name, type=tensor_type(dtype, shape))
    loop = builder.node("loop", "Loop", ["trips", "", "x"], [kind, kind], version=21)
    loop.attr.add(key="body").value.g.CopyFrom(body)
    inputs = {name: name for name in ("x", "yes", *unused)}
    outputs = {name: name for name in ("chosen", "halves", "last", "loop", "one", "trips", "x")}
    builder.signature(inputs, outputs, ["loop"], name="all")
    builder.signature({"x": "x"}, {"last": "last", "ones": "ones"}, name="known")
    builder.signature({"yes": "yes"}, {"yes": "yes"}, name="other")
    return builder.bytes()


def tensor(value: Any) -> tuple[Any, Any]:
    """A ci_tensor, and what it points at."""
    array = np.asarray(value)
    made = ffi.new("ci_tensor *")
    data = ffi.from_buffer(array)
    made.data, made.bytes, made.rank = ffi.cast("void *", data), array.nbytes, array.ndim
    made.dtype = tensor_type(array.dtype).tensor.dtype
    for axis, size in enumerate(array.shape):
        made.dims[axis] = size
    return made, (array, data)


class Life:
    """A session of which the `failing`-th allocation fails; 0: none. Calls that fail are made once
    more, at the end."""

    def __init__(self, data: bytes, failing: int) -> None:
        self.memory, self.error = Memory(0), status.new_error()
        given, handle = ffi.new("ci_options *", lib.ci_defaults()), ffi.new("ci_model **")
        self.memory.serve(given)
        assert lib.ci_open_memory(data, len(data), given, handle, self.error) == lib.CI_OK
        if failing:
            self.memory.failing = self.memory.calls + failing
        self.model = handle[0]
        self.state, self.session = ffi.new("ci_state **"), ffi.new("ci_session **")
        assert lib.ci_state_open(ffi.NULL, self.state, self.error) == lib.CI_OK
        options = ffi.new("ci_session_options *", lib.ci_session_defaults())
        self.memory.serve(options)
        arguments = (self.model, self.state[0], options, self.session, self.error)
        if self.refused(lib.ci_session_open(*arguments)):
            assert lib.ci_session_open(*arguments) == lib.CI_OK

    def refused(self, code: int) -> bool:
        """Whether the call failed for want of memory, and nothing else."""
        reported = ffi.string(self.error.message)
        assert code == lib.CI_OK or (code == lib.CI_RESOURCE_EXHAUSTED and self.memory.failed), (
            reported
        )
        return bool(code != lib.CI_OK)

    def run(self, signature: int, feeds: list[Any]) -> bytes | None:
        made = [tensor(value) for value in feeds]
        inputs = ffi.new("ci_tensor[]", [one[0] for one, _ in made])
        count = lib.ci_output_count(self.model, signature)
        outputs = ffi.new("ci_tensor[]", count)
        code = lib.ci_run(
            self.session[0], signature, inputs, len(feeds), outputs, count, self.error
        )
        if self.refused(code):
            return None
        return b"".join(bytes(ffi.buffer(out.data, out.bytes)) for out in outputs)

    def declare(self, name: bytes) -> None:
        info = ffi.new("ci_info *", {"name": ffi.from_buffer(name), "dtype": lib.CI_FLOAT})
        index = ffi.new("int *")
        assert lib.ci_variable_declare(self.state[0], info, index, self.error) == lib.CI_OK

    def calls(self, calls: list[Call]) -> list[bytes | None]:
        found = []
        for call in calls:
            if call is None:  # a later plan has more variables
                self.declare(b"declared\0")
            found.append(b"" if call is None else self.run(*call))
        for number, (call, result) in enumerate(zip(calls, found, strict=True)):
            if result is None and call is not None:
                found[number] = self.run(*call)
        return found

    def close(self) -> None:
        lib.ci_session_close(self.session[0])
        lib.ci_close(self.model)
        lib.ci_state_close(self.state[0])
        assert not self.memory.held


def every_allocation(data: bytes, calls: list[Call]) -> int:
    expected = None
    for failing in itertools.count():
        life = Life(data, failing)
        found = life.calls(calls)
        expected = expected or found
        assert found == expected and None not in found
        failed = life.memory.failed
        life.close()
        if failing and not failed:
            break
    return failing


@pytest.mark.parametrize("part", range(4))
def test_whatever_memory_a_plan_lacks_the_call_says_so(part: int) -> None:
    failures = 0
    for more in range(part, VARIANTS, 4):
        fed = [F([1, -2]), np.array(True), *[F(0)] * more]
        failures += every_allocation(model(more), [(0, fed)])
    assert failures > 20 * VARIANTS // 4


def test_plans_that_are_fitted_to_other_shapes_may_lack_memory() -> None:
    """Also where the call before could not make the memory that plans are made in."""
    calls: list[Call] = [(1, [np.arange(n, dtype=F)]) for n in (*range(1, 10), 2000, 9000, 11, 12)]
    calls[9:9] = [None, (2, [np.array(True)])]
    assert every_allocation(model(0), calls) > 30
