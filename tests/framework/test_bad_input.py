"""Bad arguments: a table of calls that are right, each argument of which is made wrong in turn.

Whatever a call is given, it either builds or is refused by an error of TensorFlow's classes that
names the function, and a refused call leaves the graph as it was.
"""

from __future__ import annotations

import ast
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import graphio as tf

#: objects that the calls use
MADE: dict[str, str] = {
    "f": "tf.constant([[1., 2., 3.], [4., 5., 6.]])",
    "f1": "tf.constant([1., 2., 3.])",
    "m": "tf.constant([[2., 1.], [1., 3.]])",
    "i1": "tf.constant([0, 1, 1])",
    "b": "tf.constant([[True, False, True], [False, True, True]])",
    "s": "tf.constant(['a', 'bb'])",
    "im": "tf.ones([2, 4, 4, 3])",
    "k": "tf.ones([2, 2, 3, 4])",
    "x3": "tf.ones([2, 4, 3])",
    "v": "tf.Variable([1., 2., 3.])",
    "step": "tf.Variable(0, trainable=False)",
    "sp": "tf.SparseTensor([[0, 0], [1, 2]], [1., 2.], [2, 3])",
    "ta": "tf.TensorArray(tf.float32, 3)",
    "ds": "tf.data.Dataset.range(5)",
    "any": "tf.placeholder(tf.float32)",
}
BAD = (
    "None", "[]", "'text'", "object()", "-1", "2**70", "float('nan')",
    "1.5", "[[1], [2, 3]]", "np.zeros((0, 3), np.float32)",
    "elsewhere", "inside", "tf.float32", "s", "im", "any", "sp", "v", "lambda *a: None",
    "{1, 2}", "{'a': 1}", "[-5, 2]", "ds",
)  # fmt: skip
BAD_NAMES = ("5", "'bad name!'", "b'x'", "[]", "f")
CALLS = """
tf.add(f, f)
tf.cast(f, tf.int32)
tf.clip_by_value(f, 0.0, 1.0)
tf.cumsum(f, axis=1, exclusive=True)
tf.einsum('ij,kj->ik', f, f)
tf.linspace(0.0, 1.0, 5)
tf.matmul(f, f, transpose_b=True)
tf.batch_to_space(im, crops=[[0, 0], [0, 0]], block_size=1)
tf.roll(f, shift=1, axis=0)
tf.sequence_mask([1, 2], maxlen=4)
tf.concat([f, f], axis=0)
tf.eye(3, num_columns=2)
tf.fill([2, 2], 1.0)
tf.pad(f, [[1, 1], [1, 1]], mode='CONSTANT', constant_values=0)
tf.range(0, 5, 1)
tf.reshape(f, [3, 2])
tf.split(f, 3, axis=1)
tf.stack([f, f], axis=0)
tf.unstack(f, num=2, axis=0)
tf.transpose(f, perm=[1, 0])
tf.gather(f, [0, 1], axis=0)
tf.gather_nd(f, [[0, 1]])
tf.boolean_mask(f, [True, False])
tf.one_hot([0, 1], 3, axis=-1)
tf.unsorted_segment_sum(f1, i1, 2)
tf.slice(f, [0, 1], [1, 2])
tf.dynamic_partition(f1, i1, 2)
tf.reduce_sum(f, axis=0, keepdims=True)
tf.argmax(f, axis=1)
tf.where(b, f, f)
tf.assert_rank_in(f, [1, 2])
tf.clip_by_global_norm([f, f], 1.0)
tf.matrix_solve(m, m)
tf.placeholder(tf.float32, shape=[2, None])
tf.sparse_placeholder(tf.float32, shape=[2, 3])
tf.random_uniform([2, 3], minval=0, maxval=5, dtype=tf.int32, seed=1)
tf.Variable([1.0, 2.0], trainable=True, collections=None)
tf.get_variable('n', shape=[2, 3], dtype=tf.float32, initializer=None, regularizer=None)
tf.assign_add(v, f1)
tf.nn.conv2d(im, k, strides=[1, 1, 1, 1], padding='SAME', data_format='NHWC')
tf.nn.max_pool(im, [1, 2, 2, 1], [1, 2, 2, 1], 'SAME')
tf.nn.dropout(f, keep_prob=0.5)
tf.nn.lrn(im, depth_radius=2, bias=1.0, alpha=1.0, beta=0.5)
tf.nn.sparse_softmax_cross_entropy_with_logits(labels=[0, 1], logits=f)
tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(4), x3, sequence_length=[1, 2], dtype=tf.float32)
tf.layers.dense(f, 4, activation=None)
tf.layers.conv2d(im, 4, [2, 2], strides=(1, 1), padding='same')
tf.losses.mean_squared_error(f, f, weights=1.0)
tf.metrics.accuracy(i1, i1, weights=None)
tf.metrics.mean_iou(i1, i1, 2)
tf.cond(tf.constant(True), lambda: f, lambda: f)
tf.while_loop(lambda i: i < 3, lambda i: i + 1, [0], maximum_iterations=5)
tf.map_fn(lambda x: x * 2, f, dtype=tf.float32)
tf.scan(lambda a, x: a + x, f, initializer=f1)
ta.write(0, f)
ta.unstack(f)
tf.gradients(f, f, grad_ys=None)
tf.py_func(lambda x: x, [f], tf.float32)
tf.sparse_tensor_to_dense(sp, default_value=0)
tf.sparse_reduce_sum(sp, axis=0)
tf.string_join(['a', s], separator='-')
tf.decode_csv('a,b', [['x'], ['y']])
tf.train.AdamOptimizer(0.1).minimize(tf.reduce_sum(v), global_step=step, var_list=[v])
tf.train.RMSPropOptimizer(0.1).apply_gradients([(f1, v)], global_step=step)
tf.train.exponential_decay(0.1, step, 10, 0.9)
tf.summary.scalar('a', 1.0)
ds.map(lambda x: x, num_parallel_calls=2)
ds.batch(2)
ds.shuffle(5, seed=1)
tf.data.Dataset.from_generator(lambda: iter([1]), tf.int32, tf.TensorShape([]))
"""
GOOD = [line for line in CALLS.splitlines() if line]

