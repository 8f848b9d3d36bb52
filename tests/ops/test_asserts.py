"""Assert, assert_..., check_numerics: when they fail and what they say; in both engines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import engines
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import graphio as tf
from graphio.engine import tensor_text

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])
INVALID = tf.errors.InvalidArgumentError


def label(value: Any) -> str:
    """Names a parameter in a test's name."""
    return str(getattr(value, "__name__", value))


def runs(target: str, operation: Any, feeds: Any = None) -> None:
    """Runs an operation of the default graph."""
    with tf.Session(target) as session:
        assert session.run(operation, feeds) is None


def message(target: str, operation: Any, feeds: Any = None) -> str:
    """The message of the failed assertion."""
    with pytest.raises(INVALID) as caught:
        runs(target, operation, feeds)
    assert caught.value.op is not None
    return caught.value.message


# ---- Assert ----


@TARGETS
def test_assert_fails_with_its_data_in_the_users_line(target: str) -> None:
    with tf.Graph().as_default():
        p, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [None])
        check = tf.Assert(p, ["x is", x, 3], name="check")
        assert isinstance(check, tf.Operation) and check.type == "Assert"
        runs(target, check, {p: True, x: [1]})
        reported = message(target, check, {p: False, x: [1, 2.5, 3, 4]})
    assert reported.startswith("Assert 'check' (test_asserts.py:")
    assert reported.endswith("): assertion failed: [x is] [1 2.5 3...] [3]")


@TARGETS
def test_what_waits_for_an_assert_is_not_reached(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        x, v = tf.placeholder(tf.float32, []), tf.Variable(0.0)
        session.run(v.initializer)
        with tf.control_dependencies([tf.Assert(x > 0, [x])]):
            step = v.assign_add(x)
        with pytest.raises(INVALID, match=r"assertion failed: \[-1\]"):
            session.run(step, {x: -1})
        assert session.run(v) == 0 and session.run(step, {x: 2}) == 2


@TARGETS
def test_only_the_branch_taken_asserts(target: str) -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [])
        check = tf.cond(x > 0, lambda: tf.Assert(x > 5, [x]), lambda: tf.no_op())
        with tf.Session(target) as session:
            for fine in (-1.0, 6.0):  # which branch was taken, as TensorFlow gives it
                assert session.run(check, {x: fine}) == (fine > 0)
        assert "assertion failed: [2]" in message(target, check, {x: 2})


