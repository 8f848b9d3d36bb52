"""tf.profiler: parameters and operations on floats, compared with TensorFlow's numbers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import profiled_network
import pytest

import graphio as tf

EXPECTED = json.loads(profiled_network.GOLDEN.read_text())
BUILDER = tf.profiler.ProfileOptionBuilder


@pytest.fixture(scope="module")
def found() -> dict[str, list[Any]]:
    return profiled_network.profiles(tf)


@pytest.mark.parametrize("view", ["scope parameters", "op parameters"])
def test_parameters_are_those_of_tensorflow(found: dict[str, list[Any]], view: str) -> None:
    assert found[view] == EXPECTED[view]


def test_float_operations_by_scope_are_those_of_tensorflow(found: dict[str, list[Any]]) -> None:
    """Some operators of TensorFlow are several nodes here, below a scope of the same name."""
    totals: dict[str, int] = {}
    for name, _, _, _, total in found["scope float_ops"]:
        if name.partition("/")[0] in ("c3", "n", "sd"):
            name = name.partition("/")[0]
        totals[name] = max(total, totals.get(name, 0))
    assert totals == {name: total for name, _, _, _, total in EXPECTED["scope float_ops"]}


def test_float_operations_by_type_are_those_of_tensorflow(found: dict[str, list[Any]]) -> None:
    parts = {"Add", "AddN", "AddV2", "Sub", "SquaredDifference"}
    own = {name: ops for name, _, ops, _, _ in found["op float_ops"] if name not in parts}
    expected = {name: ops for name, _, ops, _, _ in EXPECTED["op float_ops"] if name not in parts}
    assert own == expected
    assert found["op float_ops"][0] == EXPECTED["op float_ops"][0]


def test_gradients_of_convolutions_count_as_many_operations_as_they_do() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [4, 8, 8, 3])
        w = tf.placeholder(tf.float32, [3, 3, 3, 5])
        y = tf.nn.conv2d(x, w, [1, 2, 2, 1], "SAME")
        tf.gradients(y, [x, w])
        options = {**BUILDER.float_operation(), "output": "none"}
        root = tf.profiler.profile(graph, cmd="op", options=options)
    counts = {}
    while root.children:
        root = root.children[0]
        counts[root.name] = root.float_ops
    assert counts["Conv2D"] == counts["Conv2DGradInput"] == counts["Conv2DGradFilter"]


def shown(options: Any, cmd: str = "scope") -> list[str]:
    with tf.Graph().as_default() as graph:
        profiled_network.build(tf)
        root = tf.profiler.profile(graph, cmd=cmd, options={**options, "output": "none"})
    return [row[0] for row in profiled_network.numbers(root)][1:]


def test_options_choose_the_nodes() -> None:
    floats = BUILDER(BUILDER.float_operation())
    assert shown(floats.with_min_float_operations(5000).build())[:2] == ["dw", "conv/c"]
    assert shown(floats.with_accounted_types(["Conv2D"]).build()) == ["conv/c"]
    floats = BUILDER(BUILDER.float_operation()).with_node_names(
        start_name_regexes=["conv.*"], hide_name_regexes=[".*/c"]
    )
    assert shown(floats.order_by("name").build()) == ["conv/bias", "conv/pool"]
    variables = BUILDER(BUILDER.trainable_variables_parameter())
    assert shown(variables.with_max_depth(1).build()) == []
    assert shown(variables.with_max_depth(2).build()) == ["conv", "fc"]
    variables = BUILDER(BUILDER.trainable_variables_parameter())
    assert shown(variables.with_node_names(trim_name_regexes=["conv"]).build()) == [
        "conv", "fc", "fc/w",
    ]  # fmt: skip
    assert shown(variables.with_min_parameters(135).build()) == ["fc/w"]
    often = BUILDER().with_min_occurrence(3).order_by("occurrence").build()
    assert "Conv2D" not in shown(often, "op")
    assert "Const" in shown(often, "op")


def test_the_numbers_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with tf.Graph().as_default():
        tf.get_variable("a/b", [2, 3])
        path = str(tmp_path / "numbers.txt")
        tf.profiler.profile()
        tf.profiler.profile(options=BUILDER().with_file_output(path).build())
        with pytest.raises(ValueError, match="output is 'pprof:x'"):
            tf.profiler.profile(options={"output": "pprof:x"})
    assert capsys.readouterr().out == (
        "node name | # params\n_TFProfRoot (0/6 params)\n  a (0/6 params)\n    a/b (6/6 params)\n"
    )
    assert "a/b (6/6 params)" in Path(path).read_text()


def test_what_is_not_counted_is_refused() -> None:
    with tf.Graph().as_default():
        with pytest.raises(tf.errors.InvalidArgumentError, match="unknown cmd: tree"):
            tf.profiler.profile(cmd="tree")
        with pytest.raises(tf.errors.UnimplementedError, match="no view 'graph'"):
            tf.profiler.profile(cmd="graph")
        with pytest.raises(tf.errors.UnimplementedError, match=r"tf\.timeline\.profile"):
            tf.profiler.profile(run_meta=tf.RunMetadata())
        with pytest.raises(tf.errors.UnimplementedError, match="counts parameters"):
            tf.profiler.profile(options=BUILDER().select(["micros"]).build())
        with pytest.raises(ValueError, match="order_by is 'bytes'"):
            tf.profiler.profile(options=BUILDER().order_by("bytes").build())
    with pytest.raises(AttributeError, match=r"tf\.profiler\.Profiler is not part of graphio"):
        tf.profiler.Profiler  # noqa: B018
