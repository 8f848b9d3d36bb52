"""tf.contrib.summary: what operations write by themselves; the projector's file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from google.protobuf import text_format

import graphio as tf
from graphio.contrib import summary as cs
from graphio.contrib.tensorboard.plugins import projector

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])

#: of the program below, by TensorFlow 2.21 (tensorflow.python.ops.summary_ops_v2): whether each of
#: its operations wrote, in an even and in an odd step
EVEN = [True, True, True, True, False, True, True, True]
ODD = [False, False, True, True, False, False, False, False]
#: and what it wrote: step, tag, kind, a number or the message's sizes
WRITTEN = [
    (0, "a", "simple_value", 5.0),
    (0, "a_1", "simple_value", 0.0),
    (0, "f/s/f/h", "histo", (3.0, 5.0, 0.0, [0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0])),
    (0, "i/image/0", "image", (1, 1, 1)),
    (0, "i/image/1", "image", (1, 1, 1)),
    (0, "i/image/2", "image", (1, 1, 1)),
    (0, "one/image", "image", (1, 1, 1)),
    (0, "snd/audio", "audio", (8000.0, 3)),
    (1, "a_1", "simple_value", 1.0),
    (2, "a", "simple_value", 7.0),
    (2, "a_1", "simple_value", 2.0),
    (2, "f/s/f/h", "histo", (3.0, 7.0, 2.0, [0.0, 2.0, 0.0, 1.0, 0.0])),
    (2, "i/image/0", "image", (1, 1, 1)),
    (2, "i/image/1", "image", (1, 1, 1)),
    (2, "i/image/2", "image", (1, 1, 1)),
    (2, "one/image", "image", (1, 1, 1)),
    (2, "snd/audio", "audio", (8000.0, 3)),
    (3, "a_1", "simple_value", 3.0),
    (7, "g", "tensor", [0.0, 2.0, 3.0]),
    (7, "g", "tensor", [1.0, 2.0, 3.0]),
    (7, "g", "tensor", [2.0, 2.0, 3.0]),
    (7, "g", "tensor", [3.0, 2.0, 3.0]),
]


@pytest.fixture(autouse=True)
def a_graph_of_its_own() -> Iterator[None]:
    with tf.Graph().as_default():
        yield


def events(folder: Path) -> list[Any]:
    return [e for f in sorted(folder.glob("events*")) for e in tf.train.summary_iterator(str(f))]


def shown(value: Any) -> Any:
    """The part of a value that WRITTEN has."""
    kind = value.WhichOneof("value")
    if kind == "simple_value":
        return value.simple_value
    if kind == "histo":
        histogram = value.histo
        return histogram.num, histogram.sum, histogram.min, list(histogram.bucket)
    if kind == "image":
        return value.image.height, value.image.width, value.image.colorspace
    if kind == "audio":
        return value.audio.sample_rate, value.audio.length_frames
    return np.frombuffer(value.tensor.tensor_content, np.float32).tolist()


@TARGETS
def test_what_is_written_is_what_tensorflow_writes(tmp_path: Path, target: str) -> None:
    step = tf.train.get_or_create_global_step()
    x = tf.placeholder(tf.float32, [3])
    pixels = tf.reshape(x, [3, 1, 1, 1])
    writer = cs.create_file_writer(str(tmp_path))
    with writer.as_default(), cs.record_summaries_every_n_global_steps(2):
        cs.scalar("a", tf.reduce_sum(x))
        with tf.name_scope("s"):
            cs.histogram("h", x, family="f")
        with cs.always_record_summaries():
            cs.generic("g", x, step=7)
            cs.scalar("a", x[0])
        with cs.never_record_summaries():
            cs.scalar("never", x[0])
        cs.image("i", pixels)
        cs.image("one", pixels, max_images=1)
        cs.audio("snd", tf.reshape(x, [1, 3]), 8000.0, 1)
        increased = tf.assign_add(step, 1)
        with tf.Session(target) as session:
            session.run(tf.global_variables_initializer())
            cs.initialize(graph=tf.get_default_graph())
            for i in range(4):
                assert session.run(cs.all_summary_ops(), {x: [i, 2, 3]}) == [EVEN, ODD][i % 2]
                session.run(increased)
    found = events(tmp_path)
    assert [e.WhichOneof("what") for e in found[:2]] == ["file_version", "graph_def"]
    rows = [
        (e.step, v.tag, v.WhichOneof("value"), shown(v)) for e in found for v in e.summary.value
    ]
    assert sorted(rows, key=str) == sorted(WRITTEN, key=str)


def test_without_a_writer_or_outside_of_a_recording_context_nothing_is_written(
    tmp_path: Path,
) -> None:
    assert cs.scalar("a", 1.0).outputs == []
    assert cs.all_summary_ops() == []
    with cs.create_file_writer(None).as_default():
        assert cs.scalar("a", 1.0).outputs == []
    with cs.create_file_writer(str(tmp_path)).as_default(), tf.Session() as session:
        written = cs.scalar("a", 1.0, step=0)
        assert not session.run(written)
        assert not session.run(cs.should_record_summaries())
        with cs.always_record_summaries():
            assert session.run(cs.should_record_summaries())


def test_writers_of_one_folder_are_one_file_which_flush_fills(tmp_path: Path) -> None:
    with tf.Session() as session, cs.always_record_summaries():
        for value in (1.0, 2.0):
            with cs.create_file_writer(str(tmp_path), filename_suffix=".mine").as_default():
                cs.scalar("x", value, step=5)
                flush = cs.flush()
        session.run(cs.summary_writer_initializer_op())
        session.run(cs.all_summary_ops())
        session.run(flush)
        (file,) = tmp_path.iterdir()
        assert file.name.endswith(".mine")
        found = [v.simple_value for e in events(tmp_path) for v in e.summary.value]
    assert sorted(found) == [1.0, 2.0]


def test_a_writer_that_is_not_open_is_an_error_that_says_what_to_run(tmp_path: Path) -> None:
    writer = cs.create_file_writer(str(tmp_path))
    with writer.as_default(), cs.always_record_summaries():
        written = cs.scalar("x", 1.0, step=5)
    with tf.Session() as session:
        with pytest.raises(tf.errors.NotFoundError, match="run tf.contrib.summary.initialize"):
            session.run(written)
        session.run(writer.init())
        session.run(written)
        session.run(writer.close())
        with pytest.raises(tf.errors.NotFoundError, match="does not exist"):
            session.run(written)


def test_events_and_graphs_are_written_from_tensors(tmp_path: Path) -> None:
    event = tf.Event(step=3, summary=tf.Summary(value=[tf.Summary.Value(tag="t", simple_value=2)]))
    with cs.create_file_writer(str(tmp_path)).as_default(), tf.Session() as session:
        content = tf.constant(tf.get_default_graph().as_graph_def().SerializeToString())
        operations = [cs.import_event(event.SerializeToString()), cs.graph(content, step=4)]
        cs.initialize()
        for operation in operations:
            session.run(operation)
        with pytest.raises(TypeError, match=r"graph\(\) needs a tf.Tensor"):
            cs.graph(tf.get_default_graph())
    found = events(tmp_path)
    assert [(e.step, e.WhichOneof("what")) for e in found[1:]] == [(3, "summary"), (4, "graph_def")]


def test_initialize_needs_a_writer_and_a_session(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="No default"):
        cs.initialize()
    with cs.create_file_writer(str(tmp_path)).as_default():
        with pytest.raises(ValueError, match="session must be passed"):
            cs.initialize()
        with pytest.raises(NotImplementedError, match="bad_color"):
            cs.image("i", tf.zeros([1, 1, 1, 1]), bad_color=[0, 0, 0, 255])


def test_the_folder_of_an_evaluation_is_in_that_of_the_model() -> None:
    assert (cs.eval_dir("m"), cs.eval_dir("m", "x")) == ("m/eval", "m/eval_x")


def test_the_projectors_file_is_read_by_tensorboards_messages(tmp_path: Path) -> None:
    of_tensorboard = pytest.importorskip("tensorboard.plugins.projector.projector_config_pb2")
    config = projector.ProjectorConfig()
    embedding = config.embeddings.add()
    embedding.tensor_name, embedding.metadata_path = "words:0", "words.tsv"
    embedding.sprite.image_path = "sprite.png"
    embedding.sprite.single_image_dim.extend([28, 28])
    with tf.summary.FileWriter(str(tmp_path)) as writer:
        projector.visualize_embeddings(writer, config)
    text = (tmp_path / "projector_config.pbtxt").read_text()
    read = text_format.Parse(text, of_tensorboard.ProjectorConfig())
    assert read.embeddings[0].tensor_name == "words:0"
    assert list(read.embeddings[0].sprite.single_image_dim) == [28, 28]
    assert read.SerializeToString() == config.SerializeToString()
