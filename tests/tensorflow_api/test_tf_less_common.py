"""Functions that fewer programs use: values in both engines, and refusals."""

from __future__ import annotations

import itertools
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import engines
import numpy as np
import pytest
from gradient_check import check as check_gradient

import graphio as tf

RNG = np.random.RandomState(5)


@pytest.fixture(autouse=True)
def graph() -> Iterator[tf.Graph]:
    with tf.Graph().as_default() as g:
        yield g


@pytest.fixture(params=engines.NAMES)
def session(request: Any, graph: tf.Graph) -> Iterator[tf.Session]:
    engines.module(request.param)
    with tf.Session(request.param, graph=graph) as made:
        yield made


# ---- variables and graphs ----


def test_a_branch_sees_the_shape_that_was_assigned(session: tf.Session) -> None:
    v = tf.get_variable("v", [2], initializer=tf.ones_initializer)
    sums = tf.cond(tf.constant(True), lambda: v.read_value() + 1.0, lambda: v.read_value())
    grown = tf.assign(v, np.ones(3, np.float32), validate_shape=False)
    session.run(v.initializer)
    session.run(grown)
    assert session.run(sums).tolist() == [2, 2, 2]


def test_a_refused_assignment_leaves_the_variable_as_it_was() -> None:
    v, longer = tf.get_variable("v", [2]), tf.zeros([3])
    tf.get_default_graph().finalize()
    with pytest.raises(RuntimeError, match="finalized"):
        v.assign(longer, validate_shape=False)
    assert v.shape.as_list() == [2]


def test_an_assignment_without_validation_changes_the_shape(session: tf.Session) -> None:
    v = tf.get_variable("v", [2], initializer=tf.ones_initializer)
    doubled, fed = v * 2.0, tf.placeholder(tf.float32)
    grown = tf.assign(v, fed, validate_shape=False)
    session.run(v.initializer)
    assert session.run(doubled).tolist() == [2, 2]
    assert session.run(grown, {fed: [[1, 2, 3]]}).shape == (1, 3)
    assert session.run(doubled).tolist() == [[2, 4, 6]]
    assert v.shape.ndims is None
    assert session.run(tf.shape(v)).tolist() == [1, 3]


def test_a_variable_says_how_it_was_made() -> None:
    v = tf.get_variable("v", [2], constraint=tf.abs, aggregation=tf.VariableAggregation.SUM)
    assert v.trainable
    assert v.constraint is tf.abs
    assert v.aggregation is tf.VariableAggregation.SUM
    assert v.synchronization is tf.VariableSynchronization.AUTO


def test_an_operation_knows_the_line_that_made_it() -> None:
    file, line, function, _ = tf.constant(1.0).op.traceback[-1]
    assert (file, function) == (
        "test_tf_less_common.py", "test_an_operation_knows_the_line_that_made_it",
    )  # fmt: skip
    assert line > 0
    assert tf.no_op("n").colocation_groups() == [b"loc:@n"]


def test_shapes_have_limits_and_things_in_common() -> None:
    shape = tf.TensorShape([2, None])
    assert shape.with_rank_at_most(2) is shape
    with pytest.raises(ValueError, match="must have rank at most 1"):
        shape.with_rank_at_most(1)
    assert shape.most_specific_compatible_shape([2, 3]).as_list() == [2, None]
    assert shape.most_specific_compatible_shape([2]).ndims is None
    assert [d.size for d in shape.as_proto().dim] == [2, -1]


# ---- a permutation that is fed ----


def test_transpose_takes_a_permutation_that_is_fed(session: tf.Session) -> None:
    x = tf.placeholder(tf.float32, [2, None, 4])
    order = tf.placeholder(tf.int32, [3])
    y = tf.transpose(x, order)
    slope = tf.gradients(y * tf.square(y), x)[0]
    assert y.shape.as_list() == [None, None, None]
    value = RNG.randn(2, 3, 4).astype(np.float32)
    for perm in ([2, 0, 1], [0, 1, 2], [1, 2, 0]):
        got, steep = session.run([y, slope], {x: value, order: perm})
        np.testing.assert_array_equal(got, value.transpose(perm))
        np.testing.assert_allclose(steep, 3 * value**2, rtol=1e-6)
    with pytest.raises(tf.errors.InvalidArgumentError, match="not a permutation of 3 axes"):
        session.run(y, {x: value, order: [0, 0, 1]})
    with pytest.raises(ValueError, match="Dimension must be 3 but is 2"):
        tf.transpose(x, tf.placeholder(tf.int32, [2]))


