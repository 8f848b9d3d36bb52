"""tf.train.Saver argument by argument, as TensorFlow 2.21's compat.v1 behaves.

Comments in brackets name the differences of graphio, and the reasons.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphio as tf

BOTH = pytest.mark.parametrize("target", ["runtime", "cinfer"])


@pytest.fixture(autouse=True)
def new_graph() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def variables() -> tuple[tf.Variable, tf.Variable]:
    return tf.Variable([1.0, 2.0], name="v"), tf.Variable(3, name="w")


def started(target: str = "") -> tf.Session:
    if target == "cinfer":
        pytest.importorskip("graphio.cinfer._native", reason="the C library was not built")
    session = tf.Session(target)
    session.run(tf.global_variables_initializer())
    return session


def names(folder: Path) -> list[str]:
    """Of the files; of data files without the save id."""
    return sorted(re.sub("-[0-9a-f]{16}-", "-", path.name) for path in folder.iterdir())


def bases(paths: list[str]) -> list[str]:
    return [os.path.basename(path) for path in paths]


# ---- arguments of var_list ----

WRONG: dict[str, tuple[Callable[[Any, Any], Any], type[Exception], str]] = {
    "an empty list": (lambda v, w: [], ValueError, "^No variables to save$"),
    "an empty dict": (lambda v, w: {}, ValueError, "^No variables to save$"),
    "None in a list": (lambda v, w: [v, None], TypeError, "not a Variable: None"),
    "a number in a list": (lambda v, w: [1.0], TypeError, r"not a Variable: 1.0 \(float\)"),
    "a name in a list": (lambda v, w: ["v"], TypeError, r"not a Variable: 'v' \(str\)"),
    "a tensor": (lambda v, w: [v + 1], TypeError, "Variable to save is not a Variable: <tf.Tensor"),
    "a number": (lambda v, w: 1.0, TypeError, "should be passed in a dict or a list. Got 1.0"),
    "a variable": (lambda v, w: v, TypeError, "should be passed in a dict or a list. Got <tf.V"),
    "a string": (lambda v, w: "v", TypeError, "should be passed in a dict or a list. Got 'v'"),
    "a generator": (lambda v, w: (x for x in [v]), TypeError, "passed in a dict or a list"),
    "a number in a dict": (lambda v, w: {"a": 1.0}, TypeError, "not a Variable: 1.0"),
    "a list in a dict": (lambda v, w: {"a": [v]}, TypeError, "'a' is a list with "),
    "a key that is not a string": (lambda v, w: {1: v}, TypeError, "Name is not a string: 1"),
    "no key": (lambda v, w: {None: v}, TypeError, "Name is not a string: None"),
    "one twice": (lambda v, w: [v, w, v], ValueError,
                  "^At least two variables have the same name: v$"),
    "one under two keys": (lambda v, w: {"a": v, "b": v}, ValueError,
                           "^The same saveable will be restored with two names: b$"),
}  # fmt: skip


@pytest.mark.parametrize("how", WRONG)
def test_what_cannot_be_saved_is_refused_with_words(how: str) -> None:
    made, kind, announced = WRONG[how]
    with pytest.raises(kind, match=announced):
        tf.train.Saver(made(*variables()))


def test_there_is_nothing_to_save_in_an_empty_graph() -> None:
    with pytest.raises(ValueError, match="^No variables to save$"):
        tf.train.Saver()


@BOTH
def test_var_list_chooses_and_renames(target: str, tmp_path: Path) -> None:
    v, w = variables()
    session = started(target)
    for var_list, stored in [
        (None, ["v", "w"]), ([v], ["v"]), ((v, w), ["v", "w"]), ({v, w}, ["v", "w"]),
        ({"b": v, "a": w}, ["a", "b"]),
    ]:  # fmt: skip
        prefix = tf.train.Saver(var_list).save(session, str(tmp_path / "m"))
        assert [name for name, _ in tf.train.list_variables(prefix)] == stored
    session.run(v.assign([0, 0]))
    tf.train.Saver({"b": v}).restore(session, prefix)
    assert session.run(v).tolist() == [1, 2]


def test_variables_made_later_are_not_the_savers(tmp_path: Path) -> None:
    variables()
    saver = tf.train.Saver()
    tf.Variable(1.0, name="late")
    prefix = saver.save(started(), str(tmp_path / "m"))
    assert [name for name, _ in tf.train.list_variables(prefix)] == ["v", "w"]


# ---- the other arguments ----


@pytest.mark.parametrize(
    ("options", "kind", "announced"),
    [
        ({"var_list": [], "defer_build": True}, ValueError,
         "^If `var_list` is provided then build cannot be deferred. Either set defer_build=False "
         "or var_list=None.$"),
        ({"max_to_keep": "5"}, TypeError, "max_to_keep must be an int or None, not '5'"),
        ({"max_to_keep": 2.5}, TypeError, "max_to_keep must be an int or None, not 2.5"),
        ({"keep_checkpoint_every_n_hours": "1"}, TypeError, "must be a number, not '1'"),
        ({"keep_checkpoint_every_n_hours": -1}, ValueError, "_hours is -1, expected 0 or more"),
        ({"keep_checkpoint_every_n_hours": float("nan")}, ValueError, "_hours is nan, expected"),
        ({"saver_def": 3}, ValueError, "^saver_def must be a saver_pb2.SaverDef: 3$"),
        ({"write_version": 99}, ValueError, "write_version is 1 or 2 .*, not 99"),
        ({"builder": object()}, ValueError, "builder is not supported"),
        ({"shard_bytes": 0}, ValueError, "shard_bytes is 0, expected a positive number"),
        ({"objects": {"a": 3}}, TypeError, r"'a' is a int without get_state and set_state"),
    ],
)  # fmt: skip
def test_arguments_that_cannot_be_are_refused(
    options: dict[str, Any], kind: type[Exception], announced: str
) -> None:
    variables()
    with pytest.raises(kind, match=announced):
        tf.train.Saver(**options)


def test_the_arguments_have_tensorflows_order() -> None:
    v, _ = variables()
    saver = tf.train.Saver(
        [v], True, True, 3, 2.0, "name", True, None, None, False, True, 2, True, True, None
    )
    made = saver.to_proto()
    assert (made.max_to_keep, made.keep_checkpoint_every_n_hours, made.sharded) == (3, 2.0, True)
    assert made.version == tf.train.SaverDef.V2 == 2


@pytest.mark.parametrize("keep", [None, 0, -1])
def test_all_are_kept_and_only_the_last_is_listed_when_no_number_is_given(
    keep: int | None, tmp_path: Path
) -> None:
    variables()
    saver, session = tf.train.Saver(max_to_keep=keep), started()
    for step in range(4):
        saver.save(session, str(tmp_path / "m"), step)
    assert all(tf.train.checkpoint_exists(tmp_path / f"m-{step}") for step in range(4))
    assert saver.last_checkpoints == []
    found = tf.train.get_checkpoint_state(str(tmp_path))
    assert bases(found.all_model_checkpoint_paths) == ["m-3"]


def test_hours_of_none_preserve_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    variables()
    now = [1e9]
    monkeypatch.setattr(time, "time", lambda: now[0])
    saver = tf.train.Saver(max_to_keep=1, keep_checkpoint_every_n_hours=None)
    session = started()
    for step in range(3):
        now[0] += 3600 * 24
        saver.save(session, str(tmp_path / "m"), step)
    assert bases(saver.last_checkpoints) == ["m-2"]
    assert not tf.train.checkpoint_exists(tmp_path / "m-1")


def test_a_deferred_build(tmp_path: Path) -> None:
    late = tf.train.Saver(defer_build=True)
    v, _ = variables()
    session, path = started(), str(tmp_path / "m")
    announced = r"^`build\(\)` should be called before save if defer_build==True$"
    with pytest.raises(RuntimeError, match=announced):
        late.save(session, path)
    with pytest.raises(RuntimeError, match=r"`build\(\)` should be called before restore"):
        late.restore(session, path)
    assert late.as_saver_def() is None and late.saver_def is None
    late.build()
    late.build()
    session.run(v.assign([5, 6]))
    assert late.save(session, path) == path
    tf.train.Saver().build()


@BOTH
def test_nothing_to_save_is_allowed_when_requested(target: str, tmp_path: Path) -> None:
    saver, session = tf.train.Saver(allow_empty=True), tf.Session(target)
    assert saver.save(session, str(tmp_path / "m")) is None
    assert names(tmp_path) == ["m.meta"]
    saver.restore(session, str(tmp_path / "none"))
    saver.restore(session, None)
    assert saver.last_checkpoints == []
    with pytest.raises(TypeError, match="^'sess' must be a Session; None$"):
        saver.save(None, str(tmp_path / "m"))


@BOTH
def test_pad_step_number_writes_eight_digits(target: str, tmp_path: Path) -> None:
    variables()
    saver, session = tf.train.Saver(pad_step_number=True), started(target)
    for step, text in [(7, "00000007"), (1234567890, "1234567890"), (-3, "-0000003")]:
        assert saver.save(session, str(tmp_path / "m"), step) == str(tmp_path / f"m-{text}")


def test_one_data_file_whether_sharded_or_not_but_for_shard_bytes(tmp_path: Path) -> None:
    variables()
    session = started()
    tf.train.Saver(sharded=True).save(session, str(tmp_path / "a"))  # there is one device
    tf.train.Saver(shard_bytes=8).save(session, str(tmp_path / "b"))
    assert [name for name in names(tmp_path) if ".data" in name] == [
        "a.data-00000-of-00001.safetensors",
        "b.data-00000-of-00002.safetensors",
        "b.data-00001-of-00002.safetensors",
    ]
    tf.train.Saver(restore_sequentially=True).restore(session, str(tmp_path / "b"))


# ---- save ----


@BOTH
def test_a_step_is_a_number_a_tensor_or_a_name(target: str, tmp_path: Path) -> None:
    _, w = variables()
    saver, session = tf.train.Saver(), started(target)
    for step, text in [
        (None, "m"), (3, "m-3"), (0, "m-0"), (-1, "m--1"), (np.int64(4), "m-4"), (True, "m-1"),
        (w, "m-3"), (w + 1, "m-4"), ("w:0", "m-3"), (tf.constant(2.7), "m-2"),
    ]:  # fmt: skip
        assert saver.save(session, str(tmp_path / "m"), step) == str(tmp_path / text)


@pytest.mark.parametrize("step", [1.5, [1], "w", np.zeros(2)], ids=str)
def test_what_is_no_step_is_refused(step: Any, tmp_path: Path) -> None:
    variables()
    with pytest.raises((TypeError, ValueError)):
        tf.train.Saver().save(started(), str(tmp_path / "m"), step)
    assert names(tmp_path) == []


def test_a_prefix_is_text_bytes_or_a_path(tmp_path: Path) -> None:
    v, _ = variables()
    saver, session = tf.train.Saver(), started()
    for path in (tmp_path / "a", str(tmp_path / "model.ckpt"), os.fsencode(tmp_path / "c")):
        prefix = saver.save(session, path)
        assert prefix == os.fsdecode(path)
        session.run(v.assign([0, 0]))
        saver.restore(session, path)
        assert session.run(v).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("path", "options", "kind", "announced"),
    [
        ("m", {"latest_filename": "a/b"}, ValueError,
         "^'latest_filename' must not contain path components$"),
        ("checkpoint", {}, ValueError, "^'latest_filename' collides with 'save_path'"),
        ("q", {"latest_filename": "q"}, ValueError, "^'latest_filename' collides with 'save_path'"),
        ("no/such/m", {}, ValueError, "^Parent directory of .*/m doesn't exist, can't save.$"),
        ("file/m", {}, ValueError, "^Parent directory of .*file/m doesn't exist, can't save.$"),
        ("file/no/m", {}, ValueError, "^Parent directory of .*no/m doesn't exist, can't save.$"),
        ("", {}, ValueError, "cannot be called ''"),
        ('my "model"', {}, ValueError, "cannot be called 'my \"model\"'"),  # [needs no escapes]
    ],
)  # fmt: skip
def test_paths_that_cannot_be_are_refused(
    path: str, options: dict[str, Any], kind: type[Exception], announced: str, tmp_path: Path
) -> None:
    variables()
    (tmp_path / "file").touch()
    with pytest.raises(kind, match=announced):
        tf.train.Saver().save(started(), f"{tmp_path}/{path}", **options)
    assert names(tmp_path) == ["file"]


@BOTH
@pytest.mark.parametrize("asynchronous", [False, True])
def test_the_last_folder_of_a_path_is_made(
    asynchronous: bool, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    variables()
    monkeypatch.chdir(tmp_path)
    session = started(target)
    with tf.train.Saver(asynchronous=asynchronous) as saver:
        for path in ("new/m", str(tmp_path / "other" / "m")):
            prefix = saver.save(session, path)
            saver.wait()
            saver.restore(session, prefix)
    assert tf.train.latest_checkpoint("new") == "new/m"
    assert tf.train.Saver([], allow_empty=True).save(session, "graph/m") is None
    assert names(tmp_path / "graph") == ["m.meta"]


@pytest.mark.parametrize("path", [None, 5])
def test_what_is_no_path_is_refused(path: Any) -> None:
    variables()
    saver, session = tf.train.Saver(), started()
    with pytest.raises(TypeError):
        saver.save(session, path)
    with pytest.raises((TypeError, ValueError)):
        saver.restore(session, path)


@BOTH
def test_sessions_that_are_none(target: str, tmp_path: Path) -> None:
    variables()
    saver, path = tf.train.Saver(), str(tmp_path / "m")
    session = started(target)
    saver.save(session, path)
    for call in (lambda s: saver.save(s, path), lambda s: saver.restore(s, path)):
        with pytest.raises(TypeError, match="^'sess' must be a Session; 3$"):
            call(3)
        with tf.Graph().as_default():
            tf.Variable(1.0, name="another")
            other = started(target)
        with pytest.raises(TypeError, match="another graph .* none of the name"):
            call(other)
    session.close()
    for call in (lambda s: saver.save(s, path), lambda s: saver.restore(s, path)):
        with pytest.raises(RuntimeError, match="^Attempted to use a closed Session.$"):
            call(session)


@BOTH
def test_the_files_of_a_save(target: str, tmp_path: Path) -> None:
    variables()
    saver, session = tf.train.Saver(), started(target)
    saver.save(session, str(tmp_path / "m"))
    data = "m.data-00000-of-00001.safetensors"  # [ours; TensorFlow's has no ending]
    assert names(tmp_path) == ["checkpoint", data, "m.index", "m.meta"]
    saver.save(session, str(tmp_path / "a"), write_meta_graph=False)
    assert not (tmp_path / "a.meta").exists()
    saver.save(session, str(tmp_path / "b"), write_state=False)
    assert tf.train.latest_checkpoint(tmp_path) == str(tmp_path / "a")
    saver.save(session, str(tmp_path / "c"), meta_graph_suffix="graph", strip_default_attrs=True)
    assert (tmp_path / "c.graph").exists() and not (tmp_path / "c.meta").exists()
    saver.save(session, str(tmp_path / "d"), latest_filename="newest", save_debug_info=True)
    assert tf.train.latest_checkpoint(tmp_path, "newest") == str(tmp_path / "d")
    assert bases(saver.last_checkpoints) == ["m", "a", "c", "d"]


@BOTH
def test_variables_without_a_value_are_all_named(target: str, tmp_path: Path) -> None:
    variables()
    with tf.Session(target) as session:
        with pytest.raises(
            tf.errors.FailedPreconditionError, match="Attempting to use uninitialized value v, w"
        ):
            tf.train.Saver().save(session, str(tmp_path / "m"))
    assert names(tmp_path) == []


# ---- the list of checkpoints ----


def test_saving_again_moves_a_checkpoint_to_the_end(tmp_path: Path) -> None:
    variables()
    saver, session = tf.train.Saver(max_to_keep=2), started()
    for step in (0, 1, 2, 2, 1):
        saver.save(session, str(tmp_path / "m"), step)
    assert bases(saver.last_checkpoints) == ["m-2", "m-1"]
    found = tf.train.get_checkpoint_state(str(tmp_path))
    assert found.model_checkpoint_path == str(tmp_path / "m-1")
    assert bases(found.all_model_checkpoint_paths) == ["m-2", "m-1"]


def test_the_list_can_be_given(tmp_path: Path) -> None:
    variables()
    saver, session = tf.train.Saver(), started()
    kept = [saver.save(session, str(tmp_path / "m"), step) for step in range(3)]
    saver.set_last_checkpoints(kept[:1])
    assert saver.last_checkpoints == kept[:1]
    saver.set_last_checkpoints_with_time([(kept[1], 1.0)])
    assert saver.last_checkpoints == kept[1:2]
    saver.recover_last_checkpoints([str(tmp_path / "m-9"), kept[2], kept[0]])
    assert saver.last_checkpoints == [kept[2], kept[0]]
    for call, given in [
        (saver.set_last_checkpoints, "abc"),
        (saver.set_last_checkpoints_with_time, "ab"),
        (saver.set_last_checkpoints_with_time, [kept[0]]),
        (saver.recover_last_checkpoints, None),
    ]:
        with pytest.raises(TypeError):
            call(given)
    assert saver.last_checkpoints == [kept[2], kept[0]]


@pytest.mark.parametrize("relative", [False, True])
def test_paths_in_the_state_file_are_relative(
    relative: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "sub").mkdir()
    variables()
    saver, session = tf.train.Saver(save_relative_paths=relative), started()
    assert saver.save(session, str(tmp_path / "m"), 1) == str(tmp_path / "m-1")
    assert 'model_checkpoint_path: "m-1"' in (tmp_path / "checkpoint").read_text()
    assert saver.save(session, "n", 1) == "n-1"
    assert saver.save(session, "sub/m", 1) == "sub/m-1"
    assert 'model_checkpoint_path: "m-1"' in (tmp_path / "sub" / "checkpoint").read_text()
    assert tf.train.latest_checkpoint("sub") == "sub/m-1"
    listed = tf.train.get_checkpoint_state("sub").all_model_checkpoint_paths
    assert bases(listed) == ["m-1", "n-1", "m-1"] and len(set(listed)) == 3
    assert all(tf.train.checkpoint_exists(path) for path in listed)
    assert tf.train.latest_checkpoint(".") == "./n-1" and tf.train.latest_checkpoint("") == "n-1"


def test_other_calls_about_checkpoints(tmp_path: Path) -> None:
    variables()
    saver, session = tf.train.Saver(), started()
    kept = [saver.save(session, str(tmp_path / "m"), step) for step in range(2)]
    assert tf.train.checkpoint_exists(kept[0]) and not tf.train.checkpoint_exists(kept[0] + "9")
    assert len(tf.train.get_checkpoint_mtimes([*kept, "none"])) == 2
    tf.train.remove_checkpoint(kept[0])
    tf.train.remove_checkpoint(str(tmp_path / "none"))
    assert not any(name.startswith("m-0") for name in names(tmp_path))
    with pytest.raises(RuntimeError, match="conflicts with path used for checkpoint state"):
        tf.train.update_checkpoint_state(str(tmp_path), str(tmp_path / "checkpoint"))
    with pytest.raises(ValueError, match="timestamps"):
        tf.train.update_checkpoint_state(str(tmp_path), kept[1], kept[:1], None, [1.0, 2.0, 3.0])
    state = tf.train.generate_checkpoint_state_proto("folder", "m")
    assert state.model_checkpoint_path == "../m"
    assert tf.train.get_checkpoint_state(str(tmp_path / "none")) is None
    assert tf.train.latest_checkpoint(str(tmp_path / "none")) is None
    assert tf.train.latest_checkpoint(str(tmp_path), "other") is None
    assert tf.train.latest_checkpoint(f"{tmp_path}/") == kept[1]


# ---- restore ----


@BOTH
def test_restore_says_what_is_wrong_with_the_path(target: str, tmp_path: Path) -> None:
    variables()
    saver, session = tf.train.Saver(), started(target)
    prefix = saver.save(session, str(tmp_path / "m"))
    with pytest.raises(ValueError, match="^Can't load save_path when it is None.$"):
        saver.restore(session, None)
    for path, announced in [
        (tmp_path / "zz", "^The passed save_path is not a valid checkpoint: .*zz"),
        ("", "^The passed save_path is not a valid checkpoint: "),
        (tmp_path, "tf.train.latest_checkpoint gives the newest"),
        (prefix + ".index", "give the path without '.index'"),
        (prefix + ".meta", "it is a model of graphio's, not a checkpoint"),
    ]:
        with pytest.raises(ValueError, match=announced):
            saver.restore(session, path)


@BOTH
def test_restore_needs_no_initializer_and_leaves_others_alone(target: str, tmp_path: Path) -> None:
    v, w = variables()
    prefix = tf.train.Saver([v]).save(started(target), str(tmp_path / "m"))
    with tf.Session(target) as session:
        assert tf.train.Saver([v]).restore(session, prefix) is None
        assert session.run(v).tolist() == [1, 2]
        assert session.run(tf.report_uninitialized_variables()).tolist() == [b"w"]
        with pytest.raises(tf.errors.NotFoundError, match="Key w not found in checkpoint"):
            tf.train.Saver().restore(session, prefix)
        with pytest.raises(tf.errors.FailedPreconditionError):
            session.run(w)


@BOTH
def test_a_variable_of_no_known_shape_takes_any(target: str, tmp_path: Path) -> None:
    prefix = tf.train.Saver([variables()[0]]).save(started(target), str(tmp_path / "m"))
    with tf.Graph().as_default(), tf.Session(target) as session:
        v = tf.Variable([[0.0], [0.0]], name="v", validate_shape=False)
        tf.train.Saver().restore(session, prefix)
        assert session.run(v).tolist() == [1, 2]


@pytest.mark.parametrize(
    ("damage", "announced"),
    [
        (lambda index, data: data.write_bytes(data.read_bytes()[:-1]), "bytes, its index says"),
        (lambda index, data: data.unlink(), "a data file is missing"),
        (lambda index, data: index.write_bytes(b"garbage"), "is damaged"),
        (lambda index, data: index.write_bytes(index.read_bytes()[:-1]), "index is damaged"),
    ],
    ids=["short data", "no data", "another index", "a short index"],
)
def test_damage_is_data_loss(
    damage: Callable[[Path, Path], Any], announced: str, tmp_path: Path
) -> None:
    variables()
    saver, session = tf.train.Saver(), started()
    prefix = saver.save(session, str(tmp_path / "m"))
    (data,) = tmp_path.glob("*.safetensors")
    damage(tmp_path / "m.index", data)
    with pytest.raises(tf.errors.DataLossError, match=announced):
        saver.restore(session, prefix)


# ---- the graph ----


@BOTH
def test_operators_save_and_restore_by_the_names_in_saver_def(target: str, tmp_path: Path) -> None:
    v, w = variables()
    saver = tf.train.Saver(max_to_keep=3, keep_checkpoint_every_n_hours=2.0)
    assert len([op for op in tf.get_default_graph().get_operations() if "save" in op.name]) == 0
    made = saver.saver_def  # [they are added at the first use]
    assert made.filename_tensor_name == "save/Const:0"
    assert made.save_tensor_name == "save/control_dependency:0"
    assert made.restore_op_name == "save/restore_all"
    assert saver.as_saver_def().restore_op_name == "save/restore_all"
    graph = tf.get_default_graph()
    assert graph.get_operation_by_name("save/restore_all").type == "NoOp"
    assert graph.get_operation_by_name("save/SaveV2").type == "SaveV2"
    session, path = started(target), str(tmp_path / "x")
    assert session.run(made.filename_tensor_name) == b"model"
    feed = {made.filename_tensor_name: path}
    assert session.run(made.save_tensor_name, feed) == path.encode()
    assert names(tmp_path) == ["x.data-00000-of-00001.safetensors", "x.index"]
    session.run([v.assign([5, 5]), w.assign(0)])
    assert session.run(made.restore_op_name, feed) is None
    assert session.run(v).tolist() == [1, 2] and session.run(w) == 3
    saver.restore(session, path)
    with pytest.raises(tf.errors.NotFoundError, match="no checkpoint"):
        session.run(made.restore_op_name, {made.filename_tensor_name: str(tmp_path / "none")})


def test_a_finalized_graph_gets_no_operators() -> None:
    variables()
    saver = tf.train.Saver(max_to_keep=3)
    tf.get_default_graph().finalize()
    made = saver.saver_def
    assert made.max_to_keep == 3
    assert made.filename_tensor_name == made.save_tensor_name == made.restore_op_name == ""


def test_the_operators_of_another_saver_are_called_otherwise(tmp_path: Path) -> None:
    variables()
    with tf.name_scope("q"):
        scoped = tf.train.Saver()
    savers = [tf.train.Saver(), tf.train.Saver(), tf.train.Saver(name="mine"), scoped]
    assert [saver.saver_def.filename_tensor_name for saver in savers] == [
        "save/Const:0", "save_1/Const:0", "mine/Const:0", "q/save/Const:0",
    ]  # fmt: skip


@BOTH
def test_operators_refuse_what_does_not_fit_and_assign_nothing(target: str, tmp_path: Path) -> None:
    v, w = variables()
    prefix = tf.train.Saver().save(session := started(target), str(tmp_path / "m"))
    made = tf.train.Saver({"v": v, "x": w, "w": tf.Variable([1.0], name="y")}).saver_def
    session.run(v.assign([7, 7]))
    with pytest.raises(tf.errors.NotFoundError) as error:
        session.run(made.restore_op_name, {made.filename_tensor_name: prefix})
    for announced in (
        "Key x not found in checkpoint",
        "w: the variable has dtype",
        "w: Assign requires",
    ):
        assert announced in str(error.value)
    assert session.run(v).tolist() == [7, 7]


def test_a_saver_travels_as_a_message(tmp_path: Path) -> None:
    v, w = variables()
    saver = tf.train.Saver({"a": v}, max_to_keep=3, keep_checkpoint_every_n_hours=2.0, sharded=True)
    session = started()
    prefix = saver.save(session, str(tmp_path / "m"))
    for again in (
        tf.train.Saver.from_proto(saver.to_proto()),
        tf.train.Saver(saver_def=saver.as_saver_def()),
    ):
        made = again.saver_def
        assert (made.max_to_keep, made.keep_checkpoint_every_n_hours, made.sharded) == (3, 2, True)
        session.run([v.assign([0, 0]), w.assign(9)])
        again.restore(session, prefix)
        assert session.run(v).tolist() == [1, 2] and session.run(w) == 9
    with tf.Graph().as_default(), pytest.raises(ValueError, match="does not have: v"):
        tf.train.Saver(saver_def=saver.to_proto())


@BOTH
def test_a_graph_file_gives_a_saver_of_its_names(target: str, tmp_path: Path) -> None:
    v, _ = variables()
    tf.add_to_collection("kept", v)
    saver = tf.train.Saver({"a": v}, max_to_keep=2)
    assert saver.saver_def.restore_op_name == "save/restore_all"  # these operators go along
    prefix = saver.save(started(target), str(tmp_path / "m"), 1)
    for scope, name in [(None, "v:0"), ("inside", "inside/v:0")]:
        with tf.Graph().as_default(), tf.Session(target) as session:
            again = tf.train.import_meta_graph(prefix + ".meta", import_scope=scope)
            again.restore(session, prefix)
            assert session.run(name).tolist() == [1, 2]
            assert again.saver_def.max_to_keep == 2
            feed = {again.saver_def.filename_tensor_name: prefix}
            session.run(again.saver_def.restore_op_name, feed)
            assert bases(again.last_checkpoints) == ["m-1"]  # [TensorFlow's forgets them]
    with pytest.raises(OSError, match="does not exist"):
        tf.train.import_meta_graph(str(tmp_path / "none.meta"))
    exported = saver.export_meta_graph(str(tmp_path / "e.meta"), collection_list=["kept"])
    assert exported.saver_def.max_to_keep == 2 and (tmp_path / "e.meta").exists()


# ---- reading ----


def test_readers_as_tensorflows(tmp_path: Path) -> None:
    variables()
    prefix = tf.train.Saver().save(started(), str(tmp_path / "m"), 1)
    reader = tf.train.NewCheckpointReader(prefix)
    assert reader.get_variable_to_shape_map() == {"v": [2], "w": []}
    assert reader.get_variable_to_dtype_map() == {"v": tf.float32, "w": tf.int32}
    assert reader.get_tensor("v").tolist() == [1, 2]
    scalar = reader.get_tensor("w")
    assert isinstance(scalar, np.int32) and scalar == 3
    assert reader.has_tensor("v") and not reader.has_tensor("v:0")
    assert reader.debug_string() == b"v (DT_FLOAT) [2]\nw (DT_INT32) []\n"
    for missing in ("zz", "v:0"):
        with pytest.raises(tf.errors.NotFoundError, match=f"^Key {missing} not found"):
            reader.get_tensor(missing)
    for where in (prefix, str(tmp_path)):
        assert tf.train.list_variables(where) == [("v", [2]), ("w", [])]
        assert tf.train.load_variable(where, "v:0").tolist() == [1, 2]
    for call in (tf.train.NewCheckpointReader, tf.train.load_checkpoint):
        with pytest.raises(tf.errors.NotFoundError, match="Failed to find any matching files for"):
            call(str(tmp_path / "none"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(ValueError, match="^Couldn't find 'checkpoint' file"):
        tf.train.load_checkpoint(str(tmp_path / "empty"))


def test_a_reader_gives_blobs(tmp_path: Path) -> None:
    variables()
    prefix = tf.train.Saver().save(started(), str(tmp_path / "m"), blobs={"b": b"2", "a": b""})
    reader = tf.train.load_checkpoint(prefix)
    assert reader.blobs() == ["a", "b"]
    assert reader.get_blob("b") == b"2" and reader.get_blob("a") == b""
    with pytest.raises(tf.errors.NotFoundError, match="Blob c not found .* it has a, b"):
        reader.get_blob("c")


@pytest.mark.parametrize("as_tensor", [False, True])
def test_the_operators_of_a_saver_use_the_filename_given(as_tensor: bool, tmp_path: Path) -> None:
    path = str(tmp_path / "own")
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(3.0, name="v")
        saver = tf.train.Saver([v], filename=tf.constant(path) if as_tensor else path)
        reported = saver.saver_def
        session.run(v.initializer)
        assert session.run(reported.filename_tensor_name) == session.run(reported.save_tensor_name)
        session.run(v.assign(4.0))
        session.run(reported.restore_op_name)
        assert session.run(v) == 3
    assert tf.train.load_variable(path, "v") == 3


def test_a_saver_def_is_written_and_is_no_graph(tmp_path: Path) -> None:
    with tf.Graph().as_default():
        tf.Variable(3.0, name="v")
        written = tf.train.write_graph(tf.train.Saver().as_saver_def(), tmp_path, "saver")
    assert 'variable: "v"' in Path(written).read_text()
    with tf.Graph().as_default(), pytest.raises(OSError, match="Cannot parse file"):
        tf.train.import_meta_graph(written)


def test_an_imported_graph_without_variables_has_no_saver(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.constant(1.0)
        tf.train.Saver(allow_empty=True).save(session, tmp_path / "m")
    with tf.Graph().as_default():
        tf.Variable(0.0)
        assert tf.train.import_meta_graph(str(tmp_path / "m.meta"), import_scope="in") is None


def test_a_step_keeps_a_checkpoint_apart_from_the_state_file(tmp_path: Path) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        session.run(tf.Variable(1.0).initializer)
        saver = tf.train.Saver()
        path = saver.save(session, tmp_path / "checkpoint", global_step=1)
        assert tf.train.latest_checkpoint(str(tmp_path)) == path
        with pytest.raises(ValueError, match="collides with 'save_path'"):
            saver.save(session, tmp_path / "checkpoint")
        path = tf.train.Saver(sharded=True).save(session, tmp_path / "checkpoint")
        assert tf.train.latest_checkpoint(str(tmp_path)) == path == str(tmp_path / "checkpoint")


@BOTH
def test_a_saver_serves_the_session_of_another_graph_by_names(target: str, tmp_path: Path) -> None:
    with tf.Graph().as_default():
        tf.Variable([1.0, 2.0], name="v")
        saver = tf.train.Saver()
    with tf.Graph().as_default():
        v, w = tf.Variable([0.0, 0.0], name="v"), tf.Variable(5.0, name="w")
        other = tf.Session(target)
        other.run(tf.global_variables_initializer())
        other.run(v.assign([3.0, 4.0]))
        path = saver.save(other, tmp_path / "m")
        other.run([v.assign([0.0, 0.0]), w.assign(6.0)])
        saver.restore(other, path)
        assert [x.tolist() for x in other.run([v, w])] == [[3.0, 4.0], 6.0]


@BOTH
def test_whether_a_variable_of_another_graph_has_a_value(target: str) -> None:
    with tf.Graph().as_default() as graph:
        v = tf.Variable(1.0, name="v")
        session = tf.Session(target)
    requested = tf.is_variable_initialized(graph.get_tensor_by_name("v:0"))
    before = session.run(requested)
    session.run(v.initializer)
    assert not before and session.run(requested)


def test_a_state_file_that_names_nothing_is_an_error_to_read_and_no_end(tmp_path: Path) -> None:
    (tmp_path / "checkpoint").write_text("")
    with pytest.raises(ValueError, match="Invalid checkpoint state loaded from"):
        tf.train.get_checkpoint_state(str(tmp_path))
    with pytest.warns(UserWarning, match="names no checkpoint"):
        assert tf.train.latest_checkpoint(str(tmp_path)) is None


@pytest.mark.parametrize(
    ("folder", "path", "reported"),
    [("d", "d/m", "m"), ("d", "e/m", "../e/m"), ("/d", "/d/m", "/d/m"), ("/d", "m", "m")],
)
def test_absolute_paths_stay_in_a_generated_state(folder: str, path: str, reported: str) -> None:
    kept = ["m-0"]
    state = tf.train.generate_checkpoint_state_proto(folder, path, kept)
    assert state.model_checkpoint_path == reported == state.all_model_checkpoint_paths[-1]
    assert kept == ["m-0", path]


@BOTH
def test_objects_that_own_variables_are_saved(target: str, tmp_path: Path) -> None:
    class Owner:
        def __init__(self) -> None:
            self.v, self.w = tf.Variable(1.0, name="v"), tf.Variable(2.0, name="w")

        def _gather_saveables_for_checkpoint(self) -> dict[str, Any]:
            return {"VARIABLE_VALUE": self.v, "more": self.w}

    with tf.Graph().as_default():
        owner = Owner()
        session = started(target)
        path = tf.train.Saver({"owner": owner}).save(session, tmp_path / "m")
        assert sorted(name for name, _ in tf.train.list_variables(path)) == ["owner", "owner_more"]
        plain = tf.train.Saver([owner])
        path = plain.save(session, tmp_path / "n")
        assert sorted(name for name, _ in tf.train.list_variables(path)) == ["v", "w"]
        session.run(owner.v.assign(5.0))
        plain.restore(session, path)
        assert session.run(owner.v) == 1.0


def test_programs_that_print_the_variables_of_a_saver_find_them() -> None:
    with tf.Graph().as_default():
        a, b = tf.Variable(1.0, name="a"), tf.Variable(2.0, name="b")
        assert tf.train.Saver()._var_list == [a, b]
        assert tf.train.Saver([b])._var_list == [b]
        assert tf.train.Saver({"of_a": a})._var_list == {"of_a": a}
        assert tf.train.Saver(defer_build=True)._var_list == [a, b]