@TARGETS
def test_a_loop_stops_at_the_iteration_that_asserts(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        n = tf.placeholder(tf.int32, [])

        def body(i: Any) -> Any:
            with tf.control_dependencies([tf.Assert(i < 3, ["i =", i])]):
                return i + 1

        y = tf.while_loop(lambda i: i < n, body, [0])
        assert session.run(y, {n: 3}) == 3
        with pytest.raises(INVALID, match=r"assertion failed: \[i =\] \[3\]"):
            session.run(y, {n: 9})


ELEMENTS = [
    *(True, b"text", -7, 1.5, 0.1, 1e30, float("inf"), float("-inf"), float("nan"), 1 + 2j),
    *(np.float64(0.1), np.float64(1) / 3, np.float32(1) / 3, np.float32(16777217), -0.0),
    *(np.int8(-128), np.uint8(255), np.int16(-1), np.uint64(2**64 - 1), np.int64(-(2**63))),
    *(np.float16(0.1), np.float16(np.inf), np.float16(6e-8), np.complex64(1 / 3 - 1j)),
    *(np.arange(12).reshape(2, 2, 3), np.zeros((0,)), np.zeros((2, 0)), np.zeros((1, 1, 1))),
]


@pytest.mark.parametrize("summarize", [-1, 0, 1, 3, 7])
def test_both_engines_show_data_in_the_same_way(summarize: int) -> None:
    engines.module("cinfer")
    with tf.Graph().as_default():
        for start in range(0, len(ELEMENTS), 4):
            values = ELEMENTS[start : start + 4]
            check = tf.Assert(tf.constant(False), [tf.constant(v) for v in values], summarize)
            assert message("", check) == message("cinfer", check)


@settings(max_examples=40, deadline=None)
@given(
    hnp.arrays(st.sampled_from([np.float32, np.float64, np.int32]), hnp.array_shapes(max_side=3)),
    st.integers(-1, 9),
)
def test_any_array_is_shown_in_the_same_way(array: Any, summarize: int) -> None:
    engines.module("cinfer")
    with tf.Graph().as_default():
        check = tf.Assert(tf.constant(False), [tf.constant(array)], summarize)
        assert message("", check) == message("cinfer", check)


def test_numbers_are_shown_as_tensorflow_shows_them() -> None:
    matrix = np.array([[1, 2], [3, 4]])
    assert (
        tensor_text.flat(matrix, 3) == "[1 2][3]..."
        and tensor_text.flat(matrix, -1) == "[1 2][3 4]"
    )
    assert tensor_text.flat(np.float32(0.1), 3) == "0.1"
    assert tensor_text.flat(np.float32(1) / 3, 3) == "0.33333334"
    assert tensor_text.flat(np.array([True, False]), 3) == "1 0"
    assert tensor_text.nested(np.arange(8), 3) == "[0 1 2 ... 5 6 7]"
    assert tensor_text.nested(matrix, 3) == "[[1 2]\n [3 4]]"
    cube = np.arange(8).reshape(2, 2, 2)
    assert tensor_text.nested(cube, 3) == "[[[0 1]\n  [2 3]]\n\n [[4 5]\n  [6 7]]]"


@TARGETS
def test_long_data_is_cut_and_does_no_harm(target: str) -> None:
    with tf.Graph().as_default():
        data = [tf.constant("x" * 500), tf.range(5000), tf.constant("y" * 5000)]
        assert "[xxx" in message(target, tf.Assert(tf.constant(False), data, summarize=-1))


def test_assert_refuses_what_is_no_condition() -> None:
    with tf.Graph().as_default():
        with pytest.raises(TypeError, match="expected bool"):
            tf.Assert(tf.constant(1), ["x"])
        with pytest.raises(ValueError, match=r"expected a scalar.*reduce_all"):
            tf.Assert(tf.constant([True, False]), ["x"])
        with pytest.raises(TypeError, match="expected a list"):
            tf.Assert(tf.constant(True), "x")


@TARGETS
def test_a_condition_that_turns_out_to_be_no_scalar_is_refused(target: str) -> None:
    with tf.Graph().as_default():
        p = tf.placeholder(tf.bool)
        check = tf.Assert(p, ["x"])
        runs(target, check, {p: True})
        assert "expected one" in message(target, check, {p: [True, True]})


# ---- comparisons ----

#: assertion, what holds, what does not, the sign in the message
PAIRS = [
    (tf.assert_equal, ([1, 2], [1, 2]), ([1, 2], [1, 3]), "=="),
    (tf.assert_none_equal, ([1, 2], [2, 1]), ([1, 2], [1, 3]), "!="),
    (tf.assert_less, ([1, 2], [2, 3]), ([1, 3], [2, 3]), "<"),
    (tf.assert_less_equal, ([1, 3], [2, 3]), ([1, 4], [2, 3]), "<="),
    (tf.assert_greater, ([3, 4], [2, 3]), ([3, 3], [2, 3]), ">"),
    (tf.assert_greater_equal, ([3, 3], [2, 3]), ([3, 2], [2, 3]), ">="),
]
SIGNS = [
    (tf.assert_positive, [1, 2], [1, 0], ">"),
    (tf.assert_negative, [-1, -2], [-1, 0], "<"),
    (tf.assert_non_negative, [0, 1], [0, -1], ">="),
    (tf.assert_non_positive, [0, -1], [0, 1], "<="),
]


@TARGETS
@pytest.mark.parametrize(("function", "good", "bad", "sign"), PAIRS, ids=label)
def test_a_comparison_is_made_in_the_run(
    target: str, function: Callable[..., Any], good: Any, bad: Any, sign: str
) -> None:
    with tf.Graph().as_default():
        x, y = (tf.placeholder(tf.float32, [None], name=n) for n in "xy")
        check = function(x, y, message="must be")
        runs(target, check, {x: good[0], y: good[1]})
        runs(target, check, {x: [], y: []})
        reported = message(target, check, {x: bad[0], y: bad[1]})
    shown = [" ".join(map(str, v)) for v in bad]
    assert reported.endswith(
        f"assertion failed: [must be] [Condition x {sign} y did not hold element-wise:] "
        f"[x (x:0) = ] [{shown[0]}] [y (y:0) = ] [{shown[1]}]"
    )


@pytest.mark.parametrize(("function", "good", "bad", "sign"), PAIRS, ids=label)
def test_a_comparison_of_constants_is_made_while_building(
    function: Callable[..., Any], good: Any, bad: Any, sign: str
) -> None:
    with tf.Graph().as_default():
        assert isinstance(function(*good), tf.Operation)
        with pytest.raises(INVALID, match=f"(?s)mine\nCondition x {sign} y did not hold"):
            function(*bad, message="mine")


@TARGETS
@pytest.mark.parametrize(("function", "good", "bad", "sign"), SIGNS, ids=label)
def test_a_sign_is_asserted(
    target: str, function: Callable[..., Any], good: Any, bad: Any, sign: str
) -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.int32, [None], name="x")
        check = function(x)
        runs(target, check, {x: good})
        reported = message(target, check, {x: bad})
        assert (
            f"[Condition x {sign} 0 did not hold element-wise:] [x (x:0) = ] [{bad[0]}" in reported
        )
        function(good)
        with pytest.raises(INVALID, match=f"Condition x {sign} 0 did not hold"):
            function(bad)