# ---- starting from a checkpoint ----


@pytest.fixture
def checkpoint(tmp_path: Path) -> str:
    with tf.Graph().as_default(), tf.Session() as session:
        with tf.variable_scope("old"):
            tf.get_variable("w", initializer=[[1.0, 2.0]])
            tf.get_variable("b", initializer=3.0)
        session.run(tf.global_variables_initializer())
        path: str = tf.train.Saver().save(session, str(tmp_path / "m"), global_step=7)
        return path


def test_variables_start_from_a_checkpoint(session: tf.Session, checkpoint: str) -> None:
    with tf.variable_scope("new"):
        w = tf.get_variable("w", [1, 2])
    b, own = tf.get_variable("bias", []), tf.get_variable("own", initializer=5.0)
    tf.train.init_from_checkpoint(checkpoint, {"old/": "new/", "old/b": b})
    session.run(tf.global_variables_initializer())
    assert session.run([w, b, own])[0].tolist() == [[1, 2]]
    assert session.run([b, own]) == [3, 5]


def test_what_a_checkpoint_lacks_is_no_start(checkpoint: str) -> None:
    w = tf.get_variable("w", [2])
    for wrong, words in (
        ({"old/w": w}, r"Shape of variable w:0 \(\(2,\)\) doesn't match"),
        ({"old/x": w}, "Tensor old/x is not found"),
        ({"old/b": "x"}, "Variable x is not found: get_variable made w"),
        ({"old/": "w"}, "scope/': 'other_scope/'"),
        ({"/": "/"}, "Tensor w is not found in .* checkpoint"),
    ):
        with pytest.raises(ValueError, match=words):
            tf.train.init_from_checkpoint(checkpoint, wrong)
    with pytest.raises(tf.errors.NotFoundError):
        tf.train.init_from_checkpoint(checkpoint + "x", {"old/w": w})


def test_a_warm_start_takes_what_a_pattern_matches(session: tf.Session, checkpoint: str) -> None:
    with tf.variable_scope("old"):
        w, b = tf.get_variable("w", initializer=[[0.0, 0.0]]), tf.get_variable("b", initializer=0.0)
    tf.train.warm_start(checkpoint, ".*w")
    session.run(tf.global_variables_initializer())
    assert session.run(w).tolist() == [[1, 2]]
    assert session.run(b) == 0


def test_new_checkpoints_come_one_by_one(checkpoint: str) -> None:
    folder = str(Path(checkpoint).parent)
    assert list(tf.train.checkpoints_iterator(folder, timeout=0)) == [checkpoint]


# ---- connectionist temporal classification ----


def _collapsed(path: tuple[int, ...], blank: int) -> tuple[int, ...]:
    merged = [p for i, p in enumerate(path) if i == 0 or p != path[i - 1]]
    return tuple(p for p in merged if p != blank)


def _ctc(x: Any, label: tuple[int, ...], length: int) -> Any:
    """By all paths."""
    chances = np.exp(x) / np.exp(x).sum(1, keepdims=True)
    classes = x.shape[1]
    paths = itertools.product(range(classes), repeat=length)
    return -np.log(
        sum(
            np.prod([chances[t, c] for t, c in enumerate(path)])
            for path in paths
            if _collapsed(path, classes - 1) == label
        )
    )


def _sparse(rows: list[tuple[int, ...]]) -> tf.SparseTensor:
    positions = [(i, j) for i, row in enumerate(rows) for j in range(len(row))]
    values = [v for row in rows for v in row]
    longest = max(map(len, rows))
    return tf.SparseTensor(
        np.reshape(np.array(positions, np.int64), (-1, 2)), np.array(values, np.int32),
        [len(rows), longest],
    )  # fmt: skip


def test_ctc_loss_counts_all_ways_to_read_the_labels(session: tf.Session) -> None:
    rows = [(0, 1), (1, 1), (2,), (), (0, 2, 0)]
    lengths = [5, 4, 1, 3, 5]
    x = RNG.randn(5, 5, 4)
    logits = tf.constant(x)
    loss = tf.nn.ctc_loss(_sparse(rows), logits, lengths)
    expected = [_ctc(x[:, i], row, lengths[i]) for i, row in enumerate(rows)]
    np.testing.assert_allclose(session.run(loss), expected, rtol=1e-9)
    swapped = tf.nn.ctc_loss(_sparse(rows), x.transpose(1, 0, 2), lengths, time_major=False)
    np.testing.assert_allclose(session.run(swapped), expected, rtol=1e-9)


