"""tensorflow.python and tensorflow.core: the modules that programs import names from."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from graphio.python.client import device_lib
from graphio.python.framework import ops, tensor_shape, tensor_util
from graphio.python.layers import utils
from graphio.python.lib.io import file_io
from graphio.python.ops import rnn_cell_impl
from graphio.python.tools import freeze_graph, inspect_checkpoint, strip_unused_lib
from graphio.python.training import moving_averages, slot_creator
from graphio.python.util import (
    deprecation,
    function_utils,
    keyword_args,
    nest,
    tf_decorator,
    tf_inspect,
)

import graphio as tf
from graphio.core.table import MODULES
from graphio.python import modules, tables
from graphio.support import served_modules

TARGETS = pytest.mark.parametrize("target", ["", "cinfer"], ids=["runtime", "cinfer"])


@pytest.fixture(autouse=True)
def fresh() -> Any:
    with tf.Graph().as_default():
        yield


def found(path: str) -> Any:
    try:
        return served_modules.walk(path)
    except (AttributeError, ModuleNotFoundError):
        return None


def test_every_name_of_a_module_is_the_public_object_of_the_same_name() -> None:
    seen = 0
    for module, names in modules._table().items():
        inner = module.startswith("python.") or module.split(".")[2:3] == ["python"]
        if not inner or found(module.partition(".python")[0]) is None:
            continue
        served = importlib.import_module(f"graphio.{module}")
        for name, paths in names.items():
            public = [value for p in paths.split() if (value := found(p)) is not None]
            if public and name not in tables.NAMES.get(module, {}):
                assert getattr(served, name) is public[0], f"{module}.{name}"
                seen += 1
    assert seen > 2300


@pytest.mark.parametrize("module", sorted(tables.NAMES))
def test_every_name_beyond_the_public_ones_is_there(module: str) -> None:
    served = importlib.import_module(f"graphio.{module}")
    for name in tables.NAMES[module]:
        assert getattr(served, name) is not None


@pytest.mark.parametrize(
    ("module", "name", "public"),
    [
        ("framework.ops", "reset_default_graph", tf.reset_default_graph),
        ("framework.dtypes", "float32", tf.float32),
        ("framework.errors_impl", "OutOfRangeError", tf.errors.OutOfRangeError),
        ("framework.graph_util", "extract_sub_graph", tf.graph_util.extract_sub_graph),
        ("ops.array_ops", "concat", tf.concat),
        ("ops.math_ops", "reduce_sum", tf.reduce_sum),
        ("ops.rnn_cell", "GRUCell", tf.nn.rnn_cell.GRUCell),
        ("ops.variable_scope", "get_variable", tf.get_variable),
        ("platform.gfile", "Exists", tf.gfile.Exists),
        ("platform.tf_logging", "info", tf.logging.info),
        ("client.session", "Session", tf.Session),
        ("training.adam", "AdamOptimizer", tf.train.AdamOptimizer),
        ("saved_model.tag_constants", "SERVING", tf.saved_model.tag_constants.SERVING),
    ],
)
def test_names_that_programs_import_are_the_public_ones(
    module: str, name: str, public: Any
) -> None:
    assert getattr(importlib.import_module(f"graphio.python.{module}"), name) is public


def test_contribs_inner_modules_have_contribs_names() -> None:
    from graphio.contrib.framework.python.ops import arg_scope, variables
    from graphio.contrib.framework.python.ops.arg_scope import add_arg_scope
    from graphio.contrib.layers.python.layers import initializers, layers
    from graphio.contrib.layers.python.layers import utils as layer_utils
    from graphio.contrib.rnn.python.ops import core_rnn, core_rnn_cell
    from graphio.contrib.seq2seq.python.ops import decoder, helper
    from graphio.contrib.slim.python.slim.nets import resnet_v1

    contrib = tf.contrib
    assert (core_rnn_cell.LSTMStateTuple, core_rnn.static_rnn) == (
        tf.nn.rnn_cell.LSTMStateTuple,
        tf.nn.static_rnn,
    )
    assert contrib.rnn.python.ops.core_rnn_cell is core_rnn_cell
    assert arg_scope is contrib.framework.arg_scope  # its module has the same name
    assert add_arg_scope is contrib.framework.add_arg_scope
    assert variables.model_variable is contrib.framework.model_variable
    assert layers.conv2d is contrib.layers.conv2d
    assert initializers.xavier_initializer is contrib.layers.xavier_initializer
    assert layer_utils.smart_cond is contrib.layers.utils.smart_cond
    assert (decoder.Decoder, helper.Helper) == (contrib.seq2seq.Decoder, contrib.seq2seq.Helper)
    assert resnet_v1.resnet_v1_50 is contrib.slim.nets.resnet_v1.resnet_v1_50


def test_a_linear_map_that_is_kept_has_one_kernel() -> None:
    from graphio.contrib.rnn.python.ops.core_rnn_cell import _Linear

    one, two = tf.constant([[1.0, 2.0]]), tf.constant([[3.0]])
    linear = _Linear([one, two], 1, True, kernel_initializer=tf.ones_initializer())
    values = [linear([one, two]), linear([two * 2, one])]
    assert [v.op.name for v in tf.trainable_variables()] == ["kernel", "bias"]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert [v.tolist() for v in session.run(values)] == [[[6.0]], [[9.0]]]
    with pytest.raises(ValueError, match="`args` must be specified"):
        _Linear([], 1, True)


def test_a_program_may_have_its_own_attention_mechanism() -> None:
    from graphio.contrib.seq2seq.python.ops.attention_wrapper import (
        BahdanauAttention,
        _BaseAttentionMechanism,
    )

    class Additive(BahdanauAttention):
        def __call__(self, query: Any, state: Any) -> Any:
            score = tf.reduce_sum(self.keys + tf.expand_dims(self.query_layer(query), 1), 2)
            weights = self._probability_fn(score, state)
            return weights, weights

    memory = tf.constant(np.arange(12.0).reshape(1, 3, 4), tf.float32)
    mechanism = Additive(2, memory, memory_sequence_length=[2])
    assert isinstance(mechanism, _BaseAttentionMechanism)
    weights, _ = mechanism(tf.ones([1, 4]), mechanism.initial_state(1, tf.float32))
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        found = session.run(weights)
    assert found[0, 2] == 0
    assert abs(found.sum() - 1) < 1e-6


def test_a_missing_module_or_name_says_why() -> None:
    with pytest.raises(ModuleNotFoundError, match=r"tensorflow\.python\.keras is not part.*layers"):
        importlib.import_module("graphio.python.keras")
    with pytest.raises(ModuleNotFoundError, match=r"tensorflow\.core\.foo is not part of graphio"):
        importlib.import_module("graphio.core.foo")
    with pytest.raises(AttributeError, match=r"tensorflow\.python\.framework\.ops\.foo is not"):
        _ = ops.foo
    with pytest.raises(ModuleNotFoundError, match="No module named 'graphio.python.internals.foo'"):
        importlib.import_module("graphio.python.internals.foo")
    with pytest.raises(ModuleNotFoundError, match="contrib.rnn.python.ops.foo is not part of grap"):
        importlib.import_module("graphio.contrib.rnn.python.ops.foo")
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'graphio\.contrib\.rnn\.foo'"):
        importlib.import_module("graphio.contrib.rnn.foo")
    path = "graphio.contrib.training.python.training.sequence_queueing_state_saver"
    savers = importlib.import_module(path)
    with pytest.raises(AttributeError, match=r"StateSaver is not part of graphio: \w+"):
        _ = savers.SequenceQueueingStateSaver


@pytest.mark.parametrize("module", sorted(MODULES))
def test_every_message_of_core_is_there(module: str) -> None:
    served = importlib.import_module(f"graphio.core.{module}")
    for name in MODULES[module]:
        value = getattr(served, name)
        assert isinstance(value, int) or name == "DataType" or value.__name__ == name


def test_messages_of_core_are_the_public_classes() -> None:
    from graphio.core.framework import types_pb2
    from graphio.core.protobuf import config_pb2

    assert config_pb2.ConfigProto is tf.ConfigProto
    assert types_pb2.DT_FLOAT == tf.float32.as_datatype_enum == 1
    assert types_pb2.DataType.Name(3) == "DT_INT32"


def test_values_convert_to_tensors_in_lists() -> None:
    first, second = ops.convert_n_to_tensor([1, 2], dtype=tf.float32, name="x")
    assert (first.op.name, second.op.name, first.dtype) == ("x_0", "x_1", tf.float32)
    slices = tf.IndexedSlices(tf.ones([1, 2]), [0])
    assert ops.convert_n_to_tensor_or_indexed_slices([None, slices]) == [None, slices]
    with pytest.raises(TypeError, match="must be a sequence"):
        ops.convert_n_to_tensor(3)


def test_the_graph_of_inputs_is_theirs() -> None:
    graph, other = tf.Graph(), tf.Graph()
    with graph.as_default():
        x = tf.constant(1.0)
    with other.as_default():
        y = tf.constant(1.0)
        assert ops._get_graph_from_inputs([2, x]) is graph
        assert ops._get_graph_from_inputs([2]) is other
    with pytest.raises(ValueError, match="must be from the same graph"):
        ops._get_graph_from_inputs([x, y])


def test_the_shape_that_a_vector_states_is_known_as_far_as_it_can_be() -> None:
    n = tf.placeholder(tf.int32, [])
    shape = tensor_util.constant_value_as_shape
    assert shape(tf.constant([2, -1])).as_list() == [2, None]
    assert shape(tf.stack([n, 3])).as_list() == [None, 3]
    assert shape(tf.placeholder(tf.int32, [3])).as_list() == [None] * 3
    assert shape(tf.constant(-1)).ndims is None
    with pytest.raises(ValueError, match="scalar with value '7'"):
        shape(tf.constant(7))
    assert tensor_shape.matrix(2, None).as_list() == [2, None]
    assert tensor_shape.unknown_shape(2).as_list() == [None, None]
    assert tensor_shape.unknown_shape().ndims is None


@TARGETS
def test_linear_multiplies_the_joined_inputs_by_one_kernel(target: str) -> None:
    a, b = np.arange(6.0).reshape(2, 3), np.ones((2, 1))
    with tf.variable_scope("cell"):
        y = rnn_cell_impl._linear([tf.constant(a), tf.constant(b)], 2, True)
    kernel, bias = tf.trainable_variables()
    assert [kernel.op.name, bias.op.name] == ["cell/kernel", "cell/bias"]
    with tf.Session(target) as session:
        values = np.array([[1.0, 2], [3, 4], [5, 6], [7, 8]])
        kernel.load(values, session)
        bias.load([10.0, 20.0], session)
        np.testing.assert_allclose(session.run(y), np.hstack([a, b]) @ values + [10, 20])
    with pytest.raises(ValueError, match="must be specified"):
        rnn_cell_impl._linear([], 2, True)
    with pytest.raises(ValueError, match="expecting 2D"):
        rnn_cell_impl._linear(tf.zeros([2]), 2, True)


def test_sizes_of_states_are_joined_as_shapes_or_as_vectors() -> None:
    assert rnn_cell_impl._concat(2, [3, 4], static=True).as_list() == [2, 3, 4]
    with tf.Session() as session:
        joined = rnn_cell_impl._concat(tf.constant(2), tf.TensorShape([3]))
        assert session.run(joined).tolist() == [2, 3]


def test_an_object_that_is_no_cell_is_named_with_what_it_lacks() -> None:
    rnn_cell_impl.assert_like_rnncell("cell", tf.nn.rnn_cell.GRUCell(2))
    with pytest.raises(TypeError, match=r"'cell' \(3\) is not an RNNCell: 'output_size' property"):
        rnn_cell_impl.assert_like_rnncell("cell", 3)


@TARGETS
@pytest.mark.parametrize("debias", [True, False])
def test_a_moving_average_is_that_of_its_definition(target: str, debias: bool) -> None:
    x = tf.placeholder(tf.float64, [2])
    with tf.variable_scope("scope"):
        average = tf.get_variable("v", initializer=np.zeros(2), trainable=False)
        update = moving_averages.assign_moving_average(average, x, 0.9, zero_debias=debias)
    names = {v.op.name for v in tf.global_variables()}
    assert names == {"scope/v", *(["scope/scope/v/biased", "scope/scope/v/local_step"] * debias)}
    biased = np.zeros(2)
    with tf.Session(target) as session:
        session.run(tf.global_variables_initializer())
        for step in range(1, 4):
            value = np.array([step, -1.0])
            biased = biased * 0.9 + value * 0.1
            expected = biased / (1 - 0.9**step) if debias else biased
            np.testing.assert_allclose(session.run(update, {x: value}), expected, rtol=1e-7)
            np.testing.assert_allclose(session.run(average), expected, rtol=1e-7)


def test_a_weighted_moving_average_divides_two_averages() -> None:
    x, w = tf.placeholder(tf.float64, []), tf.placeholder(tf.float64, [])
    average = moving_averages.weighted_moving_average(x, 0.5, w)
    names = [v.op.name for v in tf.global_variables()]
    assert names == ["WeightedMovingAvg/value_x_weight", "WeightedMovingAvg/weight"]
    above = below = 0.0
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        for value, weight in ((2.0, 1.0), (8.0, 3.0)):
            above, below = (above + value * weight) / 2, (below + weight) / 2
            assert session.run(average, {x: value, w: weight}) == pytest.approx(above / below)


def test_slots_have_the_name_of_their_variable_and_its_shape() -> None:
    v = tf.get_variable("v", [2, 3])
    zeros = slot_creator.create_zeros_slot(v, "momentum")
    ones = slot_creator.create_slot(v, tf.ones([4]), "other")
    assert [zeros.op.name, ones.op.name] == ["v/momentum", "v/other"]
    assert zeros.shape.as_list() == [2, 3]
    assert zeros not in tf.trainable_variables()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert not session.run(zeros).any()
        assert session.run(ones).tolist() == [1] * 4


def test_arguments_of_layers_are_checked_and_completed() -> None:
    assert utils.normalize_tuple(2, 3, "strides") == (2, 2, 2)
    with pytest.raises(ValueError, match="`strides` argument must be a tuple of 2"):
        utils.normalize_tuple((1, 2, 3), 2, "strides")
    assert utils.convert_data_format("channels_first", 4) == "NCHW"
    with pytest.raises(ValueError, match="Input rank not supported: 6"):
        utils.convert_data_format("channels_last", 6)
    with pytest.raises(ValueError, match="Invalid data_format"):
        utils.convert_data_format("NHWC", 4)
    assert utils.normalize_padding("SAME") == "same"
    with pytest.raises(ValueError, match="padding"):
        utils.normalize_padding("full")
    with pytest.raises(ValueError, match="data_format"):
        utils.normalize_data_format("NHWC")


@pytest.mark.parametrize("padding", ["same", "valid"])
@pytest.mark.parametrize(("size", "stride"), [(3, 1), (3, 2), (4, 3)])
def test_lengths_of_convolutions_are_those_that_layers_give(
    padding: str, size: int, stride: int
) -> None:
    x = tf.zeros([1, 11, 1])
    y = tf.layers.conv1d(x, 1, size, stride, padding)
    assert utils.conv_output_length(11, size, padding, stride) == y.shape[1].value
    z = tf.layers.conv2d_transpose(tf.zeros([1, 1, 11, 1]), 1, (1, size), (1, stride), padding)
    assert utils.deconv_output_length(11, size, padding, stride) == z.shape[2].value
    back = utils.conv_input_length(utils.conv_output_length(12, 3, "valid", 1), 3, "valid", 1)
    assert back == 12


def test_smart_cond_takes_one_branch_where_the_condition_is_known() -> None:
    calls: list[str] = []

    def yes() -> Any:
        calls.append("yes")
        return tf.constant(1)

    def no() -> Any:
        calls.append("no")
        return tf.constant(2)

    utils.smart_cond(tf.constant(True), yes, no)
    utils.smart_cond(0, yes, no)
    assert calls == ["yes", "no"]
    assert utils.constant_value(1) is True
    assert utils.constant_value(tf.placeholder(tf.bool, [])) is None
    with pytest.raises(TypeError, match="`pred` must be"):
        utils.constant_value("yes")


def test_the_processor_is_the_only_device() -> None:
    (device,) = device_lib.list_local_devices()
    assert (device.name, device.device_type) == ("/device:CPU:0", "CPU")
    assert device.memory_limit >= 0


def test_functions_tell_their_arguments_behind_decorators() -> None:
    def plain(a: int, b: int = 2, *rest: int, **more: int) -> int:
        return a + b

    @deprecation.deprecated(None, "use another")
    def old(a: int) -> int:
        return a

    wrapped = tf_decorator.make_decorator(plain, lambda *a: plain(*a) + 1)
    assert (wrapped.__name__, wrapped(1)) == ("plain", 4)
    assert tf_decorator.unwrap(wrapped) == ([wrapped], plain)
    assert tf_inspect.getargspec(wrapped) == (["a", "b"], "rest", "more", (2,))
    assert tf_inspect.isclass(int)
    assert function_utils.fn_args(plain) == ("a", "b")
    assert function_utils.has_kwargs(plain)
    assert not function_utils.has_kwargs(old)
    assert function_utils.get_func_name(wrapped) == "plain"
    assert old(3) == 3
    with pytest.raises(ValueError, match="Must use keyword args to call old"):
        keyword_args.keyword_args_only(old)(3)
    with pytest.raises(ValueError, match="Cannot specify both 'a' and 'b'"):
        deprecation.deprecated_argument_lookup("b", 1, "a", 2)


def test_dicts_are_flattened_with_their_keys() -> None:
    assert nest.flatten_dict_items({(4, 5): (6, 8), 1: 2}) == {4: 6, 5: 8, 1: 2}
    with pytest.raises(ValueError, match="not unique"):
        nest.flatten_dict_items({(4, 5): (6, 8), 4: 2})
    with pytest.raises(TypeError, match="must be a dictionary"):
        nest.flatten_dict_items([1])


def test_files_are_read_and_written_as_strings(tmp_path: Path) -> None:
    path = str(tmp_path / "file.txt")
    file_io.write_string_to_file(path, "one")
    assert file_io.read_file_to_string(path) == "one"
    assert file_io.read_file_to_string(path, binary_mode=True) == b"one"
    assert file_io.file_exists(path)


def trained(tmp_path: Path) -> tuple[str, np.ndarray[Any, Any]]:
    """The prefix of a checkpoint, with graph.pb and graph.pbtxt in its folder, and the output."""
    x = tf.placeholder(tf.float32, [None, 2], name="x")
    w = tf.get_variable("w", initializer=np.float32([[1], [2]]))
    y = tf.matmul(x, w, name="y")
    tf.add(y, 1.0, name="z")
    saver = tf.train.Saver()
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        prefix = saver.save(session, str(tmp_path / "model"))
        expected = session.run(y, {x: [[3.0, 4.0]]})
    graph = tf.get_default_graph().as_graph_def()
    tf.train.write_graph(graph, str(tmp_path), "graph.pb", as_text=False)
    tf.train.write_graph(graph, str(tmp_path), "graph.pbtxt")
    return prefix, expected


@pytest.mark.parametrize("source", ["graph.pb", "graph.pbtxt", "model.meta"])
def test_a_frozen_graph_gives_the_outputs_of_its_checkpoint(tmp_path: Path, source: str) -> None:
    prefix, expected = trained(tmp_path)
    path, out = str(tmp_path / source), str(tmp_path / "frozen.pb")
    meta = path if source.endswith("meta") else None
    freeze_graph.freeze_graph(
        "" if meta else path, "", source.endswith(".pb"), prefix, "y", "save/restore_all",
        "save/Const:0", out, True, "", input_meta_graph=meta,
    )  # fmt: skip
    frozen = tf.GraphDef.FromString(Path(out).read_bytes())
    assert {node.op for node in frozen.node} == {"Placeholder", "Const", "Identity", "MatMul"}
    with tf.Graph().as_default(), tf.Session() as session:
        (y,) = tf.import_graph_def(frozen, return_elements=["y:0"], name="")
        np.testing.assert_array_equal(session.run(y, {"x:0": [[3.0, 4.0]]}), expected)


def test_freezing_refuses_what_it_would_ignore(tmp_path: Path) -> None:
    for names in ({"input_saver": "saver.pb"}, {"initializer_nodes": "init"}):
        given = {"input_saver": "", "initializer_nodes": "", **names}
        with pytest.raises(ValueError, match=f"{next(iter(names))} is .* not supported"):
            freeze_graph.freeze_graph(
                "g", given["input_saver"], True, "c", "y", "", "", "", True,
                given["initializer_nodes"],
            )  # fmt: skip


def test_a_graph_is_cut_between_its_inputs_and_outputs(tmp_path: Path) -> None:
    trained(tmp_path)
    whole = tf.get_default_graph().as_graph_def()
    cut = strip_unused_lib.strip_unused(whole, ["y"], ["z"], tf.float32.as_datatype_enum)
    assert [node.op for node in cut.node if node.name == "y"] == ["Placeholder"]
    with tf.Graph().as_default(), tf.Session() as session:
        (z,) = tf.import_graph_def(cut, return_elements=["z:0"], name="")
        assert session.run(z, {"y:0": [[2.0]]}).tolist() == [[3.0]]
    with pytest.raises(KeyError, match="input nodes were not found"):
        strip_unused_lib.strip_unused(whole, ["none"], ["z"], 1)


def test_a_checkpoint_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    prefix, _ = trained(tmp_path)
    inspect_checkpoint.print_tensors_in_checkpoint_file(prefix, None, True)
    shown = capsys.readouterr().out
    assert "tensor_name:  w\n[[1.]\n [2.]]" in shown
    assert "# Total number of params: 2" in shown
    inspect_checkpoint.print_tensors_in_checkpoint_file(prefix, "w", False)
    assert "[2.]]" in capsys.readouterr().out
    inspect_checkpoint.print_tensors_in_checkpoint_file(str(tmp_path / "none"), "", False)
    assert "none" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("module", "names", "others"),
    [
        ("ops.rnn_cell", ["RNNCell", "GRUCell", "MultiRNNCell"], ["_Linear", "Any"]),
        ("ops.math_ops", ["sigmoid", "tanh", "reduce_sum", "div"], ["relu"]),
        ("ops.nn", ["relu", "conv2d"], ["TYPE_CHECKING", "annotations", "Session"]),
        ("ops.standard_ops", ["concat", "Variable"], ["nn", "reduce_sum_v2"]),
        ("util.tf_inspect", ["getargspec", "isclass"], []),
    ],
)
def test_a_star_binds_the_public_names_of_a_module(
    module: str, names: list[str], others: list[str]
) -> None:
    bound: dict[str, Any] = {}
    exec(f"from graphio.python.{module} import *", bound)
    served = importlib.import_module(f"graphio.python.{module}")
    assert all(bound[name] is getattr(served, name) for name in names)
    assert not bound.keys() & set(others)


def test_only_objects_with_the_parts_of_a_cell_are_like_one() -> None:
    assert rnn_cell_impl._like_rnncell(tf.nn.rnn_cell.GRUCell(2))
    assert not any(map(rnn_cell_impl._like_rnncell, [len, tf.layers.Dense(2), None]))


def test_the_modules_of_distributions_have_their_helpers() -> None:
    from graphio.python.ops.distributions import kullback_leibler, normal, special_math, util

    assert normal.Normal is tf.distributions.Normal
    p, q = normal.Normal(0.0, 1.0), normal.Normal(1.0, 1.0)
    with tf.Session() as sess:
        shares, cross = sess.run(
            [special_math.ndtr(tf.constant([0.0, 1.959964])), kullback_leibler.cross_entropy(p, q)]
        )
    assert shares.round(6).tolist() == [0.5, np.float32(0.975).item()]
    assert abs(cross - (0.5 * np.log(2 * np.pi * np.e) + 0.5)) < 1e-6
    # of MD5("3salt"), the first 31 bits
    assert util.gen_new_seed(3, "salt") == 355146948


def test_a_rewriter_config_has_the_fields_that_programs_set() -> None:
    from graphio.core.protobuf import config_pb2, rewriter_config_pb2

    rewriter = rewriter_config_pb2.RewriterConfig(
        layout_optimizer=rewriter_config_pb2.RewriterConfig.ON
    )
    rewriter.optimizers.append("constfold")
    rewriter.auto_parallel.enable = True
    options = config_pb2.GraphOptions(rewrite_options=rewriter)
    assert options.rewrite_options.optimizers == ["constfold"]
    config = tf.ConfigProto()
    config.graph_options.rewrite_options.memory_optimization = rewriter.HEURISTICS
    with tf.Session(config=config) as sess:
        assert sess.run(tf.constant(2) * 3) == 6
