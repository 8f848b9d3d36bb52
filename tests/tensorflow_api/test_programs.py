"""The API besides graphs: app, flags, logging, files, compat, test, templates."""

from __future__ import annotations

import importlib
import logging as python_logging
import os
import subprocess
import sys
import threading
import time
import unittest
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from folders import ROOT

import graphio as tf

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


def program(tmp_path: Path, text: str, *arguments: str, target: str = "") -> Any:
    """Runs a program with TensorFlow's import line changed."""
    path = tmp_path / "program.py"
    path.write_text(text.replace("import tensorflow as tf", "import graphio as tf"))
    environment = {**os.environ, "GRAPHIO_TARGET": target}
    environment["PYTHONPATH"] = os.pathsep.join([str(ROOT), *filter(None, sys.path)])
    return subprocess.run(
        [sys.executable, str(path), *arguments],
        env=environment, capture_output=True, text=True, check=False,
    )  # fmt: skip


# ---- app and flags ----


@pytest.fixture
def flags(monkeypatch: Any) -> Iterator[Any]:
    """tf.flags without the flags of others."""
    from graphio.flags import FlagValues

    monkeypatch.setattr(tf.flags, "FLAGS", FlagValues())
    yield tf.flags


TRAIN = '''
"""Trains."""
import tensorflow as tf
flags = tf.app.flags
flags.DEFINE_integer("steps", 3, "How many steps.")
flags.DEFINE_float("rate", 0.5, "Learning rate.")
flags.DEFINE_boolean("loud", False, "Whether to print.")
flags.DEFINE_enum("mode", "train", ["train", "test"], "What to do.")
FLAGS = flags.FLAGS

def main(argv):
    w = tf.Variable(0.0)
    step = tf.train.GradientDescentOptimizer(FLAGS.rate).minimize((w - 1.0) ** 2)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(FLAGS.steps):
            sess.run(step)
        print(FLAGS.mode, argv[1:], round(float(sess.run(w)), 4) if FLAGS.loud else "quiet")
    return 7 if FLAGS.mode == "test" else None

if __name__ == "__main__":
    tf.app.run()
'''


