"""tf.data: transformations, against lists of Python."""

from __future__ import annotations

import itertools
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from data_pipelines import applied, batches, drain, modelled, pipelines, plain, rest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphio as tf
from graphio.data import elements, stages

D = tf.data.Dataset
experimental = tf.data.experimental


# ---- chains of transformations against a model ----


@settings(max_examples=60, deadline=None)
@given(pipelines(), st.integers(0, 7), st.booleans(), st.integers(1, 4))
def test_a_chain_of_transformations_is_what_it_is_of_lists(
    steps: Any, length: int, table: bool, size: int
) -> None:
    expected = modelled(steps, length)

    def make() -> Any:
        return applied(steps, length, table)

    assert drain(make) == expected
    assert drain(lambda: make().batch(size)) == batches(expected, size, False)
    assert drain(lambda: make().batch(size, drop_remainder=True)) == batches(expected, size, True)
    assert drain(lambda: D.zip((make(), make().skip(1)))) == list(
        zip(expected, expected[1:], strict=False)
    )


# ---- shuffling ----


@settings(max_examples=30, deadline=None)
@given(st.integers(1, 30), st.integers(1, 35), st.integers(0, 2**40), st.integers(1, 7))
def test_a_shuffle_is_a_permutation_whoever_asks_for_it(
    length: int, size: int, seed: int, batch: int
) -> None:
    def make(table: bool) -> Any:
        data = D.from_tensor_slices(np.arange(length)) if table else D.range(length)
        return data.shuffle(size, seed).repeat(2)

    order = drain(lambda: make(True))
    assert sorted(order[:length]) == sorted(order[length:]) == list(range(length))
    assert all(value - position < size for position, value in enumerate(order[:length]))
    assert drain(lambda: make(False)) == order
    for table in (True, False):
        in_batches = drain(lambda t=table: make(t).batch(batch))
        assert list(itertools.chain(*in_batches)) == order


def test_every_pass_has_an_order_of_its_own_unless_it_is_requested_not_to() -> None:
    def passes(reshuffle: bool | None) -> list[Any]:
        return drain(lambda: D.range(20).shuffle(20, 1, reshuffle).repeat(3).batch(20))

    one, two, three = passes(None)
    assert one != two != three != one
    one, two, three = passes(False)
    assert one == two == three


def test_seeds_are_tensorflows() -> None:
    def order(graph_seed: int | None, seed: int | None, before: int = 0) -> Any:
        with tf.Graph().as_default(), tf.Session() as session:
            if graph_seed is not None:
                tf.set_random_seed(graph_seed)
            for _ in range(before):
                D.range(3).shuffle(3)
            element = D.range(30).shuffle(30, seed).make_one_shot_iterator().get_next()
            return rest(session, element)

    assert order(3, None) == order(3, None)
    assert order(3, None) != order(3, None, before=1)
    assert order(3, None) != order(4, None)
    assert order(3, 5) == order(3, 5, before=1)
    assert order(None, 5) == order(87654321, 5)
    assert order(None, None) != order(None, None)


def test_all_shuffles_are_as_likely() -> None:
    seen = drain(lambda: D.range(3).shuffle(3, seed=7).repeat(600).batch(3))
    counts = {order: seen.count(list(order)) for order in itertools.permutations(range(3))}
    assert sum((n - 100) ** 2 / 100 for n in counts.values()) < 20.5  # chi-squared, p = 0.001


def test_random_numbers_in_a_function_differ_from_element_to_element() -> None:
    def make() -> Any:
        tf.set_random_seed(1)
        return D.range(4).map(lambda x: tf.random_uniform([]), num_parallel_calls=4)

    found = drain(make)
    assert len(set(found)) == 4
    assert drain(make) == found


@pytest.mark.parametrize("parallel", [None, 2])
def test_an_element_that_fails_takes_no_other_with_it(parallel: int | None) -> None:
    def steps(make: Any) -> Any:
        with tf.Graph().as_default(), tf.Session() as session:
            numbers = D.from_tensor_slices([0, 1, 2, 3, 4, 99, 6, 7, 8]).map(
                lambda i: tf.gather(np.arange(9), i), num_parallel_calls=parallel
            )
            element = make(numbers).make_one_shot_iterator().get_next()
            found: list[Any] = []
            while True:
                try:
                    found.append(plain(session.run(element)))
                except tf.errors.InvalidArgumentError:
                    found.append("failed")
                except tf.errors.OutOfRangeError:
                    return found

    assert steps(lambda d: d) == [0, 1, 2, 3, 4, "failed", 6, 7, 8]
    # As in TensorFlow a batch falls as a whole.
    assert steps(lambda d: d.batch(2)) == [[0, 1], [2, 3], "failed", [6, 7], [8]]
    shuffled = steps(lambda d: d.shuffle(20, seed=1))
    assert shuffled[0] == "failed"
    assert sorted(shuffled[1:]) == [0, 1, 2, 3, 4, 6, 7, 8]


