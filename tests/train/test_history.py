"""tf.train.History: numbers of a training, recorded or read from logs, and their curves."""

from __future__ import annotations

import builtins
import json
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphio as tf

History = tf.train.History


def listed(history: tf.train.History) -> dict[str, list[tuple[int, float]]]:
    found = {}
    for name in history.names:
        steps, values = history[name]
        found[name] = list(zip(steps.tolist(), values.tolist(), strict=True))
    return found


def recorded() -> tf.train.History:
    history = History()
    for step in range(1, 6):
        history.add(step, loss=1 / step)
        if step % 2 == 0:
            history.add(step, {"test accuracy": np.float32(step / 8)})
    return history


# ---- recording ----


def test_numbers_are_known_by_name_and_step() -> None:
    history = recorded()
    assert history.names == ["loss", "test accuracy"]
    assert listed(history)["loss"] == [(s, 1 / s) for s in range(1, 6)]
    assert listed(history)["test accuracy"] == [(2, 0.25), (4, 0.5)]
    assert repr(history) == "<tf.train.History {loss: 5, test accuracy: 2}>"
    with pytest.raises(KeyError, match=r"no 'los' in the history; there are \['loss', 'test"):
        history["los"]
    with pytest.raises(TypeError, match="'loss' is array.*, expected a number"):
        history.add(6, loss=np.zeros(2))


def test_a_history_is_read_like_a_mapping() -> None:
    history = recorded()
    assert "loss" in history and "los" not in history and 0 not in history
    assert list(history) == ["loss", "test accuracy"] and len(history) == 2
    assert history.at(4) == {"loss": 0.25, "test accuracy": 0.5} and history.at(9) == {}
    assert "loss" not in History() and list(History()) == [] and len(History()) == 0


def test_a_step_that_is_made_again_replaces_what_was() -> None:
    history = recorded()
    history.add(3, loss=7)
    assert listed(history)["loss"][2] == (3, 7) and len(history["loss"].steps) == 5


def test_a_log_goes_on_after_a_kill(tmp_path: Path) -> None:
    path = tmp_path / "new" / "history.jsonl"
    first = History(path)
    first.add(1, loss=3.0)
    first.add(2, loss=2.0)
    with path.open("a") as file:  # no close: what is added is there at once, and a line is cut
        file.write('{"step": 3, "los')
    second = History(path)
    second.add(2, loss=2.5)
    second.add(3, loss=1.0, rate=0.1)
    second.close()
    want = {"loss": [(1, 3), (2, 2.5), (3, 1)], "rate": [(3, 0.1)]}
    assert listed(second) == listed(History.read(path)) == want
    assert all(json.loads(line) for line in path.read_text().splitlines())