@TARGETS
def test_a_program_of_flags_and_main_runs(target: str, tmp_path: Path) -> None:
    done = program(
        tmp_path,
        TRAIN,
        "--steps=2",
        "-rate",
        "0.25",
        "file",
        "--loud",
        "--unknown=1",
        target=target,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "train ['file', '--unknown=1'] 0.75\n"


def test_a_programs_status_and_its_wrong_flags(tmp_path: Path) -> None:
    done = program(tmp_path, TRAIN, "--mode", "test", "--noloud")
    assert done.returncode == 7 and done.stdout == "test [] quiet\n"
    done = program(tmp_path, TRAIN, "--mode=other")
    assert done.returncode == 1 and "FATAL Flags parsing error" in done.stderr
    assert "value should be one of <train|test>" in done.stderr
    done = program(tmp_path, TRAIN, "--help")
    assert done.returncode == 1 and "Trains." in done.stdout
    assert "--[no]loud: Whether to print." in done.stdout and "--steps" in done.stdout


@pytest.mark.parametrize(
    ("kind", "default", "given", "value"),
    [("string", "a", "b", "b"), ("boolean", True, "false", False), ("bool", True, "0", False),
     ("integer", 1, "2", 2), ("float", 0.5, "1", 1.0)],
)  # fmt: skip
def test_a_flags_arguments_have_their_old_names(
    flags: Any, kind: str, default: Any, given: str, value: Any
) -> None:
    define = getattr(flags, f"DEFINE_{kind}")
    define(flag_name="first", default_value=default, docstring="What it is.")
    define("second", default_value=default, docstring="Another.")
    assert flags.FLAGS(["program", f"--second={given}"]) == ["program"]
    assert (flags.FLAGS.first, flags.FLAGS.second) == (default, value)
    assert "What it is." in flags.FLAGS.get_help()


def test_flags_of_all_kinds_are_read(flags: Any) -> None:
    flags.DEFINE_string("s", None, "A string.")
    flags.DEFINE_integer("i", 1, "A number.")
    flags.DEFINE_bool("b", True, "A bool.")
    flags.DEFINE_list("l", ["x"], "A list.")
    flags.DEFINE_spaceseplist("words", "a b", "A list.")
    flags.DEFINE_multi_integer("many", [1], "Numbers.")
    flags.DEFINE_alias("text", "s")
    rest = flags.FLAGS(
        ["p", "--text=a=b", "--i", "0x10", "--nob", "--l=a, b", "--many=2", "--many=3", "f", "--",
         "--i=9"]
    )  # fmt: skip
    assert rest == ["p", "f", "--i=9"]
    found = flags.FLAGS
    assert (found.s, found.text, found.i, found.b) == ("a=b", "a=b", 16, False)
    assert (found.l, found.words, found.many) == (["a", "b"], ["a", "b"], [2, 3])
    assert found.flag_values_dict()["i"] == 16 and "i" in found and len(found) == 6
    assert getattr(found, "__flags")["l"].value == ["a", "b"]
    found.i = 5
    assert found["i"].value == 5 and found["i"].default == 1
    found.set_default("s", "other")
    assert found.s == "a=b" and found["s"].default == "other"


def test_a_program_parses_its_flags_before_it_prints_them(
    flags: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    flags.DEFINE_integer("size", 1, "A number.")
    monkeypatch.setattr(sys, "argv", ["p", "--size=3", "--other"])
    flags.FLAGS._parse_flags()
    assert [(k, v.value) for k, v in getattr(flags.FLAGS, "__flags").items()] == [("size", 3)]


def test_flags_that_cannot_be_are_refused(flags: Any) -> None:
    flags.DEFINE_integer("count", 1, "A number.", lower_bound=0)
    flags.DEFINE_string("name", None, "A string.")
    with pytest.raises(flags.DuplicateFlagError, match="count.*A number"):
        flags.DEFINE_float("count", 1.0, "Another.")
    with pytest.raises(flags.UnrecognizedFlagError, match="'coutn'. Did you mean: count"):
        flags.FLAGS(["p", "--coutn=2"])
    for bad in ("--count=x", "--count=-1", "--count"):
        with pytest.raises(flags.IllegalFlagValueError, match="count"):
            flags.FLAGS(["p", bad])
    for default in (float("inf"), float("nan"), 0.5):
        with pytest.raises(flags.IllegalFlagValueError, match="Expect argument to be a string or"):
            flags.DEFINE_integer("size", default, "A default value that is not an integer.")
    with pytest.raises(AttributeError, match="nobody"):
        flags.FLAGS.nobody = 1
    assert not hasattr(flags.FLAGS, "nobody")
    flags.mark_flag_as_required("name")
    with pytest.raises(flags.ValidationError, match="--name must have a value"):
        flags.FLAGS(["p"])
    flags.register_validator("count", lambda v: v % 2 == 1, "must be odd")
    with pytest.raises(flags.ValidationError, match="count=4: must be odd"):
        flags.FLAGS(["p", "--name=n", "--count=4"])


# ---- logging ----


def test_messages_are_shown_from_a_level_on(tmp_path: Path) -> None:
    text = """
import tensorflow as tf
assert tf.logging.get_verbosity() == tf.logging.WARN
tf.logging.info("hidden")
tf.logging.warn("shown %d", 1)
tf.logging.set_verbosity(tf.logging.DEBUG)
for i in range(5):
    tf.logging.log_every_n(tf.logging.INFO, "every %d", 2, i)
    tf.logging.log_first_n(tf.logging.INFO, "first %d", 1, i)
tf.logging.vlog(1, "too deep")
tf.logging.debug("d"); tf.logging.error("e"); tf.logging.fatal("f")
"""
    done = program(tmp_path, text)
    assert done.returncode == 0, done.stderr
    assert done.stderr.splitlines() == [
        "WARNING:graphio:shown 1", "INFO:graphio:every 0", "INFO:graphio:first 0",
        "INFO:graphio:every 2", "INFO:graphio:every 4", "DEBUG:graphio:d", "ERROR:graphio:e",
        "CRITICAL:graphio:f",
    ]  # fmt: skip


def test_pythons_logging_sees_the_programs_line(caplog: Any) -> None:
    with caplog.at_level(python_logging.INFO, logger="graphio"):
        tf.logging.info("to %s", "all")
        tf.logging.log(tf.logging.INFO, "too")
        tf.logging.log_if(tf.logging.INFO, "not", False)
        tf.logging.log_if(tf.logging.INFO, "yes", True)
    assert [r.getMessage() for r in caplog.records] == ["to all", "too", "yes"]
    assert {r.filename for r in caplog.records} == {"test_programs.py"}


# ---- files ----


def test_files_are_written_and_read(tmp_path: Path) -> None:
    path = str(tmp_path / "a.txt")
    with tf.gfile.GFile(path, "w") as file:
        file.write("one\ntwo\n")
        file.write("drei ä")
    with tf.gfile.Open(path) as file:
        assert file.readline() == "one\n" and file.tell() == 4
        assert file.read(3) == "two" and file.readlines() == ["\n", "drei ä"]
        file.seek(0)
        assert list(file) == ["one\n", "two\n", "drei ä"] and file.size() == 15
    with tf.gfile.FastGFile(path, "rb") as file:
        assert file.read().endswith("ä".encode()) and file.read() == b""
    with tf.io.gfile.GFile(path, "a") as file:
        file.write("!")
    assert tf.gfile.GFile(path).read().endswith("ä!")
    assert tf.gfile.Stat(path).length == 16 and not tf.gfile.Stat(path).is_directory
    tf.gfile.GFile(path, "w").close()
    assert tf.gfile.Stat(path).length == 0


@pytest.mark.parametrize("mode", ["r+", "w+", "a+", "r+b"])
def test_a_file_is_read_and_written_at_separate_positions(mode: str, tmp_path: Path) -> None:
    path, wrap = str(tmp_path / "both.txt"), str.encode if "b" in mode else str
    file = tf.gfile.GFile(path, mode)
    file.write("one\n")
    assert file.read() == wrap("one\n"), "reading starts where the file does"
    file.write("two\n")
    assert (file.tell(), file.readline(), file.tell()) == (4, wrap("two\n"), 8)
    file.seek(-4, 2)
    file.seek(2, 1)
    assert (file.read(), file.size()) == (wrap("o\n"), 8)
    file.close()
    assert file.read() == wrap("one\ntwo\n"), "a closed file is opened again"
    file.close()
    assert tf.gfile.Stat(path).length == 8, "closing again empties nothing"
    with tf.gfile.GFile(path, mode) as file:
        file.write("x")
    assert tf.gfile.Stat(path).length == (9 if mode == "a+" else 1)


def test_positions_that_a_file_has_not_are_refused(tmp_path: Path) -> None:
    path = str(tmp_path / "file")
    with tf.gfile.GFile(path, "w") as file:
        file.write("abc")
        assert file.tell() == 3
    file = tf.gfile.GFile(path)
    for refused in (lambda: file.seek(-1), lambda: file.seek(0, 3), lambda: file.read(-2)):
        with pytest.raises(tf.errors.InvalidArgumentError):
            refused()
    for arguments in ({}, {"offset": 0, "position": 0}):
        with pytest.raises(TypeError, match="offset argument required"):
            file.seek(**arguments)


def test_io_has_the_names_of_others() -> None:
    assert tf.io.TFRecordWriter is tf.python_io.TFRecordWriter
    assert tf.io.decode_raw is tf.decode_raw and tf.io.write_graph is tf.train.write_graph
    assert not hasattr(tf.io, "nothing") and tf.get_logger() is python_logging.getLogger("graphio")


def test_folders_are_made_listed_and_removed(tmp_path: Path) -> None:
    root = f"file://{tmp_path}"
    deep = f"{root}/x/y"
    tf.gfile.MakeDirs(deep)
    tf.gfile.MakeDirs(deep)
    tf.gfile.MkDir(f"{root}/z")
    for name in ("b.txt", "a.txt"):
        tf.gfile.GFile(f"{deep}/{name}", "w").close()
    assert tf.gfile.IsDirectory(deep) and tf.gfile.Exists(f"{deep}/a.txt")
    assert tf.gfile.ListDirectory(deep) == ["a.txt", "b.txt"]
    tf.gfile.Copy(f"{deep}/a.txt", f"{root}/c.txt")
    tf.gfile.Rename(f"{root}/c.txt", f"{root}/d.txt")
    found = [os.path.basename(p) for p in tf.gfile.Glob([f"{deep}/*.txt", f"{root}/*.txt"])]
    assert found == ["a.txt", "b.txt", "d.txt"]
    walked = [(os.path.basename(d), ds, fs) for d, ds, fs in tf.gfile.Walk(root)]
    assert walked[1:] == [("x", ["y"], []), ("y", [], ["a.txt", "b.txt"]), ("z", [], [])]
    assert [os.path.basename(d) for d, _, _ in tf.io.gfile.walk(root, topdown=False)][0] == "y"
    tf.gfile.Remove(f"{root}/d.txt")
    tf.gfile.DeleteRecursively(f"{root}/x")
    assert tf.io.gfile.listdir(root) == ["z"]


def test_files_that_cannot_be_raise_tensorflows_errors(tmp_path: Path) -> None:
    e, missing, there = tf.errors, str(tmp_path / "no"), str(tmp_path / "file")
    tf.gfile.GFile(there, "w").close()
    file = tf.gfile.GFile(missing)
    for call in (
        file.read,
        lambda: tf.gfile.Remove(missing),
        lambda: tf.gfile.DeleteRecursively(missing),
        lambda: tf.gfile.Copy(missing, there + "2"),
        lambda: tf.gfile.Rename(missing, there + "2"),
        lambda: tf.gfile.Stat(missing),
        lambda: tf.gfile.ListDirectory(missing),
        lambda: tf.gfile.MkDir(missing + "/deeper"),
        lambda: tf.gfile.GFile(missing + "/f", "w").write("x"),
    ):
        with pytest.raises(e.NotFoundError, match="no"):
            call()
    for call in (
        lambda: tf.gfile.MkDir(there),
        lambda: tf.gfile.Copy(there, there),
        lambda: tf.io.gfile.rename(there, there),
    ):
        with pytest.raises(e.AlreadyExistsError, match="exists"):
            call()
    with pytest.raises(e.FailedPreconditionError, match="Is a directory"):
        tf.gfile.Remove(str(tmp_path))
    with pytest.raises(e.PermissionDeniedError, match="for writing"):
        tf.gfile.GFile(there, "r").write("x")
    with pytest.raises(e.InvalidArgumentError, match="mode"):
        tf.gfile.GFile(there, "rw")
    with pytest.raises(e.UnimplementedError, match="scheme 'hdfs' not implemented.*copy it there"):
        tf.gfile.Exists("hdfs://host/file")
    tf.gfile.Copy(there, there + "2")
    tf.gfile.Copy(there, there + "2", overwrite=True)
    assert not tf.gfile.Exists(missing) and list(tf.gfile.Walk(missing)) == []


# ---- compat, versions, what is left out ----


def test_compat_v1_is_the_package() -> None:
    import graphio.compat.v1 as v1
    from graphio.compat.v1 import placeholder

    assert v1 is tf and tf.compat.v1 is tf and placeholder is tf.placeholder
    assert tf.compat.v1.nn is tf.nn
    v1.disable_v2_behavior()
    v1.disable_eager_execution()
    v1.disable_resource_variables()
    assert not tf.executing_eagerly()
    with pytest.raises(AttributeError, match="compat.v1"):
        tf.compat.v2  # noqa: B018


def test_strings_and_bytes() -> None:
    c = tf.compat
    assert c.as_bytes("ä") == "ä".encode() and c.as_text(b"x") == c.as_str("x") == "x"
    assert c.as_str_any(3) == "3" and c.as_str_any(b"y") == "y" and c.path_to_str(Path("p")) == "p"
    with pytest.raises(TypeError, match="Expected binary or unicode"):
        c.as_bytes(3)
    with pytest.raises(TypeError, match="Expected binary or unicode"):
        c.as_text(3)
    assert c.dimension_value(tf.TensorShape([3])[0]) == 3 and c.dimension_value(None) is None
    assert isinstance(np.int32(3), c.integral_types) and not isinstance(3.0, c.integral_types)


def test_versions_are_reported() -> None:
    assert tf.VERSION == tf.__version__ == tf.version.VERSION
    assert tf.VERSION in tf.GIT_VERSION and isinstance(tf.COMPILER_VERSION, str)


@pytest.mark.parametrize(
    "name, instead",
    [
        ("contrib.training.batch_sequences_with_states", "bucket_by_sequence_length"),
        ("contrib.layers.real_valued_column", "tf.one_hot"),
        ("estimator", "MonitoredTrainingSession"),
        ("keras.layers", "tf.layers"),
        ("distribute.MirroredStrategy", "DataParallel"),
        ("enable_eager_execution", "Session"),
    ],
)
def test_what_is_left_out_says_what_to_use(name: str, instead: str) -> None:
    space, _, last = name.rpartition(".")
    owner = importlib.import_module(f"graphio.{space}") if space else tf
    assert not hasattr(owner, last)
    with pytest.raises(AttributeError, match=rf"tf\.{name} is not part of graphio: .*{instead}"):
        getattr(owner, last)
    with pytest.raises(AttributeError, match="has no attribute 'nothing_at_all'"):
        owner.nothing_at_all  # noqa: B018


def test_resources_lie_beside_the_program() -> None:
    assert tf.resource_loader.get_data_files_path() == os.path.dirname(os.path.abspath(__file__))
    own = tf.resource_loader.get_path_to_datafile("test_programs.py")
    assert tf.resource_loader.load_resource(own) == Path(__file__).read_bytes()


# ---- tf.test ----


class _Cases(tf.test.TestCase):
    """Run by the tests below, in both engines."""

    __test__ = False

    def test_values(self) -> None:
        with self.session():
            v = tf.get_variable("v", initializer=[1.0, 2.0])
            self.evaluate(tf.global_variables_initializer())
            self.assertAllEqual(v * 2.0, [2, 4])
            self.assertAllClose({"a": [v, 3.0]}, {"a": [[1.0, 2.0 + 1e-7], 3]})
            self.assertAllCloseAccordingToType(np.float16([1.0005]), np.float16([1.0]))
            self.assertShapeEqual(np.zeros((2,)), v + 0.0)
            self.assertDTypeEqual(v, np.float32)
            self.assertNear(1.0, 1.05, 0.1)
            self.assertItemsEqual([1, 2], [2, 1])
            self.assertProtoEquals("step: 3", tf.Event(step=3))
            self.assertArrayNear([1, 2], [1, 2.05], 0.1)
            self.assertAllInRange(v, 1, 2)
            self.assertAllGreater(v, 0)
            self.assertNotAllClose(v, [1.0, 3.0])
            self.assertNotAllEqual(v, [1.0, 3.0])
            with self.assertRaisesOpError("You must feed"):
                self.evaluate(tf.placeholder(tf.float32) + 1.0)

    def test_failures(self) -> None:
        for call in (
            lambda: self.assertAllEqual([1, 2], [1, 3]),
            lambda: self.assertAllEqual([1, 2], [[1, 2]]),
            lambda: self.assertAllClose([1.0], [1.1]),
            lambda: self.assertAllClose({"a": 1.0}, {"b": 1.0}),
            lambda: self.assertAllClose([[1.0], [1.0, 2.0]], [[1.0], [1.0, 2.5]]),
            lambda: self.assertNear(1.0, 2.0, 0.5),
            lambda: self.assertAllInRange([1, 5], 1, 4),
            lambda: self.assertShapeEqual(np.zeros(3), tf.zeros([2])),
            lambda: self.assertNotAllClose([1.0], [1.0]),
        ):
            with self.assertRaises(AssertionError):
                call()

    def test_a_cached_session_keeps_its_state(self) -> None:
        v = tf.get_variable("v", initializer=1.0)
        with self.test_session() as first:
            v.initializer.run()
            v.assign_add(1.0).eval()
        with self.cached_session() as second:
            self.assertIs(first, second)
            self.assertEqual(v.eval(), 2.0)
        self.assertTrue(os.path.isdir(self.get_temp_dir()))

    def test_the_graph_is_new_and_seeded(self) -> None:
        self.assertEqual(tf.get_default_graph().get_operations(), [])
        self.assertEqual(tf.get_default_graph().seed, 87654321)


@TARGETS
@pytest.mark.parametrize("name", unittest.defaultTestLoader.getTestCaseNames(_Cases))
def test_cases_run(target: str, name: str, monkeypatch: Any) -> None:
    monkeypatch.setenv("GRAPHIO_TARGET", target)
    result = _Cases(name).run()
    assert result is not None and result.testsRun == 1
    assert not result.errors and not result.failures, (result.errors, result.failures)


def test_a_program_of_tests_runs_by_main(tmp_path: Path) -> None:
    text = """
import tensorflow as tf
class SquareTest(tf.test.TestCase):
    def testSquare(self):
        with self.test_session():
            self.assertAllEqual(tf.square([2, 3]).eval(), [4, 9])
    def testWrong(self):
        self.assertAllEqual([1], [2])
if __name__ == "__main__":
    tf.test.main()
"""
    done = program(tmp_path, text)
    assert done.returncode == 1 and "Ran 2 tests" in done.stderr and "testWrong" in done.stderr
    done = program(tmp_path, text, "SquareTest.testSquare")
    assert done.returncode == 0 and "Ran 1 test" in done.stderr


@TARGETS
def test_gradients_are_compared_with_differences(target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target):
        x = tf.placeholder(tf.float64, [2, 3])
        w = tf.constant(np.arange(6.0).reshape(3, 2))
        y = tf.matmul(x * x, w)
        start = np.arange(6.0).reshape(2, 3) / 10
        one, two = tf.test.compute_gradient(x, [2, 3], y, [2, 2], start)
        assert one.shape == two.shape == (6, 4)
        np.testing.assert_allclose(one[1], [2 * 0.1 * 2, 2 * 0.1 * 3, 0, 0])
        np.testing.assert_allclose(two, one, atol=1e-8)
        assert tf.test.compute_gradient_error(x, [2, 3], y, [2, 2], start) < 1e-8
        wrong = tf.custom_gradient(lambda v: (v * v, lambda dy: dy))(x)
        assert tf.test.compute_gradient_error(x, [2, 3], wrong, [2, 3], start + 1) > 0.5
        pairs = tf.test.compute_gradient([x, w], [[2, 3], [3, 2]], y, [2, 2])
        assert [a.shape for a, _ in pairs] == [(6, 4), (6, 4)]


def test_there_is_no_gpu() -> None:
    assert not tf.test.is_gpu_available() and not tf.test.is_built_with_cuda()
    assert tf.test.gpu_device_name() == "" and os.path.isdir(tf.test.get_temp_dir())


# ---- templates and coordinators ----


@TARGETS
def test_a_template_shares_its_variables(target: str) -> None:
    def scaled(x: Any, initial: float) -> Any:
        return x * tf.get_variable("w", initializer=initial)

    with tf.Graph().as_default(), tf.Session(target) as session:
        template = tf.make_template("scale", scaled, initial=3.0)
        other = tf.make_template("scale", scaled, initial=5.0, create_scope_now_=True)
        assert template.variable_scope is None and other.variable_scope_name == "scale/"
        a, b = template(tf.constant(1.0)), template(tf.constant(2.0))
        assert [v.name for v in template.variables] == ["scale_1/w:0"]
        c = other(1.0)
        session.run(tf.global_variables_initializer())
        assert session.run([a, b, c]) == [3, 6, 5]
        bad_template = tf.make_template("bad", lambda: tf.Variable(1.0))
        bad_template()
        with pytest.raises(ValueError, match="after the first time.*tf.get_variable"):
            bad_template()


def test_threads_stop_together() -> None:
    coordinator = tf.train.Coordinator()
    counts = []

    def work(limit: int) -> None:
        with coordinator.stop_on_exception():
            for i in range(limit):
                if coordinator.should_stop():
                    return
                counts.append(i)
                time.sleep(0.001)
            raise ValueError("worker is done")

    threads = [threading.Thread(target=work, args=(n,)) for n in (5, 10**6)]
    for thread in threads:
        thread.start()
    with pytest.raises(ValueError, match="worker is done"):
        coordinator.join(threads)
    assert not any(t.is_alive() for t in threads) and coordinator.joined
    coordinator.clear_stop()
    assert not coordinator.should_stop()
    coordinator.request_stop(tf.errors.OutOfRangeError(None, None, "end"))
    assert coordinator.wait_for_stop(1)
    coordinator.join([])
    with pytest.raises(ValueError, match="No default session"):
        tf.train.start_queue_runners(coord=coordinator)
    with tf.Session():
        assert tf.train.start_queue_runners(coord=coordinator) == []


def test_threads_that_do_not_stop_are_reported() -> None:
    coordinator, end = tf.train.Coordinator(), threading.Event()
    thread = threading.Thread(target=end.wait, name="stubborn")
    thread.start()
    coordinator.register_thread(thread)
    coordinator.request_stop()
    with pytest.raises(RuntimeError, match="still running: stubborn"):
        coordinator.join(stop_grace_period_secs=0.05)
    end.set()
    thread.join()


def test_a_looper_calls_its_function_until_the_coordinator_stops() -> None:
    def count(left: list[int], coordinator: tf.train.Coordinator) -> None:
        left[0] -= 1
        if left[0] == 0:
            coordinator.request_stop()

    for interval in (None, 0.0):
        coordinator, left = tf.train.Coordinator(), [3]
        thread = tf.train.LooperThread.loop(
            coordinator, interval, count, args=(left,), kwargs={"coordinator": coordinator}
        )
        coordinator.join()
        assert left == [0] and not thread.is_alive()


def test_a_looper_hands_its_error_to_the_coordinator() -> None:
    class Own(tf.train.LooperThread):
        def run_loop(self) -> None:
            raise KeyError("lost")

    coordinator = tf.train.Coordinator()
    Own(coordinator, None).start()
    with pytest.raises(KeyError, match="lost"):
        coordinator.join()
    with pytest.raises(ValueError, match="must be a Coordinator"):
        tf.train.LooperThread(3, None)
