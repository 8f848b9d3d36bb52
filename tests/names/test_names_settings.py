"""Names of tf for settings, messages, logs, scopes and files: the values of TensorFlow 2.21."""

from __future__ import annotations

import logging
import unittest.mock
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from value_cases import TARGETS

import graphio as tf


@pytest.fixture(autouse=True)
def a_graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


# ---- settings ----


def test_control_flow_v2_is_what_the_program_says() -> None:
    assert not tf.control_flow_v2_enabled()
    tf.enable_control_flow_v2()
    assert tf.control_flow_v2_enabled()
    tf.disable_control_flow_v2()
    assert not tf.control_flow_v2_enabled()


def test_shapes_and_tensors_are_those_of_tensorflow_1_after_the_switches() -> None:
    tf.disable_v2_tensorshape()
    tf.disable_tensor_equality()
    x, y = tf.constant(1.0), tf.constant(1.0)
    assert x.shape.ndims == 0 and tf.zeros([2, 3]).shape[1] == tf.Dimension(3)
    assert (x == y) is False and (x == x) is True and len({x, y}) == 2


def test_a_day_before_the_horizon_of_tensorflow_1_15_is_compatible() -> None:
    assert tf.compat.forward_compatible(2019, 8, 20) and tf.compat.forward_compatible(2018, 12, 31)
    assert not tf.compat.forward_compatible(2019, 8, 21)
    assert not tf.compat.forward_compatible(2020, 1, 1)


def test_a_container_leaves_names_and_values_as_they_are() -> None:
    with tf.container("c") as name:
        v = tf.get_variable("v", initializer=2.0)
    assert name == "c" and v.op.name == "v"
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(v) == 2.0


def test_builds_say_what_they_are() -> None:
    assert tf.test.is_built_with_gpu_support() is tf.test.is_built_with_cuda() is False
    assert tf.test.is_built_with_rocm() is False
    assert tf.test.mock is unittest.mock


def test_paths_of_data_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    assert tf.test.test_src_dir_path("a/b") == str(tmp_path / "a/b")
    assert tf.resource_loader.readahead_file_path("a/b") == "a/b"
    here = Path(tf.resource_loader.get_root_dir_with_all_resources())
    assert here.resolve() == Path(__file__).parent.resolve()


def test_a_folder_is_made_in_a_folder(tmp_path: Path) -> None:
    tf.io.gfile.mkdir(str(tmp_path / "a"))
    assert (tmp_path / "a").is_dir()
    with pytest.raises(tf.errors.NotFoundError):
        tf.io.gfile.mkdir(str(tmp_path / "b" / "c"))


def test_an_error_of_authentication_has_its_code() -> None:
    error = tf.errors.UnauthenticatedError(None, None, "who are you")
    assert isinstance(error, tf.errors.OpError)
    assert error.error_code == tf.errors.UNAUTHENTICATED == 16
    assert error.message == "who are you"
    assert tf.errors.exception_type_from_error_code(16) is tf.errors.UnauthenticatedError


# ---- messages ----


def test_messages_of_summaries_have_the_bytes_of_tensorflow() -> None:
    histogram = tf.HistogramProto(
        min=-1, max=2.5, num=3, sum=2, sum_squares=8.5, bucket_limit=[0, 3], bucket=[1, 2]
    )
    numbers = np.array([-1, 2.5, 3, 2, 8.5, 0, 3, 1, 2], "<f8")
    heads = [bytes([tag]) for tag in (0x09, 0x11, 0x19, 0x21, 0x29)]
    expected = b"".join(h + n.tobytes() for h, n in zip(heads, numbers[:5], strict=True))
    expected += b"2\x10" + numbers[5:7].tobytes() + b":\x10" + numbers[7:].tobytes()
    assert histogram.SerializeToString() == expected
    metadata = tf.SummaryMetadata(display_name="shown", summary_description="d")
    metadata.plugin_data.plugin_name, metadata.plugin_data.content = "text", b"ab"
    assert metadata.SerializeToString() == b"\n\n\n\x04text\x12\x02ab\x12\x05shown\x1a\x01d"