_OTHER = tf.Graph()
with _OTHER.as_default():
    ELSEWHERE = tf.constant(1.0)
    INSIDE: list[tf.Tensor] = []
    tf.while_loop(lambda i: i < 3, lambda i: (INSIDE.append(i), i + 1)[1], [0])


def wrong(call: str) -> Iterator[str]:
    """The call with one argument replaced, for every argument and every bad value."""
    tree = ast.parse(call, mode="eval").body
    assert isinstance(tree, ast.Call)
    for position in range(len(tree.args) + len(tree.keywords)):
        for bad in BAD:
            copy = ast.parse(call, mode="eval")
            made: Any = copy.body
            value = ast.parse(bad, mode="eval").body
            if position < len(made.args):
                made.args[position] = value
            else:
                made.keywords[position - len(made.args)].value = value
            yield ast.unparse(copy)
    if call.startswith(("tf.nn.", "tf.reduce")):
        yield from (f"{call[:-1]}, name={bad})" for bad in BAD_NAMES)


def state(graph: tf.Graph) -> tuple[Any, ...]:
    """The state that a refused call must not change."""
    collections = {k: graph.get_collection(k) for k in graph.get_all_collection_keys()}
    return (
        [op.name for op in graph.get_operations()],
        {k: list(map(id, values)) for k, values in collections.items() if values},
        graph.get_name_scope(),
        tf.get_variable_scope().name,
    )


def prepared(call: str, scope: dict[str, Any]) -> tuple[ast.Expression, dict[str, Any]]:
    """The call of names only, and its arguments, which are made before it."""
    tree = ast.parse(call, mode="eval")
    made: Any = tree.body
    for n, part in enumerate([*made.args, *(k.value for k in made.keywords)]):
        scope[f"_{n}"] = eval(ast.unparse(part), scope)
        name = ast.Name(f"_{n}", ast.Load())
        if n < len(made.args):
            made.args[n] = name
        else:
            made.keywords[n - len(made.args)].value = name
    return tree, scope


def outcome(call: str) -> str:
    """The fault in how the call ends; empty for none."""
    with tf.Graph().as_default() as graph:
        scope: dict[str, Any] = {"tf": tf, "np": np, "elsewhere": ELSEWHERE, "inside": INSIDE[0]}
        for node in ast.walk(ast.parse(call)):
            if isinstance(node, ast.Name) and node.id in MADE:
                scope[node.id] = eval(MADE[node.id], scope)
        tree, scope = prepared(call, scope)
        before = state(graph)
        try:
            eval(ast.unparse(tree), scope)
        except (TypeError, ValueError, NotImplementedError, RuntimeError, tf.errors.OpError) as e:
            if isinstance(e, (RecursionError, IndexError, UnicodeError)):
                return f"{type(e).__name__}: {e}"
            function = ast.unparse(ast.parse(call, mode="eval").body.func)  # type: ignore[attr-defined]
            name = function.split(".")[-1].replace("_", "").lower()
            ours = "lambda" not in call  # a custom function reports its own errors
            if ours and type(e) in (TypeError, ValueError) and name not in spelled(str(e)):
                return f"does not name the function: {e}"
            return "" if state(graph) == before else f"changed the graph: {e}"
        except AttributeError as e:  # TensorFlow's class where something else is assigned to
            return "" if call.startswith("tf.assign") else f"AttributeError: {e}"
        except Exception as e:
            return f"{type(e).__name__}: {e}"
    return ""