def test_ctc_loss_has_a_gradient() -> None:
    check_gradient(
        lambda x: tf.nn.ctc_loss(_sparse([(0, 1), (1, 1), ()]), x, [4, 3, 2]),
        [RNG.randn(4, 3, 3)],
        second=False,
    )


def test_ctc_loss_refuses_labels_that_do_not_fit(session: tf.Session) -> None:
    x = tf.constant(RNG.randn(3, 1, 4))
    with pytest.raises(tf.errors.InvalidArgumentError, match="Not enough time"):
        session.run(tf.nn.ctc_loss(_sparse([(1, 1)]), x, [2]))
    ignored = tf.nn.ctc_loss(_sparse([(1, 1)]), x, [2], ignore_longer_outputs_than_inputs=True)
    assert session.run(ignored).tolist() == [0]
    with pytest.raises(tf.errors.InvalidArgumentError, match="not below the number of the blank"):
        session.run(tf.nn.ctc_loss(_sparse([(3,)]), x, [3]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="more than there are steps"):
        session.run(tf.nn.ctc_loss(_sparse([(1,)]), x, [4]))
    with pytest.raises(ValueError, match="must be rank 3 but is rank 2"):
        tf.nn.ctc_loss(_sparse([(1,)]), x[0], [3])
    with pytest.raises(TypeError, match="to be a SparseTensor"):
        tf.nn.ctc_loss([[1]], x, [3])


def test_the_greedy_decoder_reads_the_best_classes(session: tf.Session) -> None:
    best = np.array([[0, 0, 2, 0, 1], [2, 1, 1, 1, 0]])
    x = np.eye(3, dtype=np.float32)[best.T] + 1
    for merge, string_values in (
        (True, [[0, 0, 1], [1, -1, -1]]),
        (False, [[0, 0, 0, 1], [1, 1, -1, -1]]),
    ):
        (found,), cost = tf.nn.ctc_greedy_decoder(x, [5, 3], merge_repeated=merge)
        assert session.run(tf.sparse_tensor_to_dense(found, -1)).tolist() == string_values
        assert session.run(cost).tolist() == [[-10], [-6]]


def test_truths_are_padded_with_false(session: tf.Session) -> None:
    padded = tf.pad(tf.constant([True, True]), [[1, 1]])
    assert session.run(padded).tolist() == [False, True, True, False]


# ---- records of steps, files, strings ----


def _record(length: int, words: list[list[int]]) -> bytes:
    def whole(values: Any) -> tf.train.Feature:
        return tf.train.Feature(int64_list=tf.train.Int64List(value=values))

    def real(values: Any) -> tf.train.Feature:
        return tf.train.Feature(float_list=tf.train.FloatList(value=values))

    lists = {
        "x": tf.train.FeatureList(feature=[real([i, i + 0.5]) for i in range(length)]),
        "w": tf.train.FeatureList(feature=[whole(v) for v in words]),
    }
    found: bytes = tf.train.SequenceExample(
        context=tf.train.Features(feature={"n": whole([length])}),
        feature_lists=tf.train.FeatureLists(feature_list=lists),
    ).SerializeToString()
    return found


CONTEXT = {"n": tf.FixedLenFeature([], tf.int64)}
STEPS = {"x": tf.FixedLenSequenceFeature([2], tf.float32), "w": tf.VarLenFeature(tf.int64)}


def test_a_record_of_steps_is_read(session: tf.Session) -> None:
    record = tf.placeholder(tf.string, [])
    context, steps = tf.parse_single_sequence_example(record, CONTEXT, STEPS)
    assert steps["x"].shape.as_list() == [None, 2]
    words = tf.sparse_tensor_to_dense(steps["w"], -1)
    got = session.run([context["n"], steps["x"], words], {record: _record(2, [[7], [], [8, 9]])})
    assert got[0] == 2
    assert got[1].tolist() == [[0, 0.5], [1, 1.5]]
    assert got[2].tolist() == [[7, -1], [-1, -1], [8, 9]]
    with pytest.raises(tf.errors.InvalidArgumentError, match="'y' is required"):
        expected_values = {"y": tf.FixedLenSequenceFeature([], tf.float32)}
        session.run(tf.parse_single_sequence_example(_record(1, []), None, expected_values)[1]["y"])


def test_records_of_steps_are_filled_up(session: tf.Session) -> None:
    records = [_record(2, [[7], [8, 9]]), _record(1, [[5]])]
    context, steps, lengths = tf.io.parse_sequence_example(records, CONTEXT, STEPS)
    words = tf.sparse_tensor_to_dense(steps["w"], -1)
    got = session.run([context["n"], steps["x"], words, lengths["x"]])
    assert got[0].tolist() == [2, 1]
    assert got[1].tolist() == [[[0, 0.5], [1, 1.5]], [[0, 0.5], [0, 0]]]
    assert got[2].tolist() == [[[7, -1], [8, 9]], [[5, -1], [-1, -1]]]
    assert got[3].tolist() == [2, 1]
    with pytest.raises(ValueError, match="Unsupported feature type for 'x'"):
        tf.io.parse_sequence_example(records, None, {"x": tf.FixedLenFeature([], tf.int64)})


def test_files_are_written_and_read_by_a_graph(session: tf.Session, tmp_path: Path) -> None:
    path = str(tmp_path / "folder" / "a.txt")
    session.run(tf.write_file(path, "text"))
    assert session.run(tf.read_file(path)) == b"text"
    assert session.run(tf.matching_files(str(tmp_path / "*" / "*.txt"))).tolist() == [path.encode()]
    with pytest.raises(tf.errors.NotFoundError, match="No such file"):
        session.run(tf.read_file(path + "x"))
    with pytest.raises(ValueError, match="must be rank 0 but is rank 1"):
        tf.read_file([path])


#: by length of the text: Fingerprint64, MurmurHash64A with TensorFlow's seed, SipHash-2-4 with the
#: key (1, 2), modulo 2^62 - 57, of the bytes 0, 7, 14 ... modulo 256, as TensorFlow 2.21 gives them
HASHES = {
    0: [1936946117179621569, 105434511174508205, 443797209252341741],
    1: [4494688008148700102, 1950187560451231046, 4575515398581416406],
    3: [3225035365289182305, 176483553573209950, 1928571777586301955],
    4: [365121004050576997, 3779776162894438227, 1402240978719913083],
    7: [1123016345076934235, 652137673295450492, 1386875956983328358],
    8: [2037891737372276818, 1341886729188216285, 2118107400387034385],
    16: [4301628150755241542, 2241211539241607297, 1417390909697027230],
    17: [2691913911681614054, 1442824997845769883, 2546884093999807961],
    32: [764915578794662492, 2947422492756472426, 2496905548284139417],
    33: [4270527518038761714, 1125087279261362701, 1291009695719901302],
    64: [2325104078259550773, 3932085621120975960, 2609217183110401564],
    65: [1750252573709625707, 3401849157724952424, 683845601529922981],
    128: [2861393397590574317, 2482598937149673235, 2324050068751685969],
    129: [3220739459477132038, 145765382411940113, 1918230071849735803],
    200: [1800212452726993940, 1900566254578505813, 268786752893700002],
}


@pytest.mark.parametrize("size", HASHES)
def test_strings_fall_into_the_buckets_of_tensorflow(session: tf.Session, size: int) -> None:
    text, many = bytes(7 * i % 256 for i in range(size)), 2**62 - 57
    found = session.run([
        tf.string_to_hash_bucket_fast([text], many),
        tf.string_to_hash_bucket([text], many),
        tf.string_to_hash_bucket_strong([text], many, [1, 2]),
    ])  # fmt: skip
    assert [row[0] for row in found] == HASHES[size]


def test_equal_strings_fall_into_one_bucket_of_those_there_are(session: tf.Session) -> None:
    found = session.run(tf.strings.to_hash_bucket_fast([["a", "b"], ["a", "hello world"]], 1000))
    assert found.tolist() == [[939, 822], [939, 11]]
    with pytest.raises(ValueError, match="expected 1 or more"):
        tf.strings.to_hash_bucket(["a"], 0)


def test_the_clock_is_read_in_every_run(session: tf.Session) -> None:
    now = tf.timestamp()
    before = session.run(now)
    assert 0 <= session.run(now) - before < 60


# ---- names that are left out ----


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("image.generate_bounding_box_proposals", "use tf.image.non_max_suppression"),
        ("math.sobol_sample", "scipy.stats.qmc"),
        ("strings.ngrams", "pad to the longest"),
    ],
)
def test_a_name_that_is_left_out_says_what_to_use(name: str, words: str) -> None:
    *spaces, last = name.split(".")
    space: Any = tf
    for part in spaces:
        space = getattr(space, part)
    with pytest.raises(AttributeError, match=words):
        getattr(space, last)


