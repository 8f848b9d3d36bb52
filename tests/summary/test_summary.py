"""tf.summary: what the operations give, and files as the tensorboard package reads them."""

from __future__ import annotations

import builtins
import io
import wave
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphio as tf
from graphio.data import records

TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


@pytest.fixture(autouse=True)
def a_graph_of_its_own() -> Any:
    with tf.Graph().as_default():
        yield


def shown(operation: Any, target: str = "", feeds: Any = None) -> Any:
    """The values of the Summary that an operation gives."""
    with tf.Session(target) as session:
        content = session.run(operation, feeds)
    assert isinstance(content, bytes)
    return list(tf.Summary.FromString(content).value)


# ---- operations ----


@TARGETS
def test_a_scalar_is_tagged_with_its_scopes_and_name(target: str) -> None:
    x = tf.placeholder(tf.float64, [])
    with tf.name_scope("train"):
        op = tf.summary.scalar("loss", x)
    again = tf.summary.scalar("the loss", tf.constant(7), family="all")
    assert op.name == "train/loss:0" and op.op.type == "ScalarSummary" and op.dtype == tf.string
    assert tf.get_collection(tf.GraphKeys.SUMMARIES) == [op, again]
    (value,) = shown(op, target, {x: 2.5})
    assert (value.tag, value.simple_value) == ("train/loss", 2.5)
    (value,) = shown(again, target)
    assert (value.tag, value.simple_value) == ("all/all/the_loss", 7)


@TARGETS
def test_summaries_of_a_collection_merge(target: str) -> None:
    assert tf.summary.merge_all() is None
    a = tf.summary.scalar("a", 1.0)
    tf.summary.scalar("b", 2.0)
    own = tf.summary.scalar("own", 3.0, collections=["mine"])
    whole = tf.summary.merge([tf.summary.merge_all(), own])
    found = [(v.tag, v.simple_value) for v in shown(whole, target)]
    assert found == [("a", 1), ("b", 2), ("own", 3)]
    assert [v.tag for v in shown(tf.summary.merge_all("mine"), target)] == ["own"]
    assert [v.tag for v in shown(tf.summary.merge_all(scope="b"), target)] == ["b"]
    with pytest.raises(tf.errors.InvalidArgumentError, match="Duplicate tag a"):
        shown(tf.summary.merge([a, a]), target)


@TARGETS
def test_a_histogram_counts_values_in_buckets(target: str) -> None:
    x = np.concatenate([np.random.RandomState(0).randn(1000), [0.0, 1e30, -1e30]])
    (value,) = shown(tf.summary.histogram("h", tf.constant(x)), target)
    found = value.histo
    assert (value.tag, found.num, found.min, found.max) == ("h", len(x), -1e30, 1e30)
    assert found.sum == pytest.approx(x.sum()) and found.sum_squares == pytest.approx((x**2).sum())
    limits, counts = np.array(found.bucket_limit), np.array(found.bucket)
    assert np.all(np.diff(limits) > 0)
    edges = np.concatenate([[-np.inf], limits])
    want = [np.sum((x >= low) & (x < high)) for low, high in zip(edges, edges[1:], strict=False)]
    assert counts.tolist() == want and counts.sum() == len(x)
    assert not np.any((counts[1:] == 0) & (counts[:-1] == 0))  # a run of empty ones is one
    inside = limits[(limits > 0) & (limits < 10)]
    pairs = inside[1:][counts[limits.searchsorted(inside[1:])] > 0]
    before = limits[limits.searchsorted(pairs) - 1]
    np.testing.assert_allclose(pairs / before, 1.1, rtol=1e-9)


@pytest.mark.parametrize("bad, word", [(np.nan, "Nan"), (np.inf, "Infinity")])
def test_a_histogram_of_what_is_no_number_is_refused(bad: float, word: str) -> None:
    x = tf.placeholder(tf.float32, [None])
    op = tf.summary.histogram("weights", x)
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"{word} in summary histogram for: w"):
        shown(op, "", {x: [1, bad]})