@pytest.mark.parametrize("target", TARGETS)
def test_a_summary_has_the_whole_tensor(target: str) -> None:
    x = np.array([[1.5, 2.0]], np.float32)
    made = tf.summary.tensor_summary("t", x, summary_description="of it", display_name="shown")
    words = tf.summary.tensor_summary("words", tf.constant([b"a", b"bc"]))
    with tf.Session(target) as session:
        one, two = (tf.Summary.FromString(m).value[0] for m in session.run([made, words]))
    assert (one.tag, one.WhichOneof("value"), made.op.name) == ("t", "tensor", "t")
    assert one.metadata.display_name == "shown" and one.metadata.summary_description == "of it"
    np.testing.assert_array_equal(tf.make_ndarray(one.tensor), x)
    assert two.tag == "words" and tf.make_ndarray(two.tensor).tolist() == [b"a", b"bc"]


def test_settings_of_devices_and_optimizations_keep_their_fields() -> None:
    devices = tf.GPUOptions(
        per_process_gpu_memory_fraction=0.25, allow_growth=True, visible_device_list="0,1"
    )
    kind = tf.OptimizerOptions
    levels = [kind.L0, kind.L1, kind.OFF, kind.ON_1, kind.ON_2, kind.DEFAULT]
    assert levels == [-1, 0, -1, 1, 2, 0]
    options = tf.GraphOptions(optimizer_options=kind(opt_level=kind.L0, do_function_inlining=True))
    config = tf.ConfigProto(gpu_options=devices, graph_options=options)
    assert config.gpu_options.per_process_gpu_memory_fraction == 0.25
    assert config.gpu_options.allow_growth and config.gpu_options.visible_device_list == "0,1"
    assert config.graph_options.optimizer_options.opt_level == -1
    assert config.graph_options.optimizer_options.do_function_inlining
    assert not tf.GPUOptions().allow_growth and kind().opt_level == 0
    with tf.Session(config=config) as session:
        assert session.run(tf.constant(2.0) * 3.0) == 6.0


def test_the_description_of_a_tensor_keeps_name_dtype_and_shape() -> None:
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    info = tf.saved_model.build_tensor_info(x)
    assert isinstance(info, tf.TensorInfo)
    assert (info.name, info.dtype) == ("x:0", 1)
    assert tf.TensorShape(info.tensor_shape).as_list() == [None, 3]


# ---- logs ----


class _Records(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[int, str]] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.found.append((record.levelno, record.getMessage()))


@pytest.fixture
def records() -> Iterator[list[tuple[int, str]]]:
    handler, before = _Records(), tf.logging.get_verbosity()
    tf.get_logger().addHandler(handler)
    yield handler.found
    tf.get_logger().removeHandler(handler)
    tf.logging.set_verbosity(before)


def test_messages_are_logged_from_their_level_on(records: list[tuple[int, str]]) -> None:
    tf.logging.set_verbosity(tf.logging.INFO)
    assert tf.logging.get_verbosity() == 20
    tf.logging.debug("d %d", 1)
    tf.logging.info("i")
    tf.logging.fatal("f %s", "x")
    tf.logging.vlog(1, "v")
    tf.logging.vlog(40, "v40 %d", 3)
    tf.logging.set_verbosity("DEBUG")
    assert tf.logging.get_verbosity() == 10
    tf.logging.debug("again")
    tf.logging.flush()
    assert records == [(20, "i"), (50, "f x"), (40, "v40 3"), (10, "again")]


def test_messages_of_a_line_are_logged_at_first_and_every_so_often(
    records: list[tuple[int, str]],
) -> None:
    for i in range(5):
        tf.logging.log_every_n(tf.logging.WARN, "every %d", 2, i)
    for i in range(5):
        tf.logging.log_first_n(tf.logging.ERROR, "first %d", 2, i)
    every = [(30, f"every {i}") for i in (0, 2, 4)]
    assert records == [*every, (40, "first 0"), (40, "first 1")]


# ---- scopes and data ----