def test_functions_with_the_same_operations_draw_other_numbers() -> None:
    def make() -> Any:
        tf.set_random_seed(1)
        maps = [D.range(1).map(lambda x: tf.random_uniform([])) for _ in range(2)]
        return D.zip((*maps, D.from_tensors(0)))

    ((one, two, _),) = drain(make)
    assert one != two


# ---- batches ----


def test_elements_of_different_shapes_cannot_be_batched() -> None:
    data = D.range(1, 4).map(lambda x: tf.fill([x], x)).batch(3)
    words = (
        r"Cannot batch tensors with different shapes in component 0. First element had shape \[1\] "
        r"and element 1 had shape \[2\]. \[batch \(test_data_transformations.py:"
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        drain(lambda: data)


def test_a_padded_batch_fills_up_every_component() -> None:
    def make(**options: Any) -> Any:
        data = D.zip((D.range(1, 4), D.from_tensor_slices(["1", "2", "3"])))
        data = data.map(lambda x, s: (tf.fill([x], x), {"s": s, "n": x}))
        return data.padded_batch(2, ([None], {"s": [], "n": []}), **options)

    found = drain(make)
    assert found[0] == ([[1, 0], [2, 2]], {"s": [b"1", b"2"], "n": [1, 2]})
    assert found[1] == ([[3, 3, 3]], {"s": [b"3"], "n": [3]})
    values = (np.int64(-1), {"s": "", "n": np.int64(0)})
    assert drain(lambda: make(padding_values=values))[0][0] == [[1, -1], [2, 2]]


def test_padded_shapes_may_be_fixed_or_tensors() -> None:
    rows = D.range(1, 3).map(lambda x: tf.fill([x], x))
    fixed, narrow = (rows.padded_batch(2, [n], drop_remainder=True) for n in (4, 1))
    assert fixed.output_shapes.as_list() == [2, 4]
    assert drain(lambda: fixed) == [[[1, 0, 0, 0], [2, 2, 0, 0]]]

    def by_tensor() -> Any:
        return D.range(1, 3).map(lambda x: tf.fill([x], x)).padded_batch(2, tf.constant([3]))

    assert drain(by_tensor) == [[[1, 0, 0], [2, 2, 0]]]
    with pytest.raises(tf.errors.DataLossError, match="pad to a smaller size"):
        drain(lambda: narrow)
    with pytest.raises(ValueError, match="ranks differ"):
        D.range(3).padded_batch(2, [1])
    with pytest.raises(TypeError, match="Expected int64"):
        D.range(3).padded_batch(2, [], padding_values=0.5)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda d: d.batch(0), "Batch size must be greater than zero"),
        (lambda d: d.shuffle(0), "buffer_size must be greater than zero"),
        (lambda d: d.interleave(lambda x: D.range(x), 0), "cycle_length must be greater"),
        (lambda d: d.window(0), "Window size must be greater"),
    ],
)
def test_sizes_that_cannot_be_are_errors_of_a_run(make: Any, words: str) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        drain(lambda: make(D.range(3)).flat_map(lambda *x: D.range(1)))


@pytest.mark.parametrize(
    ("make", "kind", "words"),
    [
        (lambda d: d.batch(1.5), TypeError, "batch: expected an integer, got 1.5"),
        (lambda d: d.map(3), TypeError, "map: expected a function, got int"),
        (lambda d: d.filter(lambda x: None), ValueError, "must return a scalar boolean tensor"),
        (lambda d: d.flat_map(lambda x: x), TypeError, "must return a `Dataset` object"),
        (lambda d: d.filter(lambda x: x), ValueError, "must return a scalar boolean tensor"),
        (lambda d: d.filter(lambda x: [x > 1]), ValueError, "must return a scalar boolean tensor"),
        (lambda d: d.concatenate(D.from_tensors(1.0)), TypeError, "the types differ"),
        (lambda d: d.concatenate(3), TypeError, "expected a tf.data.Dataset"),
        (lambda d: D.zip((d, 3)), TypeError, "expected a tf.data.Dataset"),
        (lambda d: d.shard(2, 2), ValueError, "index must be in"),
        (lambda d: d.unbatch(), ValueError, "Cannot unbatch an input with scalar components"),
        (lambda d: d.apply(lambda e: 3), TypeError, "must return a Dataset"),
    ],
)
def test_what_is_wrong_when_the_pipeline_is_built(make: Any, kind: Any, words: str) -> None:
    with pytest.raises(kind, match=words):
        make(D.range(3))