def pixels_of(png: bytes) -> np.ndarray:
    """An independent reader of PNG files whose rows have no filter."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    position, parts = 8, {}
    while position < len(png):
        size = int.from_bytes(png[position : position + 4], "big")
        name, data = png[position + 4 : position + 8], png[position + 8 : position + 8 + size]
        assert zlib.crc32(name + data) == int.from_bytes(png[position + 8 + size :][:4], "big")
        parts[name], position = data, position + 12 + size
    width, height = (int.from_bytes(parts[b"IHDR"][i : i + 4], "big") for i in (0, 4))
    channels = {0: 1, 2: 3, 6: 4}[parts[b"IHDR"][9]]
    rows = np.frombuffer(zlib.decompress(parts[b"IDAT"]), np.uint8).reshape(height, -1)
    assert not rows[:, 0].any()
    return rows[:, 1:].reshape(height, width, channels)


@TARGETS
@pytest.mark.parametrize("channels", [1, 3, 4])
def test_images_are_png_files(target: str, channels: int) -> None:
    images = np.random.RandomState(1).randint(0, 256, (4, 5, 6, channels)).astype(np.uint8)
    values = shown(tf.summary.image("digits", images, max_outputs=2), target)
    assert [v.tag for v in values] == ["digits/image/0", "digits/image/1"]
    for value, image in zip(values, images, strict=False):
        assert (value.image.height, value.image.width, value.image.colorspace) == (5, 6, channels)
        np.testing.assert_array_equal(pixels_of(value.image.encoded_image_string), image)
    assert [v.tag for v in shown(tf.summary.image("one", images, 1), target)] == ["one/image"]


@pytest.mark.parametrize("channels, mode", [(1, "L"), (3, "RGB"), (4, "RGBA")])
def test_tensorboard_and_pillow_read_the_images(channels: int, mode: str, tmp_path: Path) -> None:
    accumulators = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    image = pytest.importorskip("PIL.Image")
    x = tf.placeholder(tf.uint8, [None, None, None, channels])
    shapes = [(1, 1), (1, 300), (33, 7)]
    sent = [np.random.RandomState(i).randint(0, 256, (1, *shape, channels)).astype(np.uint8)
            for i, shape in enumerate(shapes)]  # fmt: skip
    op = tf.summary.image("seen", x, max_outputs=1)
    with tf.Session() as session, tf.summary.FileWriter(str(tmp_path)) as writer:
        for step, images in enumerate(sent):
            writer.add_summary(session.run(op, {x: images}), step)
    found = accumulators.EventAccumulator(str(tmp_path), {"images": 0}).Reload()
    events = found.Images("seen/image")
    assert [event.step for event in events] == [0, 1, 2]
    for event, images in zip(events, sent, strict=True):
        decoded = image.open(io.BytesIO(event.encoded_image_string))
        assert decoded.mode == mode and decoded.size == (event.width, event.height)
        pixels = np.asarray(decoded).reshape(images[0].shape)
        np.testing.assert_array_equal(pixels, images[0])


def test_images_of_floats_are_scaled() -> None:
    images = np.zeros((3, 1, 3, 3), np.float32)
    images[0, 0, 1:] = [[0.5] * 3, [0.25] * 3]
    images[1, 0, :2] = [[-2] * 3, [1] * 3]
    images[2, 0, 1, 2], images[2, 0, 2] = np.nan, 3
    values = shown(tf.summary.image("f", images))
    found = [pixels_of(v.image.encoded_image_string)[0].tolist() for v in values]
    assert found[0] == [[0] * 3, [255] * 3, [127] * 3]
    assert found[1] == [[1] * 3, [191] * 3, [128] * 3]
    assert found[2] == [[0] * 3, [255, 0, 0], [255] * 3]


@TARGETS
def test_audio_and_text_summaries(target: str) -> None:
    sound = np.float32([[[0.0], [1.0], [-1.0], [2.0]]])
    (value,) = shown(tf.summary.audio("s", sound, 8000.0, max_outputs=1), target)
    assert value.tag == "s/audio" and value.audio.content_type == "audio/wav"
    with wave.open(io.BytesIO(value.audio.encoded_audio_string)) as file:
        assert (file.getframerate(), file.getnchannels(), file.getsampwidth()) == (8000, 1, 2)
        frames = np.frombuffer(file.readframes(10), "<i2")
    assert frames.tolist() == [0, 32767, -32767, 32767]
    (value,) = shown(tf.summary.text("t", tf.constant(["a *b*", "c"])), target)
    assert value.tag == "t" and value.metadata.plugin_data.plugin_name == "text"
    assert list(value.tensor.string_val) == [b"a *b*", b"c"] and value.tensor.dtype == 7


@TARGETS
def test_summaries_of_an_imported_graph_run(target: str) -> None:
    tf.summary.merge([tf.summary.scalar("a", tf.placeholder(tf.float32, [], name="x"))], name="all")
    saved = tf.get_default_graph().as_graph_def()
    with tf.Graph().as_default():
        tf.summary.scalar("own", 1.0)
        x, op = tf.import_graph_def(saved, return_elements=["x:0", "all/all:0"])
        assert [v.simple_value for v in shown(op, target, {x: 3.0})] == [3]


def test_what_a_summary_cannot_show_is_refused() -> None:
    before = tf.constant("x")
    with pytest.raises(TypeError, match="string"):
        tf.summary.scalar("s", before)
    with pytest.raises(ValueError, match="at least one"):
        tf.summary.merge([])
    assert tf.get_default_graph().get_operations() == [before.op]
    assert tf.summary.merge_all() is None
    with pytest.raises(TypeError, match="uint8 or floats"):
        tf.summary.image("i", tf.zeros([1, 2, 2, 3], tf.int32))
    with pytest.raises(ValueError, match="rank 4 but is rank 2"):
        tf.summary.image("i", tf.zeros([2, 2]))
    with pytest.raises(ValueError, match="max_outputs"):
        tf.summary.image("i", tf.zeros([1, 2, 2, 3]), max_outputs=0)
    with pytest.raises(ValueError, match="dtype string, got float32"):
        tf.summary.text("t", tf.constant(1.0))
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"not the same shape: \[\] != \[2\]"):
        shown(tf.summary.scalar("v", tf.constant([1.0, 2.0])))
    with pytest.raises(tf.errors.InvalidArgumentError, match="last dim 1, 3, or 4"):
        shown(tf.summary.image("i", tf.zeros([1, 2, 2, 5])))


# ---- files ----


def events(folder: Path) -> list[Any]:
    loader = pytest.importorskip("tensorboard.backend.event_processing.event_file_loader")
    (path,) = folder.glob("events.out.tfevents.*")
    return list(loader.LegacyEventFileLoader(str(path)).Load())


@TARGETS
def test_a_training_run_can_be_read_by_tensorboard(target: str, tmp_path: Path) -> None:
    accumulators = pytest.importorskip("tensorboard.backend.event_processing.event_accumulator")
    with tf.Session(target) as session:
        w = tf.Variable(2.0, name="w")
        loss = tf.square(w)
        step = tf.train.GradientDescentOptimizer(0.25).minimize(loss)
        tf.summary.scalar("loss", loss)
        tf.summary.histogram("weights", tf.stack([w, 2.0 * w]))
        tf.summary.image("picture", tf.zeros([1, 2, 2, 1]))
        tf.summary.text("note", tf.constant("hello"))
        merged = tf.summary.merge_all()
        session.run(tf.global_variables_initializer())
        with tf.summary.FileWriter(str(tmp_path), session.graph) as writer:
            for i in range(4):
                content, _ = session.run([merged, step])
                writer.add_summary(content, i)
            own = tf.Summary.Value(tag="own", simple_value=9)
            writer.add_summary(tf.Summary(value=[own]), 5)
    everything = dict.fromkeys(accumulators.DEFAULT_SIZE_GUIDANCE, 0)
    found = accumulators.EventAccumulator(str(tmp_path), everything).Reload()
    curve = [(e.step, e.value) for e in found.Scalars("loss")]
    assert curve == [(0, 4), (1, 1), (2, 0.25), (3, 0.0625)]
    assert [(e.step, e.value) for e in found.Scalars("own")] == [(5, 9)]
    assert [h.histogram_value.max for h in found.Histograms("weights")] == [4, 2, 1, 0.5]
    assert found.Images("picture/image/0")[0].width == 2
    assert found.Tensors("note")[0].tensor_proto.string_val == [b"hello"]
    nodes = {n.name: n for n in found.Graph().node}
    assert set(nodes) == {o.name for o in tf.get_default_graph().get_operations()}
    assert nodes["Square"].op == "Square" and list(nodes["Square"].input) == ["w/read"]
    assert nodes["w/Assign"].attr["T"].type == 1


@TARGETS
def test_the_times_of_a_run_can_be_read_by_tensorboard(target: str, tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.compat.proto import config_pb2

    metadata = tf.RunMetadata()
    x = tf.placeholder(tf.float64, [2], name="x")
    with tf.Session(target) as session:
        options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
        session.run(tf.exp(x, name="exp"), {x: [1, 2]}, options, metadata)
    with tf.summary.FileWriter(str(tmp_path)) as writer:
        writer.add_run_metadata(metadata, "first", 3)
        with pytest.raises(ValueError, match="tag was already used"):
            writer.add_run_metadata(metadata, "first")
    (event,) = [e for e in events(tmp_path) if e.tagged_run_metadata.tag]
    assert (event.step, event.tagged_run_metadata.tag) == (3, "first")
    found = config_pb2.RunMetadata.FromString(event.tagged_run_metadata.run_metadata)
    nodes = {n.node_name: n for d in found.step_stats.dev_stats for n in d.node_stats}
    assert nodes["exp"].all_start_micros > 0
    for output in nodes["exp"].output:  # the C library tells no shapes
        shape = [d.size for d in output.tensor_description.shape.dim]
        assert output.tensor_description.dtype == 2 and shape == [2]  # DT_DOUBLE


def test_a_graph_shows_control_edges_bodies_and_shapes(tmp_path: Path) -> None:
    graph_pb2 = pytest.importorskip("tensorboard.compat.proto.graph_pb2")
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    parts = tf.split(x, 3, axis=1, name="parts")
    with tf.control_dependencies([tf.no_op(name="before")]):
        last = tf.identity(parts[2], name="last")
    tf.cond(tf.reduce_sum(last) > 0, lambda: tf.exp(x, name="inside"), lambda: x, name="choice")
    with tf.summary.FileWriter(str(tmp_path)) as writer:
        writer.add_graph(tf.get_default_graph())
    (content,) = [e.graph_def for e in events(tmp_path) if e.graph_def]
    nodes = {n.name: n for n in graph_pb2.GraphDef.FromString(content).node}
    assert list(nodes["last"].input) == ["parts:2", "^before"]
    shape = nodes["x"].attr["_output_shapes"].list.shape[0]
    assert [d.size for d in shape.dim] == [-1, 3]
    inside = next(n for name, n in nodes.items() if name.endswith("inside"))
    assert list(inside.input) == ["x"]
    known = set(nodes)
    for node in nodes.values():
        assert {i.lstrip("^").split(":")[0] for i in node.input} <= known


def test_a_closed_writer_warns_and_can_be_reopened(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    writer = tf.summary.FileWriter(tmp_path)
    summary = tf.Summary(value=[tf.Summary.Value(tag="a", simple_value=1)])
    assert writer.get_logdir() == str(tmp_path)
    writer.add_event(tf.Event(step=3, summary=summary))
    writer.flush()
    assert [e.step for e in events(tmp_path) if e.summary.value] == [3]
    writer.close()
    with pytest.warns(UserWarning, match="closed FileWriter"):
        writer.add_summary(summary, 4)
    writer.reopen()
    writer.add_summary(summary, 5)
    writer.close()
    files = sorted(tmp_path.iterdir())
    steps = [e.step for f in files for e in tf.train.summary_iterator(str(f)) if e.summary.value]
    assert len(files) == 2 and sorted(steps) == [3, 5]
    with pytest.raises(TypeError, match="must be an instance of `Graph`"):
        writer.add_graph("graph")


def test_the_cache_has_one_writer_a_folder(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    cache = tf.summary.FileWriterCache
    writer = cache.get(str(tmp_path))
    assert cache.get(str(tmp_path)) is writer
    cache.clear()
    assert cache.get(str(tmp_path)) is not writer
    cache.clear()


def test_a_relative_folder_is_that_of_its_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("tensorboard")
    for name in ("here", "there"):
        (tmp_path / name).mkdir()
    monkeypatch.chdir(tmp_path / "here")
    cache = tf.summary.FileWriterCache
    with tf.summary.FileWriter("logs") as writer:
        cached = cache.get("cached")
        monkeypatch.chdir(tmp_path / "there")
        writer.close()
        writer.reopen()
        assert cache.get("cached") is not cached and writer.get_logdir() == "logs"
    cache.clear()
    assert len(list((tmp_path / "here" / "logs").iterdir())) == 2
    assert [p.name for p in (tmp_path / "there").iterdir()] == ["cached"]


def test_without_tensorboard_a_writer_says_what_to_install(
    monkeypatch: Any, tmp_path: Path
) -> None:
    real = builtins.__import__

    def without(name: str, *arguments: Any) -> Any:
        if name.split(".")[0] == "tensorboard":
            raise ImportError("no module")
        return real(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", without)
    assert shown(tf.summary.scalar("a", 1.0))[0].simple_value == 1
    with pytest.raises(ImportError, match=r"pip install .*'\.\[tensorboard\]'"):
        tf.summary.FileWriter(str(tmp_path))


def test_a_damaged_event_file_gives_the_events_before_the_damage(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    with tf.summary.FileWriter(str(tmp_path)) as writer:
        for step in range(3):
            value = tf.Summary.Value(tag="a", simple_value=1.0)
            writer.add_summary(tf.Summary(value=[value]), step)
    (file,) = tmp_path.iterdir()
    content = file.read_bytes()
    for damaged in (content[:-1], content[:-20] + b"\0" + content[-19:]):
        file.write_bytes(damaged)
        events = tf.train.summary_iterator(str(file))
        assert [next(events).step for _ in range(3)] == [0, 0, 1]
        with pytest.raises(tf.errors.DataLossError):
            next(events)


def tags(file: Path) -> list[str]:
    found = list(tf.train.summary_iterator(str(file)))
    return [value.tag for event in found for value in event.summary.value]


def test_writers_of_one_session_and_folder_share_a_file(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")

    def write(session: tf.Session, folder: str, tag: str) -> tf.summary.FileWriter:
        writer = tf.summary.FileWriter(tmp_path / folder, session=session)
        writer.add_summary(tf.Summary(value=[tf.Summary.Value(tag=tag, simple_value=1)]))
        return writer

    with tf.Session() as one, tf.Session() as other:
        a, b, c = write(one, "x", "a"), write(one, "x", "b"), write(other, "x", "c")
        d = write(one, "y", "d")
        a.close()
        b.add_session_log(tf.SessionLog(status=tf.SessionLog.STOP), 7)
        for writer in (b, c, d):
            writer.close()
        write(one, "x", "e").close()
    assert sorted(map(tags, (tmp_path / "x").iterdir())) == [["a", "b"], ["c"], ["e"]]
    assert [tags(file) for file in (tmp_path / "y").iterdir()] == [["d"]]
    logs = [e for f in (tmp_path / "x").iterdir() for e in tf.train.summary_iterator(str(f))]
    assert [(e.step, e.session_log.status) for e in logs if e.session_log.status] == [(7, 2)]
    with pytest.raises(TypeError, match="expected a tf.Session"):
        tf.summary.FileWriter(tmp_path, session="session")


def test_a_writer_takes_a_graph_or_its_graph_def_not_both(tmp_path: Path) -> None:
    graph_pb2 = pytest.importorskip("tensorboard.compat.proto.graph_pb2")
    tf.add(tf.constant(1.0, name="x"), 2.0, name="sum")
    graph = tf.get_default_graph()
    tf.summary.FileWriter(tmp_path, graph_def=graph.as_graph_def()).close()
    (content,) = [e.graph_def for e in events(tmp_path) if e.graph_def]
    names = [n.name for n in graph_pb2.GraphDef.FromString(content).node]
    assert names == [o.name for o in graph.get_operations()]
    with pytest.raises(ValueError, match="not both"):
        tf.summary.FileWriter(tmp_path, graph, graph_def=graph.as_graph_def())


def test_a_file_says_once_what_a_tag_is_for(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    value = tf.Summary.Value(tag="note", simple_value=1)
    value.metadata.plugin_data.plugin_name = "own"
    with tf.summary.FileWriter(tmp_path) as writer:
        for step in range(2):
            writer.add_summary(tf.Summary(value=[value]), step)
    found = [v for e in events(tmp_path) for v in e.summary.value]
    assert [v.HasField("metadata") for v in found] == [True, False]


def test_a_summary_may_have_no_tag_and_a_sound_needs_one_rate() -> None:
    with tf.name_scope("around"):
        bare = tf.summary.scalar("", 1.0)
    assert bare.op.name == "ScalarSummary"
    with tf.Session() as session:
        assert tf.Summary.FromString(session.run(bare)).value[0].tag == ""
        for rate in ([1.0, 2.0], 0.0, float("nan"), float("inf")):
            with pytest.raises(tf.errors.InvalidArgumentError, match="scalar above 0"):
                session.run(tf.summary.audio("", [[1.0]], rate))


def test_a_sound_that_no_wav_file_holds_is_refused() -> None:
    with tf.Session() as session:
        for shape, rate in [((1, 0), 1.0), ((1, 2, 0), 1.0), ((1, 1, 1 << 16), 1.0), ((1, 1), 3e9)]:
            with pytest.raises(tf.errors.InvalidArgumentError, match="a WAV file cannot hold"):
                session.run(tf.summary.audio("s", np.zeros(shape, np.float32), rate))
        none = session.run(tf.summary.audio("s", np.zeros((0, 0), np.float32), 1.0))
        assert not tf.Summary.FromString(none).value


def test_events_that_come_after_the_end_are_read_when_requested_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("tensorboard")
    read = records.read_record
    offsets: list[int] = []

    def noted(file: Any, path: str, offset: int) -> bytes | None:
        offsets.append(offset)
        return read(file, path, offset)

    monkeypatch.setattr(records, "read_record", noted)
    with tf.summary.FileWriter(tmp_path) as writer:
        writer.add_session_log(tf.SessionLog(status=tf.SessionLog.START), 1)
        writer.flush()
        (file,) = tmp_path.iterdir()
        found = tf.train.summary_iterator(str(file))
        assert [event.step for event in found] == [0, 1] and list(found) == []
        writer.add_session_log(tf.SessionLog(status=tf.SessionLog.STOP), 2)
        writer.flush()
        assert [event.step for event in found] == [2]
    assert offsets.count(0) == 1  # events are read once


def test_a_merged_summary_has_the_name_that_tensorflow_gives_it() -> None:
    with tf.Graph().as_default():
        one = tf.summary.scalar("loss", 1.0)
        names = [tf.summary.merge([one]).name, tf.summary.merge_all().name]
        assert names == ["Merge/MergeSummary:0", "Merge_1/MergeSummary:0"]
        assert tf.summary.merge([one], name="all").name == "all/all:0"