@TARGETS
def test_an_assertion_may_show_other_data(target: str) -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.int32, [None])
        check = tf.assert_equal(x, 1, data=["only", x], summarize=1, name="mine")
        assert check.name == "mine"
        assert message(target, check, {x: [1, 2]}).endswith("assertion failed: [only] [1...]")


@TARGETS
def test_strings_are_compared(target: str) -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.string, [])
        check = tf.assert_equal(x, "yes")
        runs(target, check, {x: "yes"})
        assert "[no]" in message(target, check, {x: "no"})


def test_comparisons_refuse_what_cannot_be_compared() -> None:
    with tf.Graph().as_default():
        with pytest.raises(TypeError, match="does not match"):
            tf.assert_equal(tf.constant(1), tf.constant(1.0))
        with pytest.raises(ValueError, match="broadcast"):
            tf.assert_less(tf.zeros([2]), tf.zeros([3]))


@TARGETS
def test_near_is_within_both_tolerances(target: str) -> None:
    with tf.Graph().as_default():
        x, y = tf.placeholder(tf.float32, [None], name="x"), tf.constant([100.0, np.inf])
        exact, loose = tf.assert_near(x, y), tf.assert_near(x, y, rtol=0.01, atol=0.5)
        runs(target, exact, {x: [100.00001, np.inf]})
        runs(target, loose, {x: [101.4, np.inf]})
        assert "[101.4 inf]" in message(target, exact, {x: [101.4, np.inf]})
        reported = message(target, loose, {x: [102, np.inf]})
        assert "x and y not equal to tolerance rtol = 0.01, atol = 0.5" in reported
        message(target, loose, {x: [np.nan, np.inf]})
        with pytest.raises(TypeError, match="expected a floating dtype"):
            tf.assert_near(1, 2)


# ---- ranks and shapes ----

RANKS = [
    (tf.assert_rank, 2, (2, 3), (2,), "must have rank 2"),
    (tf.assert_rank_at_least, 2, (2, 3, 1), (2,), "must have rank at least 2"),
    (tf.assert_rank_in, (1, 2), (2,), (), r"must have rank in \(1, 2\)"),
]