# ---- functions ----


def test_a_tuple_is_unpacked_and_a_dict_is_not() -> None:
    pairs = D.from_tensor_slices(([1, 2], [3, 4]))
    sums = pairs.map(lambda a, b: [a, b, a + b])
    assert drain(lambda: sums) == [(1, 3, 4), (2, 4, 6)]
    nested = D.zip((pairs, D.range(2))).map(lambda pair, i: pair[0] * pair[1])
    assert drain(lambda: nested) == [3, 8]
    names = D.from_tensor_slices({"a": [1], "b": [5]}).map(lambda d: d["b"] - d["a"])
    assert drain(lambda: names) == [4]


def test_a_function_is_called_once_to_build_its_graph() -> None:
    calls = []

    def function(x: Any) -> Any:
        calls.append(x)
        return x

    assert drain(lambda: D.range(5).map(function)) == list(range(5))
    assert len(calls) == 1
    assert calls[0].shape.as_list() == []


def test_functions_read_what_functions_around_them_have() -> None:
    def make() -> Any:
        ten = tf.constant(10, tf.int64) + 0

        def outer(x: Any) -> Any:
            double = x * 2
            return D.range(2).map(lambda y: (y + double) * ten).batch(x)

        return D.range(1, 3).flat_map(outer)

    assert drain(make) == [[20], [30], [40, 50]]


def test_branches_and_loops_in_functions_read_what_is_outside() -> None:
    def make() -> Any:
        six = tf.constant(5, tf.int64) + 1

        def function(x: Any) -> Any:
            chosen = tf.cond(x > 1, lambda: x * six, lambda: six)
            looped = tf.while_loop(lambda i, t: i < 2, lambda i, t: (i + 1, t + six), [0, x])[1]
            return chosen, looped, six

        return D.range(3).map(function)

    assert drain(make) == [(6, 12, 6), (6, 13, 6), (12, 14, 6)]


def test_interleave_takes_blocks_in_turn() -> None:
    def make(cycle: int, block: int) -> Any:
        return D.range(1, 4).interleave(lambda x: D.from_tensors(x).repeat(3), cycle, block)

    assert drain(lambda: make(2, 2)) == [1, 1, 2, 2, 1, 2, 3, 3, 3]
    assert drain(lambda: make(3, 1)) == [1, 2, 3] * 3
    assert drain(lambda: make(1, 1)) == [1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert drain(lambda: make(5, 1)) == [1, 2, 3] * 3


def test_datasets_that_are_open_side_by_side_keep_what_they_captured() -> None:
    def make() -> Any:
        return D.range(3).interleave(
            lambda x: D.range(2).map(lambda y: 10 * x + y).filter(lambda y: y >= x), 3
        )

    assert drain(make) == [0, 10, 20, 1, 11, 21]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ((3,), [[0, 1, 2], [3, 4, 5], [6]]),
        ((3, 1, 1, True), [[i, i + 1, i + 2] for i in range(5)]),
        ((2, 1, 3), [[0, 3], [1, 4], [2, 5], [3, 6], [4], [5], [6]]),
        ((2, 3), [[0, 1], [3, 4], [6]]),
        ((2, 3, 1, True), [[0, 1], [3, 4]]),
    ],
)
def test_windows_are_datasets(arguments: Any, expected: Any) -> None:
    def make() -> Any:
        return D.range(7).window(*arguments).flat_map(lambda w: w.batch(10))

    assert drain(make) == expected


def test_each_component_of_a_window_is_a_dataset() -> None:
    def make() -> Any:
        pairs = D.zip((D.range(4), D.range(10, 14))).window(2)
        return pairs.flat_map(lambda a, b: D.zip((a.batch(2), b.skip(1))))

    assert drain(make) == [([0, 1], 11), ([2, 3], 13)]