def test_a_scope_of_variables_is_made_by_itself() -> None:
    scope = tf.VariableScope(
        reuse=False, name="a", initializer=tf.zeros_initializer(), dtype=tf.float64
    )
    assert (scope.name, scope.reuse, scope.dtype) == ("a", False, tf.float64)
    assert scope.original_name_scope == ""
    with tf.variable_scope(scope):
        v = tf.get_variable("v", [2])
    assert v.op.name == "a/v" and v.dtype.base_dtype == tf.float64
    other = tf.VariableScope(True, name="a", name_scope="a/")
    assert other.original_name_scope == "a/" and other.reuse is True
    with tf.variable_scope(other):
        assert tf.get_variable("v", [2], tf.float64) is v


def test_the_older_order_of_a_scopes_arguments() -> None:
    v = tf.constant(1.0)
    with tf.variable_op_scope([v], "b", "d") as scope:
        w = tf.get_variable("w", [1])
        assert (scope.name, w.op.name, tf.add(1, 1).op.name) == ("b", "b/w", "b/Add")
    with tf.variable_op_scope([v], None, "d") as scope:
        assert (scope.name, tf.get_variable("w", [1]).op.name) == ("d", "d/w")
        assert tf.add(1, 1).op.name == "d/Add"
    with tf.variable_op_scope([v], None, "d") as scope:
        assert scope.name == "d_1"
    with tf.variable_op_scope([v], "b", reuse=True):
        assert tf.get_variable("w", [1]) is w


@pytest.mark.parametrize("target", TARGETS)
def test_all_tables_are_initialized(target: str) -> None:
    rows = tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([3, 4], tf.int64))
    table = tf.lookup.StaticHashTable(rows, -1)
    start = tf.initialize_all_tables()
    assert start.name == "init_all_tables"
    with tf.Session(target) as session:
        session.run(start)
        assert session.run(table.lookup(tf.constant(["b", "c"]))).tolist() == [4, -1]


@pytest.mark.parametrize("target", TARGETS)
def test_everything_is_initialized_then_restored(target: str) -> None:
    v = tf.get_variable("v", initializer=1.0)
    restore = tf.assign(v, 5.0, name="restore")
    start = tf.saved_model.main_op_with_restore(restore.op)
    assert start.type == "NoOp"
    with tf.Session(target) as session:
        session.run(start)
        assert session.run(v) == 5.0


def test_the_structure_of_a_data_set_is_known() -> None:
    rows = tf.data.Dataset.from_tensor_slices({"a": [1.0], "b": ([2], [[3]])})
    assert tf.data.get_output_classes(rows) == {"a": tf.Tensor, "b": (tf.Tensor, tf.Tensor)}
    shapes = tf.data.get_output_shapes(rows.batch(2))
    assert shapes["a"].as_list() == [None]
    assert [shape.as_list() for shape in shapes["b"]] == [[None], [None, 1]]
    sparse = tf.data.Dataset.from_tensors(tf.SparseTensor([[0, 0]], [1], [1, 1]))
    assert tf.data.get_output_classes(sparse) is tf.SparseTensor
    assert tf.data.get_output_shapes(sparse).as_list() == [1, 1]


def test_a_distribution_of_a_program_has_the_functions_of_its_log() -> None:
    class Triangle(tf.distributions.Distribution):
        """Density 2 x on [0, 1]."""

        def __init__(self) -> None:
            super().__init__(
                tf.float32, tf.distributions.NOT_REPARAMETERIZED, validate_args=False,
                allow_nan_stats=True, name="Triangle",
            )  # fmt: skip

        def _log_prob(self, x: Any) -> Any:
            return tf.log(2.0 * x)

        def _cdf(self, x: Any) -> Any:
            return x * x

    made = Triangle()
    assert isinstance(tf.distributions.Normal(0.0, 1.0), tf.distributions.Distribution)
    assert made.reparameterization_type is tf.distributions.NOT_REPARAMETERIZED
    with tf.Session() as session:
        x = np.float32([0.25, 0.5])
        found = session.run([made.prob(x), made.log_cdf(x), made.survival_function(x)])
    np.testing.assert_allclose(found, [2 * x, 2 * np.log(x), 1 - x * x], rtol=1e-5)
    with pytest.raises(NotImplementedError):
        made.sample(3)