def test_a_training_loop_records_its_metrics(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    found = []
    for steps in (3, 5):
        with tf.Graph().as_default():
            w = tf.Variable(8.0, name="w")
            train = tf.train.GradientDescentOptimizer(0.25).minimize(tf.square(w))
            options: Any = {"metrics": {"w": w, "both": tf.stack([w, w])}, "save_steps": 1}
            history = History(path)
            tf.train.train(train, str(tmp_path / "run"), steps, history=history, **options)
            found.append(listed(history))
            history.close()
    assert found == [
        {"w": [(1, 4), (2, 2), (3, 1)]},
        {"w": [(1, 4), (2, 2), (3, 1), (4, 0.5), (5, 0.25)]},
    ]


# ---- logs ----


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_what_is_saved_is_read_again(kind: str, tmp_path: Path) -> None:
    history = recorded()
    history.add(9, loss=float("nan"))
    history.save(tmp_path / f"h.{kind}")
    again = History.read(tmp_path / f"h.{kind}")
    assert repr(listed(again)) == repr(listed(history))  # NaN is not equal to itself


def test_logs_of_other_programs_are_read(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("epoch,loss,when\n1,0.5,monday\n2,,tuesday\n3,0.25,\n")
    read = History.read(tmp_path / "log.csv", step="epoch")
    assert listed(read) == {"loss": [(1, 0.5), (3, 0.25)]}
    (tmp_path / "log.jsonl").write_text('{"step": 1, "loss": 2, "who": "me"}\n\n{"step": 2.0}')
    assert listed(History.read(tmp_path / "log.jsonl")) == {"loss": [(1, 2)]}


def test_the_scalars_of_event_files_are_read(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [])
        merged = tf.summary.merge([tf.summary.scalar("loss", x), tf.summary.histogram("h", x)])
        for part in (range(3), range(2, 6)):  # a training that went on at step 2
            with tf.summary.FileWriter(str(tmp_path), filename_suffix=f".{part.stop}") as writer:
                for step in part:
                    writer.add_summary(session.run(merged, {x: step * part.stop}), step)
    want = {"loss": [(0, 0), (1, 3), (2, 12), (3, 18), (4, 24), (5, 30)]}
    assert listed(History.read(tmp_path)) == want
    last = max(tmp_path.iterdir(), key=lambda path: path.name)
    last.write_bytes(last.read_bytes()[:-3])  # as a kill leaves it
    assert listed(History.read(tmp_path)) == {"loss": want["loss"][:5]}
    assert listed(History.read(last))["loss"][0] == (2, 12)


def test_scalars_of_tensorflow_2_are_read(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard")
    from tensorboard.compat.proto import event_pb2
    from tensorboard.util import tensor_util

    event = event_pb2.Event(step=4)
    for tag, plugin in (("loss", "scalars"), ("weights", "histograms")):
        value = event.summary.value.add(tag=tag)
        value.tensor.CopyFrom(tensor_util.make_tensor_proto(np.float32(0.75)))
        value.metadata.plugin_data.plugin_name = plugin
    with tf.summary.FileWriter(str(tmp_path)) as writer:
        writer.add_event(event)
    assert listed(History.read(tmp_path)) == {"loss": [(4, 0.75)]}


def test_what_is_no_log_is_refused(tmp_path: Path) -> None:
    with pytest.raises(tf.errors.NotFoundError, match="no such file"):
        History.read(tmp_path / "none.csv")
    (tmp_path / "net.gio").write_bytes(b"no events")
    with pytest.raises(ValueError, match=r"net\.gio.*expected a \.csv or \.jsonl file, an event"):
        History.read(tmp_path / "net.gio")
    pytest.importorskip("tensorboard")
    with pytest.raises(tf.errors.NotFoundError, match="holds no event file"):
        History.read(tmp_path)
    path = tmp_path / "a.jsonl"
    for text, message in (
        ('{"step": 1}\nhello\n{"step": 2}\n', "line 2 is not JSON"),
        ("[1]\n", r"line 1 is \[1\], expected an object"),
        ('{"loss": 1}\n', r"line 1: there is no 'step'; there are \['loss'\].*step=\.\.\."),
        ('{"step": "x"}\n', "the step is 'x', expected a number"),
    ):
        path.write_text(text)
        with pytest.raises(ValueError, match=message):
            History.read(path)
        with pytest.raises(ValueError, match=message):
            History(path)
    with pytest.raises(ValueError, match=r"expected the name of a \.jsonl file"):
        History(tmp_path / "a.csv")
    with pytest.raises(ValueError, match=r"neither \.csv nor \.jsonl"):
        recorded().save(tmp_path / "a.txt")


# ---- pictures ----


def lines_of(axes: Any) -> list[tuple[list[float], list[float]]]:
    return [(list(line.get_xdata()), list(line.get_ydata())) for line in axes.get_lines()]


def test_a_picture_has_an_axis_a_name_and_the_values(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    figure = recorded().plot(tmp_path / "h.png", title="a training")
    assert (tmp_path / "h.png").read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"
    first, second = figure.axes
    assert (first.get_ylabel(), second.get_ylabel()) == ("loss", "test accuracy")
    assert first.get_title() == "a training" and first.get_legend() is None
    assert lines_of(second) == [([2, 4], [0.25, 0.5])]


def test_several_trainings_share_the_axes_smoothed_and_marked() -> None:
    pytest.importorskip("matplotlib")
    other = History()
    other.add(1, loss=5.0)
    figure = tf.train.plot_curves(
        {"one": recorded(), "two": other},
        names=["loss"],
        smooth=2,
        log_scale=True,
        marks={3: "went on here"},
    )
    (axes,) = figure.axes
    mean, thin, short, mark = lines_of(axes)
    assert mean[0] == [2, 3, 4, 5]
    np.testing.assert_allclose(mean[1], [(1 / (s - 1) + 1 / s) / 2 for s in range(2, 6)])
    assert thin[1] == [1 / s for s in range(1, 6)] and short == ([1], [5])
    assert list(mark[0]) == [3, 3] and axes.get_yscale() == "log"
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["one", "two"]
    shown = [text.get_text() for text in axes.findobj(type(axes.title))]
    assert shown.count("went on here") == 1


def test_nothing_to_draw_is_refused() -> None:
    with pytest.raises(ValueError, match="hold no numbers"):
        History().plot()
    with pytest.raises(KeyError, match=r"no 'x' in the histories; there are \['loss'"):
        recorded().plot(names=["x"])
    with pytest.raises(ValueError, match="smooth is 0, expected 1 or more"):
        recorded().plot(smooth=0)


def test_a_notebook_shows_a_table_and_the_picture(monkeypatch: Any) -> None:
    pytest.importorskip("matplotlib")
    shown = recorded()._repr_html_()
    assert "test accuracy" in shown and "<td" in shown
    picture = shown[shown.index("<svg") : shown.index("</svg>") + 6]
    assert ElementTree.fromstring(picture).tag.endswith("svg")
    assert "<svg" not in History()._repr_html_()
    real = builtins.__import__

    def without(name: str, *arguments: Any) -> Any:
        if name.split(".")[0] == "matplotlib":
            raise ImportError("no module")
        return real(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", without)
    assert "test accuracy" in recorded()._repr_html_() and "<svg" not in recorded()._repr_html_()
    with pytest.raises(ImportError, match=r"pip install .*'\.\[plots\]'"):
        recorded().plot()