def test_enumerate_reduce_and_apply() -> None:
    letters = D.from_tensor_slices(["a", "b"]).enumerate(5)
    assert drain(lambda: letters) == [(5, b"a"), (6, b"b")]
    with tf.Graph().as_default(), tf.Session() as session:
        start = tf.placeholder(tf.int64, [])
        total = D.range(5).reduce(start, lambda state, x: state + x)
        assert session.run(total, {start: 7}) == 17
        pair = D.range(4).reduce((0.0, np.int64(0)), lambda s, x: (s[0] + 1.0, x))
        assert plain(session.run(pair)) == (4.0, 3)
        grown = D.range(3).reduce(np.zeros([0], np.int64), lambda s, x: tf.concat([s, [x]], 0))
        assert plain(session.run(grown)) == [0, 1, 2]
        with pytest.raises(TypeError, match="the types differ"):
            D.range(3).reduce(0.0, lambda state, x: x)


def test_a_cache_keeps_the_first_pass() -> None:
    found = drain(lambda: D.range(3).map(lambda x: tf.random_uniform([])).cache().repeat(2))
    assert found[:3] == found[3:]
    assert len(set(found)) == 3


def test_an_endless_repeat_of_nothing_ends() -> None:
    assert drain(lambda: D.range(0).repeat()) == []
    assert drain(lambda: D.range(3).filter(lambda x: x > 5).repeat()) == []


# ---- tf.data.experimental ----


def test_the_combined_transformations() -> None:
    both = D.range(10).apply(experimental.shuffle_and_repeat(10, 2, seed=1))
    assert sorted(drain(lambda: both)) == sorted([*range(10)] * 2)
    made = D.range(5).apply(experimental.map_and_batch(lambda x: x * 2, 2, drop_remainder=True))
    assert drain(lambda: made) == [[0, 2], [4, 6]]
    assert drain(lambda: D.range(4).batch(2).apply(experimental.unbatch())) == [0, 1, 2, 3]
    assert drain(lambda: D.range(2).apply(experimental.enumerate_dataset())) == [(0, 0), (1, 1)]
    counter = experimental.Counter(3, 2, tf.int32).take(2)
    assert (drain(lambda: counter), counter.output_types) == ([3, 5], tf.int32)


def test_the_choosing_transformations() -> None:
    data = [D.from_tensors(i).repeat(3) for i in range(3)]
    choice = D.from_tensor_slices(np.int64([2, 0, 2, 1]))
    assert drain(lambda: experimental.choose_from_datasets(data, choice)) == [2, 0, 2, 1]
    sampled = drain(lambda: experimental.sample_from_datasets(data, [0.2, 0.5, 0.0], seed=1))
    assert sorted(sampled) == [0, 0, 0, 1, 1, 1]
    with pytest.raises(ValueError, match="the same length"):
        experimental.sample_from_datasets(data, [1.0])


def test_the_transformations_that_leave_out() -> None:
    assert drain(lambda: D.range(9).apply(experimental.take_while(lambda x: x < 3))) == [0, 1, 2]
    repeated = D.from_tensor_slices([1, 2, 1, 3, 2]).apply(experimental.unique())
    assert drain(lambda: repeated) == [1, 2, 3]
    failing = D.from_tensor_slices([0, 5, 1]).map(lambda i: tf.gather([10, 20], i))
    assert drain(lambda: failing.apply(experimental.ignore_errors())) == [10, 20]


def test_scan_hands_a_state_on() -> None:
    made = D.range(4).apply(experimental.scan(np.int64(0), lambda s, x: (s + x, (s, x))))
    assert drain(lambda: made) == [(0, 0), (0, 1), (1, 2), (3, 3)]


def test_groups_are_reduced_by_key() -> None:
    made = D.range(7).apply(
        experimental.group_by_window(lambda x: x % 2, lambda key, window: window.batch(9), 3)
    )
    assert drain(lambda: made) == [[0, 2, 4], [1, 3, 5], [6]]


class _Key(int):
    """A number that counts how often it is compared."""

    compared = 0

    def __lt__(self, other: int) -> bool:
        _Key.compared += 1
        return int(self) < int(other)


