"""tf.data: an iterator's position is part of a checkpoint."""

from __future__ import annotations

import itertools
import signal
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from data_pipelines import applied, modelled, pipelines, plain, rest
from hypothesis import given, settings
from hypothesis import strategies as st

import graphio as tf
from graphio.data import resource, saving, stages
from graphio.schema.seeds import mix_seeds
from graphio.support import errors

D = tf.data.Dataset
experimental = tf.data.experimental


def random_rows() -> Any:
    return D.range(6).map(lambda x: (x, tf.random_uniform([2], seed=3)))


#: pipelines whose positions have all sorts of state
PIPELINES: dict[str, Callable[[], Any]] = {
    "slices": lambda: D.from_tensor_slices((np.arange(7), np.arange(14).reshape(7, 2))),
    "strings": lambda: D.from_tensor_slices(["a", "bb", "", "d"]).shuffle(3, seed=1),
    "tensors": lambda: D.from_tensors(np.arange(3)).repeat(4),
    "table": lambda: D.from_tensor_slices(np.arange(9)).shuffle(4, seed=2).repeat(3).batch(2),
    "unseeded": lambda: D.range(9).shuffle(9).repeat(2),
    "fixed order": lambda: D.range(5).shuffle(5, 1, False).repeat(3),
    "repeat, shuffle": lambda: D.range(5).repeat(3).shuffle(7, seed=4).batch(2),
    "generator": lambda: D.from_generator(lambda: iter(range(8)), tf.int32).batch(3).repeat(2),
    "random map": lambda: random_rows().repeat(2),
    "parallel map": lambda: D.range(9).map(lambda x: x * 2, num_parallel_calls=3).repeat(2),
    "prefetch": lambda: random_rows().prefetch(2).repeat(2),
    "prefetch of pairs": lambda: D.zip((D.range(9), D.range(9))).shuffle(3, 1).batch(2).prefetch(3),
    "filter": lambda: D.range(9).filter(lambda x: tf.equal(x % 2, 0)).repeat(2),
    "take, skip, shard": lambda: D.range(20).skip(1).shard(2, 1).take(6).repeat(2),
    "concatenate": lambda: D.range(4).concatenate(D.range(10, 13)),
    "unbatch, cache": lambda: D.range(7).batch(3).unbatch().cache().repeat(2),
    "groups, shuffle": lambda: D.range(9).apply(
        experimental.group_by_window(lambda x: x % 2, lambda k, w: w, 3)
    ).cache().repeat(2),
    "sampled, cached": lambda: experimental.sample_from_datasets(
        [D.range(3), D.range(10, 13)]
    ).cache().repeat(2),
    "cache": lambda: random_rows().cache().repeat(3),
    "flat_map": lambda: D.range(5).flat_map(lambda x: D.range(x).shuffle(5).repeat(2)),
    "interleave": lambda: D.range(5).interleave(
        lambda x: D.range(x, x + 4).map(lambda y: (y, tf.random_normal([], seed=1))), 3, 2
    ),
    "windows": lambda: D.range(9).window(3, 2).flat_map(lambda w: w.batch(3)),
    "shuffled windows": lambda: D.range(9).window(2).shuffle(3).flat_map(lambda w: w),
    "unbatch": lambda: D.range(9).batch(4).unbatch(),
    "padded": lambda: D.range(7).map(lambda x: tf.fill([x], x)).padded_batch(2, [None]),
    "scan": lambda: D.range(6).apply(experimental.scan(np.int64(0), lambda s, x: (s + x, s))),
    "take_while": lambda: D.range(9).apply(experimental.take_while(lambda x: x < 5)).repeat(2),
    "unique": lambda: D.range(9).map(lambda x: x // 2).apply(experimental.unique()),
    "groups": lambda: D.range(9).apply(
        experimental.group_by_window(lambda x: x % 2, lambda k, w: w.batch(3).shuffle(2), 3)
    ),
    "groups that are not full": lambda: D.range(9).apply(
        experimental.group_by_window(lambda x: 8 - x % 8, lambda k, w: w.batch(3), 3)
    ),
    "sampled": lambda: experimental.sample_from_datasets([D.range(5), D.range(10, 15)]),
    "chosen": lambda: experimental.choose_from_datasets(
        [D.range(5), D.range(10, 15)], D.range(2).repeat(5)
    ),
    "ignore_errors": lambda: D.from_tensor_slices([0, 9, 1, 8, 1])
    .map(lambda i: tf.gather([5, 6], i))
    .apply(experimental.ignore_errors()),
}  # fmt: skip


@pytest.mark.parametrize("name", PIPELINES)
@pytest.mark.parametrize("steps", [0, 1, 4, 7])
def test_an_iterator_goes_on_where_another_session_saved_it(name: str, steps: int) -> None:
    with tf.Graph().as_default() as graph:
        element = PIPELINES[name]().make_one_shot_iterator().get_next()
    with tf.Session(graph=graph) as session:
        rest(session, element, steps)
        saved = resource.save_all(session)
        expected = rest(session, element)
    assert bool(saved) == (steps > 0)
    with tf.Graph().as_default(), tf.Session() as session:
        again = PIPELINES[name]().make_one_shot_iterator().get_next()
        rest(session, again, 2)
        assert resource.load_all(session, saved) == []
        if expected and saved:
            assert rest(session, again) == expected
        elif saved:
            assert rest(session, again) != []


@settings(max_examples=20, deadline=None)
@given(st.integers(1, 9), st.integers(1, 12), st.integers(0, 30), st.integers(1, 4))
def test_a_shuffle_goes_on_with_what_is_left(
    size: int, buffer: int, steps: int, batch: int
) -> None:
    def make() -> Any:
        return D.range(size).map(lambda x: x * 2).shuffle(buffer).repeat(3).batch(batch)

    with tf.Graph().as_default(), tf.Session() as session:
        element = make().make_one_shot_iterator().get_next()
        rest(session, element, steps)
        saved = resource.save_all(session)
        expected = rest(session, element)
    with tf.Graph().as_default(), tf.Session() as session:
        element = make().make_one_shot_iterator().get_next()
        assert resource.load_all(session, saved) == []
        found = rest(session, element)
    assert found == expected if saved and expected else found


@settings(max_examples=60, deadline=None)
@given(pipelines(), st.integers(0, 7), st.booleans(), st.integers(1, 9), st.booleans())
def test_any_chain_of_transformations_goes_on(
    steps: Any, length: int, table: bool, taken: int, shuffled: bool
) -> None:
    def element() -> Any:
        data = applied(steps, length, table)
        data = data.shuffle(3).repeat(2) if shuffled else data
        return data.make_one_shot_iterator().get_next()

    with tf.Graph().as_default(), tf.Session() as session:
        pulled = element()
        rest(session, pulled, taken)
        saved = resource.save_all(session)
        expected = rest(session, pulled)
    with tf.Graph().as_default(), tf.Session() as session:
        pulled = element()
        assert resource.load_all(session, saved) == []
        found = rest(session, pulled)
    if expected:
        assert found == expected
    else:
        assert sorted(found) == sorted(modelled(steps, length) * (1 + shuffled))


@pytest.mark.parametrize("name", ["table", "strings", "repeat, shuffle", "shuffled windows"])
def test_a_large_buffer_is_made_again(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "_LARGE", 0)
    for steps in (1, 3):
        test_an_iterator_goes_on_where_another_session_saved_it(name, steps)


def test_a_state_shows_where_the_iterator_stands() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        data = D.range(4).shuffle(4, seed=5).repeat().batch(3)
        rest(session, data.make_one_shot_iterator().get_next(), 3)
        state = resource.save_all(session)["OneShotIterator"]
    assert (state.epoch, state.offset) == (2, 3)
    assert state.shuffle_seed == mix_seeds(87654321, 5)


def test_a_restore_moves_an_initialized_iterator_and_begins_one_without_captures(
    tmp_path: Path,
) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.Variable(1)
        iterator = D.range(9).make_initializable_iterator()
        element = iterator.get_next()
        saver = tf.train.Saver()
        session.run([tf.global_variables_initializer(), iterator.initializer])
        assert rest(session, element, 3) == [0, 1, 2]
        saver.save(session, str(tmp_path / "c"))
        assert rest(session, element, 2) == [3, 4]
        saver.restore(session, str(tmp_path / "c"))
        assert rest(session, element, 2) == [3, 4]
        with tf.Session() as other:
            saver.restore(other, str(tmp_path / "c"))
            assert rest(other, element, 2) == [3, 4]
            other.run(iterator.initializer)
            assert rest(other, element, 2) == [0, 1]


def test_what_was_saved_at_the_end_begins_anew(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.Variable(1)
        fed = tf.placeholder(tf.int32, [None])
        one = D.range(3).make_one_shot_iterator().get_next()
        iterator = D.from_tensor_slices(fed).make_initializable_iterator()
        two = iterator.get_next()
        saver = tf.train.Saver()
        session.run(tf.global_variables_initializer())
        session.run(iterator.initializer, {fed: [5, 6]})
        assert (rest(session, one, 3), rest(session, two)) == ([0, 1, 2], [5, 6])
        saver.save(session, str(tmp_path / "c"))
        saver.restore(session, str(tmp_path / "c"))
        assert (rest(session, one), rest(session, two)) == ([0, 1, 2], [5, 6])


def test_a_state_can_be_saved_again_before_the_next_step() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        element = D.range(5).shuffle(3).make_one_shot_iterator().get_next()
        rest(session, element, 2)
        saved = resource.save_all(session)
        resource.load_all(session, saved)
        again = resource.save_all(session)
        expected = rest(session, element)
        resource.load_all(session, again)
        assert rest(session, element) == expected


def test_captured_values_need_the_initializer_before_the_restore(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.Variable(1)
        fed = tf.placeholder(tf.int32, [None])
        iterator = D.from_tensor_slices(fed).make_initializable_iterator()
        element = iterator.get_next()
        saver = tf.train.Saver()
        session.run(tf.global_variables_initializer())
        session.run(iterator.initializer, {fed: [5, 6, 7]})
        session.run(element)
        saver.save(session, str(tmp_path / "c"))
        with tf.Session() as other:
            with pytest.warns(UserWarning, match="iterators Iterator are not where"):
                saver.restore(other, str(tmp_path / "c"))
            other.run(iterator.initializer, {fed: [5, 6, 7]})
            saver.restore(other, str(tmp_path / "c"))
            assert rest(other, element) == [6, 7]


@pytest.mark.parametrize("target", ["runtime", "cinfer"])
@pytest.mark.parametrize("begun", [False, True])
def test_an_iterator_without_a_position_in_the_checkpoint_is_reported(
    begun: bool, target: str, tmp_path: Path
) -> None:
    with tf.Graph().as_default(), tf.Session(target) as session:
        tf.Variable(1)
        element = D.range(3).make_one_shot_iterator().get_next()
        session.run(tf.global_variables_initializer())
        saver = tf.train.Saver()
        start = saver.save(session, str(tmp_path / "start"), global_step=0)
        none = tf.train.Saver(iterators=False).save(session, str(tmp_path / "none"), global_step=5)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            saver.restore(session, start)
        if begun:
            session.run(element)
            with pytest.warns(UserWarning, match="no positions of the iterators OneShotIterator"):
                saver.restore(session, start)
        with pytest.warns(UserWarning, match="no positions of the iterators OneShotIterator"):
            saver.restore(session, none)
        assert session.run(element) == begun
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            saver.restore(session, none, ignore=["OneShotIterator"])
            tf.train.Saver(iterators=False).restore(session, none)
            saver.restore(session, saver.save(session, str(tmp_path / "with"), global_step=6))


def test_another_pipeline_of_the_same_name_stays_where_it_is(tmp_path: Path) -> None:
    def program(make: Callable[[], Any], restore: bool) -> Any:
        with tf.Graph().as_default(), tf.Session() as session:
            tf.Variable(1)
            element = make().make_one_shot_iterator().get_next()
            saver = tf.train.Saver()
            session.run(tf.global_variables_initializer())
            if restore:
                with pytest.warns(UserWarning, match="their pipelines are others"):
                    saver.restore(session, str(tmp_path / "c"))
            else:
                rest(session, element, 2)
                saver.save(session, str(tmp_path / "c"))
            return plain(session.run(element))

    array = np.arange(10)
    assert program(lambda: D.from_tensor_slices(array).batch(2), False) == [4, 5]
    assert program(lambda: D.from_tensor_slices(array).batch(3), True) == [0, 1, 2]
    assert program(lambda: D.from_tensor_slices(array + 1).batch(2), True) == [1, 2]


def test_a_saver_of_some_variables_leaves_iterators_alone(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        variable = tf.Variable(1)
        element = D.range(9).make_one_shot_iterator().get_next()
        session.run(tf.global_variables_initializer())
        for options in ({"var_list": [variable]}, {"iterators": False}):
            saver = tf.train.Saver(**options)
            session.run(element)
            saver.save(session, str(tmp_path / "c"))
            before = session.run(element)
            saver.restore(session, str(tmp_path / "c"))
            assert session.run(element) == before + 1


@pytest.mark.parametrize("how", ["list", "dict", "collection", "no variables"])
def test_a_saveable_iterator_is_saved_with_the_variables(tmp_path: Path, how: str) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        iterator = D.range(9).make_initializable_iterator()
        saveable = experimental.make_saveable_from_iterator(iterator)
        tf.add_to_collection(tf.GraphKeys.SAVEABLE_OBJECTS, saveable)
        expected_values: Any = {
            "dict": {"place": saveable},
            "list": [saveable],
            "collection": None,
        }.get(how)
        if how != "no variables":
            variable = tf.Variable(1, name="v")
            expected_values = expected_values + [variable] if how == "list" else expected_values
        saver = tf.train.Saver(expected_values)
        element = iterator.get_next()
        session.run([iterator.initializer, tf.global_variables_initializer()])
        session.run(element)
        saved = saver.save(session, str(tmp_path / "c"))
        assert [session.run(element), session.run(element)] == [1, 2]
        saver.restore(session, saved)
        assert session.run(element) == 1


def test_only_iterators_are_saveable_iterators() -> None:
    with pytest.raises(TypeError, match="expected an Iterator"):
        experimental.make_saveable_from_iterator(D.range(3))


def test_a_generator_that_became_shorter_is_an_error() -> None:
    lengths = [5, 2]

    def generator() -> Any:
        yield from range(lengths.pop(0))

    with tf.Graph().as_default() as graph:
        element = D.from_generator(generator, tf.int32).make_one_shot_iterator().get_next()
    with tf.Session(graph=graph) as session:
        rest(session, element, 4)
        saved = resource.save_all(session)
    with (
        tf.Session(graph=graph) as session,
        pytest.raises(tf.errors.DataLossError, match="the generator ended before element 4"),
    ):
        resource.load_all(session, saved)


def test_positions_are_read_back_as_they_were_written() -> None:
    position = {
        "a": [1, -(2**70), None, True, b"\0\xff", "ü"],
        "b": np.array([b"x"], object),
        "c": {},
    }
    found = saving.decode(saving.encode(position))
    assert plain(found.pop("b")) == plain(position.pop("b"))
    assert found == position


@pytest.mark.parametrize(
    "text", ['{"d": 10}', '{"d": []}', '{"b": 10}', '{"$": {}}', '{"$": 99}', '{"e": {}}']
)
def test_positions_of_other_kinds_are_refused(text: str) -> None:
    assert saving.encode({})[8:] == b'{"d":{}}'
    with pytest.raises(errors.DataLossError, match="the position of an iterator is damaged"):
        saving.decode(len(text).to_bytes(8, "little") + text.encode())


@settings(max_examples=100, deadline=None)
@given(st.data())
def test_damaged_positions_are_refused(data: st.DataObject) -> None:
    good = bytearray(saving.encode({"a": [1, np.arange(3)], "b": b"xyz"}))
    at = data.draw(st.integers(0, len(good) - 1))
    good[at] ^= data.draw(st.integers(1, 255))
    try:
        saving.decode(bytes(good))
    except (errors.DataLossError, errors.UnimplementedError):
        pass  # a changed number alone cannot be detected


def changed(position: Any, draw: Any) -> Any:
    """A position with one of its parts replaced."""
    if isinstance(position, dict) and position and draw(st.booleans()):
        key = draw(st.sampled_from(sorted(position)))
        return {**position, key: changed(position[key], draw)}
    if isinstance(position, list) and position and draw(st.booleans()):
        at = draw(st.integers(0, len(position) - 1))
        return [*position[:at], changed(position[at], draw), *position[at + 1 :]]
    return draw(st.sampled_from([None, -1, 99, "x", [], {}, [1, 2], np.arange(2), True]))


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_position_of_another_form_moves_the_iterator_or_is_refused(data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(PIPELINES)))
    with tf.Graph().as_default() as graph:
        element = PIPELINES[name]().make_one_shot_iterator().get_next()
    with tf.Session(graph=graph) as session:
        rest(session, element, 2)
        (iterator, state), *_ = resource.save_all(session).items()
    detail = saving.decode(state.detail)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stages, "_LARGE", data.draw(st.sampled_from([0, 1 << 24])))
        detail["stage"] = changed(detail["stage"], data.draw)
        state.detail = saving.encode(detail)
        with tf.Session(graph=graph) as session:
            try:
                resource.load_all(session, {iterator: state})
            except errors.OpError:
                pass


def test_data_that_became_shorter_ends_a_shuffle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stages, "_LARGE", 0)
    path = tmp_path / "lines"
    path.write_text("a\n" * 9)
    with tf.Graph().as_default() as graph:
        data = tf.data.TextLineDataset(str(path)).shuffle(4)
        element = data.make_one_shot_iterator().get_next()
    with tf.Session(graph=graph) as session:
        rest(session, element, 7)
        saved = resource.save_all(session)
    path.write_text("a\n" * 3)
    with (
        tf.Session(graph=graph) as session,
        pytest.raises(tf.errors.DataLossError, match="or its data has changed: 7 draws of 3"),
    ):
        resource.load_all(session, saved)


def placed(make: Callable[[], Any], steps: int, change: Callable[[Any], None]) -> Any:
    """A graph with an iterator, and a state of it whose position is changed."""
    with tf.Graph().as_default() as graph:
        element = make().make_one_shot_iterator().get_next()
    with tf.Session(graph=graph) as session:
        rest(session, element, steps)
        (name, state), *_ = resource.save_all(session).items()
    detail = saving.decode(state.detail)
    change(detail["stage"])
    state.detail = saving.encode(detail)
    return graph, element, {name: state}


HUGE = 1 << 60


def deep(stage: Any, levels: int, value: Any) -> None:
    """Replaces the position of an input of an input of ..."""
    for _ in range(levels):
        stage = stage["inputs"][0]
    stage["place"] = value


FAR: dict[str, tuple[Callable[[], Any], Callable[[Any], None]]] = {
    "a slice": (lambda: D.from_tensor_slices(np.arange(5)), lambda s: deep(s, 0, HUGE)),
    "a slice before the first": (
        lambda: D.from_tensor_slices(np.arange(5)),
        lambda s: deep(s, 0, -1),
    ),
    "a range": (lambda: D.range(5).batch(2), lambda s: deep(s, 1, HUGE)),
    "an epoch": (lambda: D.range(5).repeat(3), lambda s: deep(s, 0, [HUGE, 1])),
    "an epoch's element": (lambda: D.range(5).repeat(), lambda s: deep(s, 0, [1, HUGE])),
    "a number that is none": (lambda: D.range(5).repeat(), lambda s: deep(s, 0, [True, 1])),
    "what was taken": (lambda: D.range(5).repeat().take(9), lambda s: deep(s, 0, 10)),
    "draws": (lambda: D.range(9).shuffle(4), lambda s: s["place"].update(drawn=HUGE)),
    "draws of a large buffer": (
        lambda: D.range(9).map(lambda x: x + 1).shuffle(4),
        lambda s: s["place"].update(drawn=HUGE, buffer=None),
    ),
    "a row of a buffer": (
        lambda: D.from_tensor_slices(np.arange(9)).shuffle(4),
        lambda s: s["place"].update(buffer=np.array([0, 9])),
    ),
    "a row before the first": (
        lambda: D.from_tensor_slices(np.arange(9)).shuffle(4),
        lambda s: s["place"].update(buffer=np.array([-1, 0])),
    ),
    "what a cache keeps": (
        lambda: D.range(9).cache(),
        lambda s: deep(s, 0, [1, HUGE, False, s["place"][3]]),
    ),
    "where a cache is": (
        lambda: D.range(9).cache(),
        lambda s: deep(s, 0, [HUGE, 2, False, s["place"][3]]),
    ),
    "an input of several": (lambda: D.range(3).concatenate(D.range(4)), lambda s: deep(s, 0, 3)),
    "a generator": (
        lambda: D.from_generator(lambda: iter(range(8)), tf.int64),
        lambda s: deep(s, 0, [HUGE, False]),
    ),
}


@pytest.mark.parametrize("name", FAR)
def test_a_position_beyond_the_data_is_refused_without_a_replay(name: str) -> None:
    make, change = FAR[name]
    graph, element, saved = placed(make, 2, change)
    with tf.Session(graph=graph) as session:
        before = rest(session, element, 1)
        with pytest.raises(errors.DataLossError, match="is damaged, or its data has changed|ended"):
            resource.load_all(session, saved)
        assert rest(session, element, 1) != before or "shuffle" in name


@pytest.mark.parametrize("at", [[0, HUGE], [2, 0], [-1, 0]])
def test_a_position_beyond_a_file_is_refused(at: list[int], tmp_path: Path) -> None:
    """Nor does it go on in the next file."""
    paths = [str(tmp_path / name) for name in ("a", "b")]
    for path in paths:
        Path(path).write_text("1\n2\n3\n")
    at = at if at != [2, 0] else [3, 0]
    graph, _, saved = placed(lambda: tf.data.TextLineDataset(paths), 2, lambda s: deep(s, 0, at))
    with tf.Session(graph=graph) as session, pytest.raises(errors.DataLossError, match="damaged"):
        resource.load_all(session, saved)


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="no timers of POSIX")
@pytest.mark.parametrize(
    ("make", "change"),
    [
        (
            lambda: D.from_generator(lambda: itertools.count(), tf.int64),
            lambda s: deep(s, 0, [HUGE, False]),
        ),
        (
            lambda: D.range(9).repeat().shuffle(4),
            lambda s: s["place"].update(drawn=HUGE, buffer=None),
        ),
        (
            lambda: D.range(9).repeat().map(lambda x: x, num_parallel_calls=2).prefetch(2).cache(),
            lambda s: deep(s, 0, [1, HUGE, False, s["place"][3]]),
        ),
    ],
)
def test_a_replay_without_end_can_be_interrupted(
    make: Callable[[], Any], change: Callable[[Any], None]
) -> None:
    """The length of the data is unknown; the iterator stays where it was."""
    graph, element, saved = placed(make, 2, change)
    with tf.Session(graph=graph) as session:
        rest(session, element, 3)
        before = signal.signal(signal.SIGALRM, signal.default_int_handler)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            with pytest.raises(KeyboardInterrupt):
                resource.load_all(session, saved)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        assert len(rest(session, element, 2)) == 2