def test_a_name_that_nobody_knows_is_missing() -> None:
    with pytest.raises(AttributeError, match="module 'graphio.nn' has no attribute 'nonsense'"):
        _ = tf.nn.nonsense


# ---- matrices ----


def test_the_exponential_of_matrices(session: tf.Session) -> None:
    a = RNG.randn(2, 4, 4) * 2
    term = total = np.broadcast_to(np.eye(4), a.shape)
    for k in range(1, 80):
        term = term @ a / k
        total = total + term
    np.testing.assert_allclose(session.run(tf.linalg.expm(a)), total, rtol=1e-9, atol=1e-9)
    with pytest.raises(ValueError, match="must be at least rank 2"):
        tf.linalg.expm([1.0])


def test_the_exponential_has_a_gradient() -> None:
    check_gradient(tf.linalg.expm, [RNG.randn(3, 3) * 3], second=False)


def test_the_inverse_of_matrices_that_have_none(session: tf.Session) -> None:
    low = np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]])
    full = RNG.randn(3, 2)
    for a in (low, full, full.T):
        np.testing.assert_allclose(session.run(tf.linalg.pinv(a)), np.linalg.pinv(a), atol=1e-9)
    ranks = tf.linalg.matrix_rank(np.stack([low, full]))
    assert session.run(ranks).tolist() == [1, 2]
    assert session.run(tf.linalg.matrix_rank(full, tol=100.0)) == 0