def test_the_groups_that_are_left_are_put_in_order_once() -> None:
    count = 1000
    stage = elements.GroupByWindow(stages.Range(0, 0, 1), *[SimpleNamespace()] * 3)  # type: ignore[arg-type]
    stage._reduce = lambda key, group: stage.ready.append([np.array(key)])  # type: ignore[method-assign]
    stage.groups = {_Key(count - i): [] for i in range(count)}
    _Key.compared = 0
    assert [int(key) for (key,) in stage.elements(count)] == list(range(1, count + 1))
    assert _Key.compared < 20 * count


def test_sequences_are_batched_by_length() -> None:
    def make(**options: Any) -> Any:
        rows = D.from_tensor_slices([1, 5, 2, 6, 1]).map(lambda n: tf.fill([n], n))
        return rows.apply(
            experimental.bucket_by_sequence_length(
                lambda row: tf.shape(row)[0], [3, 7], [2, 2, 2], **options
            )
        )

    assert drain(make) == [
        [[1, 0], [2, 2]],
        [[5, 5, 5, 5, 5, 0], [6] * 6],
        [[1]],
    ]
    padded = drain(lambda: make(pad_to_bucket_boundary=True))
    assert padded[0] == [[1, 0], [2, 2]]
    assert len(padded[1][0]) == 6


def test_the_only_element() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        pair = experimental.get_single_element(D.range(3).batch(3).map(lambda x: (x, x[0])))
        assert plain(session.run(pair)) == ([0, 1, 2], 0)
        for count in (0, 2):
            with pytest.raises(tf.errors.InvalidArgumentError, match="get_single_element"):
                session.run(experimental.get_single_element(D.range(count)))


def test_options_are_accepted() -> None:
    options = tf.data.Options()
    assert options == tf.data.Options() == D.range(1).options()
    assert options.experimental_external_state_policy is None
    options.experimental_deterministic = True
    options.experimental_threading.private_threadpool_size = 2
    data = D.range(2).with_options(options)
    assert data.options().experimental_deterministic
    assert data.options() == options != tf.data.Options()
    assert drain(lambda: data) == [0, 1]


def test_options_of_all_inputs_come_together() -> None:
    one, two = tf.data.Options(), tf.data.Options()
    one.threading.private_threadpool_size = 2
    two.threading.max_intra_op_parallelism = 1
    data = D.zip((D.range(2).with_options(one), D.range(2).with_options(two)))
    found = data.options()
    assert (found.threading.private_threadpool_size, found.threading.max_intra_op_parallelism) == (
        2,
        1,
    )
    with pytest.raises(ValueError, match="with_options"):
        found.threading.private_threadpool_size = 3
    with pytest.raises(AttributeError, match="anything"):
        _ = found.anything


def test_sizes_are_known_where_nothing_must_run() -> None:
    ten = D.range(10)
    sizes: list[tuple[Any, int]] = [
        (D.from_tensor_slices(np.zeros([7, 2])).shuffle(3).map(lambda row: row), 7),
        (D.from_tensors(1).repeat(4).prefetch(1), 4),
        (ten.batch(4), 3),
        (ten.batch(4, drop_remainder=True).cache(), 2),
        (ten.shard(3, 2), 3),
        (ten.skip(4).take(100), 6),
        (ten.skip(-1), 0),
        (ten.concatenate(D.range(3)), 13),
        (D.zip((ten, D.range(3), experimental.RandomDataset())), 3),
        (ten.repeat(), experimental.INFINITE_CARDINALITY),
        (ten.repeat().take(5), 5),
        (ten.filter(lambda x: x > 1).repeat(), experimental.UNKNOWN_CARDINALITY),
    ]
    with tf.Session() as session:
        for data, expected in sizes:
            assert session.run(experimental.cardinality(data)) == expected
            if expected >= 0:
                assert len(drain(lambda d=data: d)) == expected


def test_random_numbers_without_end() -> None:
    found = drain(lambda: experimental.RandomDataset(seed=1).take(50))
    assert len(set(found)) == 50
    assert all(0 <= number < 2**32 for number in found)
    assert drain(lambda: experimental.RandomDataset(seed=1).take(50)) == found
    assert drain(lambda: experimental.RandomDataset(seed=2).take(50)) != found


def test_devices_are_accepted() -> None:
    data = D.range(3).apply(experimental.copy_to_device("/gpu:0"))
    ahead = data.apply(experimental.prefetch_to_device("/gpu:0"))
    assert drain(lambda: ahead) == [0, 1, 2]
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = experimental.nothing