@pytest.mark.parametrize(("function", "rank", "good", "bad", "words"), RANKS)
def test_a_known_rank_is_checked_while_building(
    function: Callable[..., Any], rank: Any, good: Any, bad: Any, words: str
) -> None:
    with tf.Graph().as_default():
        assert function(tf.zeros(good), rank).type == "NoOp"
        with pytest.raises(ValueError, match=f"^mine.  Tensor .*:0 {words}.  Received rank"):
            function(tf.zeros(bad), rank, message="mine")


@TARGETS
@pytest.mark.parametrize(("function", "rank", "good", "bad", "words"), RANKS)
def test_an_unknown_rank_is_checked_in_the_run(
    target: str, function: Callable[..., Any], rank: Any, good: Any, bad: Any, words: str
) -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32)
        check = function(x, rank)
        runs(target, check, {x: np.zeros(good)})
        reported = message(target, check, {x: np.zeros(bad)})
        assert "must have rank" in reported and "[Received shape: ]" in reported


@TARGETS
def test_a_rank_may_come_as_a_tensor(target: str) -> None:
    with tf.Graph().as_default():
        n = tf.placeholder(tf.int32, [])
        check = tf.assert_rank(tf.zeros([2]), n)
        runs(target, check, {n: 1})
        assert "[2]" in message(target, check, {n: 2})
        with pytest.raises(ValueError, match="Rank must be a scalar"):
            tf.assert_rank(tf.zeros([2]), [1])
        with pytest.raises(TypeError, match="must be of type int32"):
            tf.assert_rank(tf.zeros([2]), 1.0)


def test_scalars() -> None:
    with tf.Graph().as_default():
        assert tf.assert_scalar(3.0).shape.ndims == 0
        for other in (tf.zeros([1]), tf.placeholder(tf.float32)):
            with pytest.raises(ValueError, match="Expected scalar shape for .*, saw shape"):
                tf.assert_scalar(other)


@TARGETS
def test_shapes_share_letters(target: str) -> None:
    with tf.Graph().as_default():
        x, y = tf.placeholder(tf.float32), tf.placeholder(tf.float32)
        check = tf.debugging.assert_shapes([(x, ("N", 2)), (y, ("N", None))])
        runs(target, check, {x: np.zeros((3, 2)), y: np.zeros((3, 7))})
        for wrong in (((3, 1), (3, 7)), ((3, 2), (4, 7)), ((3,), (3, 7)), ((3, 2), (3,))):
            message(target, check, {x: np.zeros(wrong[0]), y: np.zeros(wrong[1])})
        known, other = tf.zeros([3, 2]), tf.zeros([4])
        tf.debugging.assert_shapes({known: ("N", "D"), other: ("B",)})
        with pytest.raises(
            ValueError, match=r"dimension 0\.  .* must have size 3\.  Received size 4"
        ):
            tf.debugging.assert_shapes({known: ("N", "D"), other: ("N",)})
        with pytest.raises(ValueError, match="explicitly.  .* must have size 5"):
            tf.debugging.assert_shapes({known: (3, 5)})


@TARGETS
def test_scalars_and_vectors_of_one_element_have_shapes_alike(target: str) -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32)
        tf.debugging.assert_shapes(
            [(tf.ones([1]), ()), (tf.constant(2.0), (1,)), (1.0, ("*", "N"))]
        )
        with pytest.raises(ValueError, match="dimension -1 must have size 2.  Received size 1"):
            tf.debugging.assert_shapes([(tf.constant(1.0), ("*", 2))])
        for shape in ((), (1,), ("*", 1), "1"):
            check = tf.debugging.assert_shapes([(x, shape)])
            runs(target, check, {x: 3.0})
            runs(target, check, {x: [3.0]})
            message(target, check, {x: [1.0, 2.0]})