def test_no_reciprocal_of_nought(session: tf.Session) -> None:
    assert session.run(tf.math.reciprocal_no_nan([0.0, 4.0])).tolist() == [0, 0.25]


# ---- random numbers without a state ----


def test_random_numbers_are_functions_of_the_seed(session: tf.Session) -> None:
    seed = tf.placeholder(tf.int64, [2])
    for draw in (tf.random.stateless_uniform, tf.random.stateless_normal):
        y = draw([500], seed)
        first, other = session.run(y, {seed: [1, 2]}), session.run(y, {seed: [2, 1]})
        assert (session.run(y, {seed: [1, 2]}) == first).all()
        assert abs(np.corrcoef(first, other)[0, 1]) < 0.2
    with pytest.raises(ValueError, match="seed must have shape"):
        tf.random.stateless_uniform([2], 3)


def test_random_numbers_are_spread_as_they_should(session: tf.Session) -> None:
    draws = tf.random
    uniform, normal, cut, whole, classes = session.run([
        draws.stateless_uniform([4000], [1, 2], 2.0, 4.0, tf.float64),
        draws.stateless_normal([4000], [1, 2], 3.0, 2.0),
        draws.stateless_truncated_normal([4000], [1, 2]),
        draws.stateless_uniform([4000], [1, 2], -1, 3, tf.int32),
        draws.stateless_categorical(np.log([[0.2, 0.8]]), 4000, [1, 2]),
    ])  # fmt: skip
    assert uniform.min() >= 2
    assert uniform.max() < 4
    assert abs(uniform.mean() - 3) < 0.05
    assert abs(uniform.std() - 2 / np.sqrt(12)) < 0.02
    assert abs(normal.mean() - 3) < 0.15
    assert abs(normal.std() - 2) < 0.1
    assert abs(cut).max() < 2
    assert abs(cut.std() - 0.88) < 0.05
    assert np.bincount(whole + 1).min() > 850
    assert len(np.bincount(whole + 1)) == 4
    assert abs(classes.mean() - 0.8) < 0.03
    assert classes.shape == (1, 4000)


def test_an_empty_range_of_integers_is_refused(session: tf.Session) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="high"):
        session.run(tf.random.stateless_uniform([2], [1, 2], 3, 3, tf.int32))
    for bounds in ((0, None), (None, 5)):
        with pytest.raises(ValueError, match="must be both None or both non-None"):
            tf.random.stateless_uniform([2], [1, 2], *bounds, tf.int32)
    with pytest.raises(ValueError, match="only the full range can be drawn"):
        tf.random.stateless_uniform([2], [1, 2], 0, 5, tf.uint32)


# ---- nets and images ----