def spelled(text: str) -> str:
    """The text as names are compared; an alias is taken for its function."""
    return text.replace("_", "").lower().replace("localresponsenormalization", "lrn")


@pytest.mark.parametrize("call", GOOD)
def test_the_calls_of_the_table_are_right(call: str) -> None:
    assert outcome(call) == ""
    with tf.Graph().as_default():
        scope: dict[str, Any] = {"tf": tf, "np": np}
        scope |= {name: eval(text, scope) for name, text in MADE.items()}
        eval(call, scope)


@pytest.mark.parametrize("call", GOOD)
def test_a_wrong_argument_builds_or_is_refused_by_name_and_leaves_the_graph(call: str) -> None:
    found = {bad: outcome(bad) for bad in wrong(call)}
    assert {bad: text for bad, text in found.items() if text} == {}


TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])
#: the expression, the value fed, the class of the refusal
RUNS: dict[str, tuple[str, Any, type[Exception]]] = {
    "a negative size": ("tf.reshape(tf.ones([4]), tf.cast(x, tf.int32))", [-2, 2], ValueError),
    "a matmul of vectors": ("tf.matmul(x, x)", [1.0, 2.0], ValueError),
    "a step of zero": ("tf.range(0.0, 5.0, x)", 0.0, ValueError),
    "a segment too many": ("tf.unsorted_segment_sum([1.], tf.to_int32(x), 2)", [9], ValueError),
    "more than fits": (
        "tf.fill(tf.cast(x, tf.int32), 1.0)", [2**30, 2**30], tf.errors.ResourceExhaustedError,
    ),
}  # fmt: skip


@TARGETS
@pytest.mark.parametrize("case", RUNS)
def test_a_run_that_is_refused_leaves_the_session_usable(target: str, case: str) -> None:
    call, fed, error = RUNS[case]
    with tf.Graph().as_default(), tf.Session(target) as session:
        x = tf.placeholder(tf.float32)
        made = eval(call, {"tf": tf, "x": x})
        with pytest.raises(tf.errors.OpError) as caught:
            session.run(made, {x: fed})
        assert isinstance(caught.value, error)
        assert session.run(x * 2, {x: 3.0}) == 6


@pytest.mark.parametrize("value", [float("nan"), [float("inf")], np.array([np.nan])])
def test_no_integer_is_made_of_nan(value: Any) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.int32, name="x")
        with pytest.raises(ValueError, match="'x:0'.* no integer is NaN or infinite"):
            session.run(x + 1, {x: value})
        assert session.run(x + 1, {x: 1.5}) == 2


def test_what_a_function_of_the_programs_own_raises_is_not_touched() -> None:
    def broken(x: Any) -> Any:
        return x.shape.nonsense

    with tf.Graph().as_default() as graph:
        ones = tf.ones([3])
        with pytest.raises(AttributeError, match="no attribute 'nonsense'$"):
            tf.map_fn(broken, ones)
        assert graph.get_operations() == [ones.op]


def test_a_slip_shows_the_arguments_and_where_the_call_is() -> None:
    with tf.Graph().as_default(), pytest.raises(TypeError) as caught:
        tf.clip_by_global_norm(None, 1.0)
    words = ("clip_by_global_norm: ", "given t_list=None, clip_norm=1.0 (test_bad_input.py:")
    assert all(part in str(caught.value) for part in words)


def test_an_optimizer_whose_step_was_refused_can_be_used_again() -> None:
    with tf.Graph().as_default() as graph:
        v, w = tf.Variable([1.0]), tf.Variable([2.0])
        adam = tf.train.AdamOptimizer(0.1)
        before = state(graph)
        with pytest.raises((TypeError, ValueError)):
            adam.apply_gradients([(tf.ones([1]), v), (tf.ones([3, 3]), w), (1.0, "text")])
        assert adam.variables() == [] and adam.get_slot(v, "m") is None
        assert state(graph)[1] == before[1]
        step = adam.minimize(tf.reduce_sum(v + w))
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            session.run(step)
            np.testing.assert_allclose(session.run([v, w]), [[0.9], [1.9]], rtol=1e-5)


def test_threads_that_build_one_graph_do_not_undo_each_others_work() -> None:
    graph, errors = tf.Graph(), []

    def build(number: int) -> None:
        try:
            with graph.as_default(), tf.name_scope(f"thread{number}"):
                for i in range(40):
                    tf.add(tf.constant(float(i)), 1.0, name="sum")
                    with pytest.raises((TypeError, ValueError)):
                        tf.add(tf.constant(1.0), "text")
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=build, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    with tf.Session(graph=graph) as session:
        assert session.run([f"thread{n}/sum_39:0" for n in range(4)]) == [40.0] * 4