def test_shapes_of_sparse_tensors_are_checked() -> None:
    with tf.Graph().as_default():
        sparse = tf.SparseTensor([[0, 1]], [1.0], [3, 4])
        tf.debugging.assert_shapes([(sparse, ("N", 4)), (tf.zeros([3]), "N")])
        tf.assert_rank(sparse, 2)
        with pytest.raises(ValueError, match="dimension 1 must have size 3.  Received size 4"):
            tf.debugging.assert_shapes([(sparse, ("N", "N"))])
        with pytest.raises(ValueError, match="must have rank 3.  Received rank 2"):
            tf.debugging.assert_shapes([(sparse, (None, None, None))])


@TARGETS
def test_shapes_of_fed_sparse_tensors_are_checked_in_the_run(target: str) -> None:
    with tf.Graph().as_default():
        sparse = tf.sparse_placeholder(tf.float32)
        check = tf.debugging.assert_shapes([(sparse, ("N", "N"))])
        runs(target, check, {sparse: ([[0, 1]], [1.0], [2, 2])})
        message(target, check, {sparse: ([[0, 1]], [1.0], [2, 3])})
        message(target, check, {sparse: ([[0]], [1.0], [2])})


@pytest.mark.parametrize(
    ("shape", "words"), [(2, "must be an iterable"), (("N", "*"), "only allowed as the first")]
)
def test_shapes_to_assert_must_be_lists_of_sizes(shape: Any, words: str) -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match=words):
        tf.debugging.assert_shapes([(tf.zeros([2]), shape)])


# ---- types ----


def test_types_are_decided_while_building() -> None:
    with tf.Graph().as_default():
        assert tf.assert_integer(1).type == tf.assert_type(1.0, tf.float32).type == "NoOp"
        with pytest.raises(TypeError, match=r'Expected "x" to be integer type.  Found: float32'):
            tf.assert_integer(1.0)
        with pytest.raises(TypeError, match="is float32, must be of type int32"):
            tf.assert_type(1.0, tf.int32)
        single, double = tf.constant(1.0), tf.constant(1.0, tf.float64)
        assert tf.assert_same_float_dtype() == tf.float32
        assert tf.assert_same_float_dtype([None, double]) == tf.float64
        for tensors, dtype in (([single, double], None), ([single], tf.float64)):
            with pytest.raises(ValueError, match="must be of the same type"):
                tf.assert_same_float_dtype(tensors, dtype)
        with pytest.raises(ValueError, match="Expected floating point type, got int32"):
            tf.assert_same_float_dtype([tf.constant(1)])
        assert tf.is_numeric_tensor(single) and not tf.is_numeric_tensor(tf.constant("a"))
        assert not tf.is_numeric_tensor(np.zeros(2))


def test_proper_iterables() -> None:
    with tf.Graph().as_default():
        for proper in ([1], (1,), {"a": 1}, {1}):
            tf.assert_proper_iterable(proper)
        for improper in (tf.constant([1]), np.zeros(2), "text", b"text", tf.Variable([1.0])):
            with pytest.raises(TypeError, match='"proper" iterable'):
                tf.assert_proper_iterable(improper)
        with pytest.raises(TypeError, match="to be iterable"):
            tf.assert_proper_iterable(3)