@pytest.mark.parametrize("engine", ["runtime", "cinfer"])
@pytest.mark.parametrize("dtype", [tf.int32, tf.int64])
def test_split_seeds_draw_different_numbers_and_depend_on_the_seed_alone(
    engine: str, dtype: tf.DType
) -> None:
    seeds = tf.random.split(tf.constant([1, 2], dtype), num=3)
    drawn = [tf.random.stateless_uniform([4], seed) for seed in tf.unstack(seeds)]
    full = tf.random.stateless_uniform([3, 2], [1, 2], None, None, dtype)
    assert (seeds.dtype, seeds.shape.as_list()) == (dtype, [3, 2])
    with tf.Session(engine) as session:
        got, expected, numbers = session.run([seeds, full, drawn])
    np.testing.assert_array_equal(got, expected)
    assert len({tuple(row) for row in numbers}) == 3


@pytest.mark.parametrize("engine", ["runtime", "cinfer"])
def test_a_number_folded_into_a_seed_is_its_second_half(engine: str) -> None:
    step = tf.placeholder(tf.int64, [])
    seed = tf.random.fold_in([1, 2], step)
    first = tf.random.stateless_uniform([], [1, 2], None, None, tf.int64)
    with tf.Session(engine) as session:
        got, expected = session.run([seed, first], {step: 7})
    assert got.dtype == np.int64 and got.tolist() == [expected, 7]
    with pytest.raises(ValueError, match=r"data must be a scalar, not of shape \(2,\), for"):
        tf.random.fold_in([1, 2], [3, 4])
    with pytest.raises(TypeError, match="data"):
        tf.random.fold_in([1, 2], 0.5)
    with pytest.raises(TypeError, match="seed"):
        tf.random.split([0.5, 1.0])


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("tf.random.split", lambda seed: tf.random.split(seed)),
        ("tf.random.fold_in", lambda seed: tf.random.fold_in(seed, 3)),
        ("stateless_random_uniform", lambda seed: tf.random.stateless_uniform([2], seed)),
    ],
)
def test_the_error_of_a_wrong_seed_names_the_function_that_was_called(name: str, call: Any) -> None:
    with pytest.raises(ValueError, match=rf"seed must have shape \[2\].* \(op: '{name}'\)"):
        call([1, 2, 3])
    with pytest.raises(TypeError, match=name):
        call([0.5, 1.5])


@pytest.mark.parametrize(
    ("space", "typed", "meant"),
    [
        ("random", "stateless_unifrom", "stateless_uniform"),
        ("nn", "softmx", "softmax"),
        ("", "Sesion", "Session"),
    ],
)
def test_a_mistyped_name_proposes_the_right_one(space: str, typed: str, meant: str) -> None:
    program = f"import graphio as tf; tf{'.' if space else ''}{space}.{typed}"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert f"Did you mean: '{meant}'?" in done.stderr


@pytest.mark.parametrize("form", ["NHWC", "NCHW"])
def test_the_gradients_of_depthwise_convolutions(session: tf.Session, form: str) -> None:
    x, w = tf.constant(RNG.randn(2, 5, 4, 3)), tf.constant(RNG.randn(3, 2, 3, 2))
    stride = [1, 1, 1, 1]
    if form == "NCHW":
        x = tf.transpose(x, [0, 3, 1, 2])
    y = tf.nn.depthwise_conv2d_native(x, w, stride, "SAME", data_format=form)
    dy = tf.constant(RNG.randn(*y.shape.as_list()))
    expected = tf.gradients(y, [x, w], dy)
    got = [
        tf.nn.depthwise_conv2d_native_backprop_input(
            x.shape, w, dy, stride, "SAME", data_format=form
        ),
        tf.nn.depthwise_conv2d_native_backprop_filter(
            x, w.shape, dy, stride, "SAME", data_format=form
        ),
    ]
    for a, b in session.run(list(zip(got, expected, strict=True))):
        np.testing.assert_allclose(a, b, rtol=1e-9)


def test_accidental_hits_are_found(session: tf.Session) -> None:
    hits = tf.nn.compute_accidental_hits([[1, 5], [7, 2]], [2, 5, 9, 1], 2)
    rows, positions, weights = session.run(hits)
    assert sorted(zip(rows.tolist(), positions.tolist(), strict=True)) == [(0, 1), (0, 3), (1, 0)]
    assert (weights == np.finfo(np.float32).min).all()


def test_the_best_boxes_are_filled_up(session: tf.Session) -> None:
    boxes = [[0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 0.9], [2.0, 2.0, 3.0, 3.0]]
    chosen, count = tf.image.non_max_suppression_padded(
        boxes, [0.5, 0.9, 0.8], 4, pad_to_max_output_size=True
    )
    assert chosen.shape.as_list() == [4]
    assert session.run([chosen, count])[0].tolist() == [1, 2, 0, 0]
    assert session.run(count) == 2


