"""Functions that lower packages call and upper ones register."""

from __future__ import annotations

import subprocess
import sys

import pytest

from graphio.support.registration import Registered


def run(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_call_goes_to_the_function_that_was_registered() -> None:
    doubled: Registered[[int], int] = Registered("doubled")

    @doubled.register
    def double(x: int) -> int:
        return 2 * x

    assert doubled(21) == double(21) == 42


def test_a_function_that_no_module_registers_is_an_error_that_names_it() -> None:
    lacking: Registered[[], None] = Registered("lacking")
    with pytest.raises(RuntimeError, match="nothing is registered as 'lacking'"):
        lacking()


def test_a_program_that_imports_the_graph_alone_prints_runs_and_describes_it() -> None:
    program = """
from graphio.framework.graph import Graph
graph = Graph()
with graph.as_default():
    from graphio.framework.constants import constant, convert_to_tensor
    from graphio.framework.variable import Variable
    two = constant(2.0, name="two")
    pair = convert_to_tensor([two, 1.0])
    variable = Variable(3.0, name="v")
print("two = Const" in str(graph) or "two" in str(graph), len(graph.as_graph_def().node) > 2)
print(two.op.node_def.name, two.shape.as_proto().unknown_rank, variable.to_proto().variable_name)
from graphio.execution.session import Session
print(pair.eval(session=Session(graph=graph)).tolist())
"""
    assert run(program).split("\n") == ["True True", "two False v:0", "[2.0, 1.0]", ""]


def test_the_namespaces_have_what_needs_the_builder() -> None:
    program = """
import graphio as tf
assert tf.dtypes.cast is not None and tf.dtypes.float32_ref.name == "float32_ref"
with tf.Graph().as_default(), tf.Session() as session:
    variable = tf.get_variable("v", initializer=2.0)
    session.run(tf.initializers.global_variables())
    print(session.run(tf.dtypes.cast(variable, tf.int32)))
"""
    assert run(program) == "2\n"