@TARGETS
def test_variables_are_asserted_to_have_values(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        assert tf.assert_variables_initialized() is None
        v, w = tf.Variable(1.0), tf.Variable(2.0)
        check = tf.assert_variables_initialized()
        session.run(v.initializer)
        session.run(tf.assert_variables_initialized([v]))
        with pytest.raises(tf.errors.FailedPreconditionError, match="Variable_1"):
            session.run(check)
        session.run(w.initializer)
        assert session.run(check).tolist() == [0, 0]


def test_the_namespace_has_the_names() -> None:
    assert tf.debugging.assert_equal is tf.assert_equal and tf.debugging.is_nan is tf.is_nan
    assert tf.debugging.assert_all_finite is tf.verify_tensor_all_finite
    for name in tf.debugging.__all__:
        assert callable(getattr(tf.debugging, name))


# ---- finite numbers ----


@TARGETS
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_check_numerics_says_what_it_found(target: str, dtype: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        x = tf.placeholder(dtype, [None])
        y = tf.check_numerics(x, "weights")
        assert session.run(y, {x: [1, -2]}).tolist() == [1, -2] and y.op.type == "CheckNumerics"
        for values, words in (
            ([1, np.nan], "NaN"),
            ([np.inf], "Inf"),
            ([-np.inf, 0, np.nan], "Inf and NaN"),
        ):
            with pytest.raises(INVALID, match=f"weights : Tensor had {words} values"):
                session.run(y, {x: values})


@TARGETS
def test_check_numerics_checks_its_gradient_too(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        x = tf.placeholder(tf.float32, [])
        gradient = tf.gradients(tf.sqrt(tf.check_numerics(x, "root")), x)[0]
        assert session.run(gradient, {x: 0.25}) == 1
        with pytest.raises(INVALID, match=r"detected in gradient. root : Tensor had Inf values"):
            session.run(gradient, {x: 0})


@TARGETS
def test_all_finite(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        x = tf.placeholder(tf.float32, [])
        y, z = (
            tf.verify_tensor_all_finite(x, "old"),
            tf.debugging.assert_all_finite(x=x, message="n"),
        )
        assert session.run([y, z], {x: 2}) == [2, 2]
        with pytest.raises(INVALID, match="old : Tensor had NaN values"):
            session.run(y, {x: np.nan})
        with pytest.raises(TypeError, match="give a tensor and a message"):
            tf.verify_tensor_all_finite(x)
        with pytest.raises(TypeError, match="expected a floating dtype"):
            tf.check_numerics(1, "x")


@TARGETS
def test_every_tensor_is_checked_in_order(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        x = tf.placeholder(tf.float32, [], name="x")
        y = tf.log(x, name="logarithm")
        z = tf.divide(y, x - 4.0, name="quotient")
        drawn = tf.random_gamma([2], 1.0)  # a loop, in the place of a kernel
        check = tf.add_check_numerics_ops()
        assert z.shape == () and drawn.shape == [2]
        assert session.run(check, {x: 2}) is None
        with pytest.raises(INVALID, match="x:0 : Tensor had NaN"):
            session.run(check, {x: np.nan})
        with pytest.raises(INVALID, match="logarithm:0 : Tensor had Inf"):
            session.run(check, {x: 0})
        with pytest.raises(INVALID, match="quotient:0 : Tensor had Inf"):
            session.run(check, {x: 4})


#: parts of a program that no check of every tensor looks into
CONTROL_FLOW: dict[str, Callable[[Any], Any]] = {
    "a branch": lambda x: tf.cond(x > 0, lambda: x * 2.0, lambda: x),
    "a branch in a branch": lambda x: tf.cond(
        x > 0, lambda: tf.cond(x > 1, lambda: tf.size(tf.ones([2])), lambda: 2), lambda: 3
    ),
    "a loop": lambda x: tf.while_loop(lambda i: i < 3, lambda i: i + tf.size(x * 1.0), [0]),
    "a scan": lambda x: tf.map_fn(lambda e: e * 2.0, tf.stack([x, x])),
    "the branch being built": lambda x: tf.cond(
        x > 0, lambda: tf.add_check_numerics_ops(), lambda: tf.no_op()
    ),
}


@pytest.mark.parametrize("name", CONTROL_FLOW)
def test_no_check_of_every_tensor_is_beside_loops_and_branches(name: str) -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [])
        with pytest.raises(ValueError, match="not compatible with TensorFlow control flow"):
            CONTROL_FLOW[name](x)
            tf.add_check_numerics_ops()


def test_branches_without_floating_tensors_are_beside_checks() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        number = tf.cond(tf.constant(True), lambda: tf.constant(1) + 1, lambda: tf.constant(2))
        check = tf.add_check_numerics_ops()
        assert session.run([number, check]) == [2, None]