# ---- tables ----


def test_a_table_finds_words_once_it_is_filled(session: tf.Session) -> None:
    pairs = tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([7, 8], tf.int64))
    table = tf.lookup.StaticHashTable(pairs, -1, name="words")
    words = tf.placeholder(tf.string, [None])
    found = table.lookup(words)
    sparse = table.lookup(tf.SparseTensor([[0, 1]], ["b"], [1, 2]))
    with pytest.raises(tf.errors.FailedPreconditionError, match="run tf.tables_initializer"):
        session.run(found, {words: ["a"]})
    session.run(tf.tables_initializer())
    assert session.run(found, {words: ["b", "x", "a"]}).tolist() == [8, -1, 7]
    assert session.run(sparse).values.tolist() == [8]
    assert session.run(table.size()) == 2


def test_a_table_serves_a_pipeline(session: tf.Session) -> None:
    pairs = tf.lookup.KeyValueTensorInitializer([3, 4], ["c", "d"], tf.int64)
    table = tf.lookup.StaticHashTable(pairs, "?")
    numbers = tf.data.Dataset.range(2, 5).map(table.lookup).batch(3)
    iterator = numbers.make_initializable_iterator()
    letters = iterator.get_next()
    session.run([tf.tables_initializer(), iterator.initializer])
    assert session.run(letters).tolist() == [b"?", b"c", b"d"]


def test_a_vocabulary_has_buckets_for_other_words(session: tf.Session, tmp_path: Path) -> None:
    path, index = tmp_path / "words", tf.lookup.TextFileIndex
    path.write_text("x\t5\ny\t6\n")
    lines = tf.lookup.TextFileInitializer(str(path), tf.string, 0, tf.int64, index.LINE_NUMBER)
    table = tf.lookup.StaticVocabularyTable(lines, 3)
    columns = tf.lookup.TextFileInitializer(str(path), tf.string, 0, tf.int64, 1)
    plain = tf.lookup.StaticHashTable(columns, 0)
    session.run(tf.tables_initializer())
    numbers = session.run(table.lookup(["y", "x", "other", "other"]))
    assert numbers[:2].tolist() == [1, 0]
    assert 2 <= numbers[2] == numbers[3] < 5
    assert session.run(table.size()) == 5
    assert session.run(plain.lookup(["y", "z"])).tolist() == [6, 0]


def test_tables_refuse_what_does_not_fit(session: tf.Session, tmp_path: Path) -> None:
    pairs, index = tf.lookup.KeyValueTensorInitializer, tf.lookup.TextFileIndex
    twice = tf.lookup.StaticHashTable(pairs(["a", "a"], [1, 2]), 0)
    with pytest.raises(tf.errors.FailedPreconditionError, match="different value for same key"):
        session.run(twice.initializer)
    with pytest.raises(TypeError, match="Keys must be dtype string, got int32"):
        twice.lookup([1])
    with pytest.raises(ValueError, match="Shapes of keys and values differ"):
        pairs(["a"], [1, 2])
    with pytest.raises(ValueError, match="must be int64, got string"):
        tf.lookup.TextFileInitializer("f", tf.string, index.LINE_NUMBER, tf.int64, 0)
    with pytest.raises(ValueError, match="num_oov_buckets must be > 0"):
        tf.lookup.StaticVocabularyTable(None, 0)
    path = tmp_path / "words"
    path.write_text("a\tb\n")
    for file, words in (
        (path, "column 1 is not of dtype int64"),
        (tmp_path / "none", "No such file"),
    ):
        wrong = tf.lookup.TextFileInitializer(str(file), tf.string, 0, tf.int64, 1)
        with pytest.raises(tf.errors.OpError, match=words):
            session.run(tf.lookup.StaticHashTable(wrong, 0).initializer)


# ---- sparse components of pipelines ----


def _words(values: list[int], number: int) -> bytes:
    def feature(numbers: list[int]) -> tf.train.Feature:
        return tf.train.Feature(int64_list=tf.train.Int64List(value=numbers))

    parts = {"w": feature(values), "n": feature([number])}
    found: bytes = tf.train.Example(features=tf.train.Features(feature=parts)).SerializeToString()
    return found


RECORDS = [_words([1, 2], 0), _words([3], 1), _words([], 2)]
FEATURES = {"n": tf.FixedLenFeature([], tf.int64), "w": tf.VarLenFeature(tf.int64)}


def _parse(record: tf.Tensor) -> Any:
    return tf.parse_single_example(record, FEATURES)


def test_pipelines_batch_sparse_components(session: tf.Session) -> None:
    records = tf.data.Dataset.from_tensor_slices(RECORDS)
    data = records.map(_parse).shuffle(1).batch(2).prefetch(1)
    found = data.make_one_shot_iterator().get_next()
    assert isinstance(found["w"], tf.SparseTensor)
    assert found["w"].indices.shape.as_list() == [None, 2]
    dense = tf.sparse_tensor_to_dense(found["w"], -1)
    assert session.run([found["n"], dense])[1].tolist() == [[1, 2], [3, -1]]
    assert session.run(dense).shape == (1, 0)
    with pytest.raises(tf.errors.OutOfRangeError):
        session.run(dense)


def test_functions_of_pipelines_take_sparse_components(session: tf.Session) -> None:
    parsed = tf.data.Dataset.from_tensor_slices(RECORDS).map(_parse)
    sums = parsed.map(lambda f: tf.sparse_reduce_sum(f["w"])).batch(3)
    assert session.run(sums.make_one_shot_iterator().get_next()).tolist() == [3, 3, 0]
    iterator = tf.data.Iterator.from_structure(
        parsed.output_types, parsed.output_shapes, None, parsed.output_classes
    )
    words = iterator.get_next()["w"]
    session.run(iterator.make_initializer(parsed.filter(lambda f: f["n"] > 0)))
    assert session.run(words).values.tolist() == [3]


def test_what_sparse_components_cannot_do_is_refused() -> None:
    parsed = tf.data.Dataset.from_tensor_slices(RECORDS).map(_parse)
    with pytest.raises(TypeError, match="a component is of SparseTensor; give its parts"):
        parsed.padded_batch(2, {"n": [], "w": [None]})
    dense = tf.data.Iterator.from_structure(parsed.output_types, parsed.output_shapes)
    with pytest.raises(TypeError, match="make_initializer: the structures differ"):
        dense.make_initializer(parsed)


# ---- options of hooks ----


class _Traced(tf.train.SessionRunHook):
    def __init__(self) -> None:
        self.found: list[Any] = []

    def before_run(self, run_context: Any) -> Any:
        return tf.train.SessionRunArgs(None, options=tf.RunOptions(trace_level=3))

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self.found.append(run_values)


def test_a_hook_can_ask_for_the_times_of_a_run() -> None:
    hook, x = _Traced(), tf.constant(2.0) * 3.0
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        assert session.run(x, options=tf.RunOptions(output_partition_graphs=True)) == 6
    (values,) = hook.found
    assert values.options.trace_level == 3
    assert len(values.run_metadata.step_stats.dev_stats[0].node_stats) > 0
    assert len(values.run_metadata.partition_graphs) == 1


def test_the_profiler_hook_writes_traces(tmp_path: Path) -> None:
    step = tf.train.get_or_create_global_step()
    count = tf.assign_add(step, 1)
    hook = tf.train.ProfilerHook(save_steps=2, output_dir=str(tmp_path / "times"))
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        for _ in range(6):
            session.run(count)
    written = sorted((tmp_path / "times").iterdir())
    assert [path.name for path in written] == [f"timeline-{i}.json" for i in (2, 4, 6)]
    names = {event["name"] for event in json.loads(written[0].read_text())["traceEvents"]}
    assert "AssignAdd" in names
    with pytest.raises(ValueError, match="Either every_secs or every_steps"):
        tf.train.ProfilerHook()


def test_what_is_sparse_stays_so() -> None:
    sparse = tf.SparseTensor([[0]], [1.0], [2])
    assert tf.convert_to_tensor_or_sparse_tensor(sparse) is sparse
    value = tf.SparseTensorValue([[0]], [1.0], [2])
    assert isinstance(tf.convert_to_tensor_or_sparse_tensor(value), tf.SparseTensor)
    assert isinstance(tf.convert_to_tensor_or_sparse_tensor([1.0]), tf.Tensor)
    with pytest.raises(RuntimeError, match="requested = int32, actual = float32"):
        tf.convert_to_tensor_or_sparse_tensor(sparse, tf.int32)
    slices = tf.IndexedSlices(tf.constant([1.0]), tf.constant([0]))
    assert tf.convert_to_tensor_or_indexed_slices(slices) is slices
    with pytest.raises(ValueError, match="requested dtype int32"):
        tf.convert_to_tensor_or_indexed_slices(slices, tf.int32)
