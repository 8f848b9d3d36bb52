"""Pictures of graphs: labels in their boxes, boxes apart, lines around them."""

from __future__ import annotations

import re
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np
import pytest

import graphio as tf

SVG = "{http://www.w3.org/2000/svg}"
#: from the middle of each label to its box: the overhang, in dots of the page
OVERHANG = """() => [...document.querySelectorAll("svg rect[rx]")].flatMap((box, i) => {
  const labels = [...document.querySelectorAll("svg text")].slice(2 * i, 2 * i + 2);
  const bounds = box.getBBox();
  return labels.map((label) => {
    const has = label.getBBox();
    return Math.max(bounds.x - has.x, has.x + has.width - bounds.x - bounds.width,
      bounds.y - has.y, has.y + has.height - bounds.y - bounds.height);
  });
})"""


class Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float


class Picture:
    """The boxes, lines and labels that a notebook shows of a graph."""

    def __init__(self, graph: tf.Graph) -> None:
        self.html = graph._repr_html_()
        found = re.search("<svg.*</svg>", self.html, re.DOTALL)
        assert found is not None
        root = ElementTree.fromstring(found[0])
        numbers = [[float(r.get(k, 0)) for k in ("x", "y", "width", "height")]
                   for r in root.iter(f"{SVG}rect") if r.get("rx")]  # fmt: skip
        self.boxes = [Box(x, y, x + w, y + h) for x, y, w, h in numbers]
        self.paths = [str(path.get("d")) for path in root.iter(f"{SVG}path")]
        self.strings = [str(text.text) for text in root.iter(f"{SVG}text")]
        self.size = (float(root.get("width", 0)), float(root.get("height", 0)))


def branched() -> tf.Graph:
    """Values that are read far below where they are made, and a long name."""
    graph = tf.Graph()
    with graph.as_default():
        x = tf.placeholder(tf.float32, [None, 4], name="x")
        y = tf.placeholder(tf.float32, [None, 4], name="y")
        h = x
        for i in range(3):
            branch = tf.nn.relu(tf.layers.dense(h, 4, name=f"layer_{i}"))
            h = tf.add(h, tf.tanh(branch) * tf.sigmoid(y), name=f"sum_{i}")
        tf.concat([h, x, y], 1, name="everything_that_was_made_on_the_way_from_the_inputs")
    return graph


@pytest.fixture(scope="module")
def picture() -> Picture:
    return Picture(branched())


def test_boxes_lie_apart_and_inside_the_picture(picture: Picture) -> None:
    width, height = picture.size
    assert len(picture.boxes) > 20
    for i, a in enumerate(picture.boxes):
        assert 0 < a.left < a.right < width and 0 < a.top < a.bottom < height
        for b in picture.boxes[:i]:
            assert a.right < b.left or b.right < a.left or a.bottom < b.top or b.bottom < a.top


def test_lines_go_past_boxes_not_behind_them(picture: Picture) -> None:
    curve = re.compile(r"M(\S+) (\S+)C\S+ \S+ \S+ \S+ (\S+) (\S+)")
    straight = re.compile(r"M(\S+) (\S+)v(\S+)")
    rows = sorted({(box.top, box.bottom) for box in picture.boxes})
    past = 0
    for path in picture.paths:
        if (found := straight.fullmatch(path)) is not None:  # around the boxes of a row
            x, top, _ = map(float, found.groups())
            same = [box for box in picture.boxes if box.top == top]
            assert same and not any(box.left <= x <= box.right for box in same)
            past += 1
        else:  # between two rows that follow each other
            found = curve.fullmatch(path)
            assert found is not None
            _, y1, _, y2 = map(float, found.groups())
            assert (y1, y2) in {(a[1], b[0]) for a, b in zip(rows, rows[1:], strict=False)}
    assert past > 5


def test_variables_are_written_into_what_reads_them(picture: Picture) -> None:
    assert not [text for text in picture.strings if "Identity" in text or "kernel" in text]
    assert picture.strings.count("MatMul [4,4]") == 3


def test_a_chain_is_a_straight_line_and_halves_stand_beside_its_middle() -> None:
    graph = tf.Graph()
    with graph.as_default():
        x = tf.exp(tf.exp(tf.placeholder(tf.float32, [2], name="x")))
        tf.sin(x, name="left")
        tf.cos(x, name="wide_name_on_the_right")
    middles = [(box.left + box.right) / 2 for box in Picture(graph).boxes]
    assert middles[0] == pytest.approx(middles[1], abs=0.2) == middles[2]
    assert (middles[3] + middles[4]) / 2 == pytest.approx(middles[0], abs=0.2)


def test_a_long_name_says_that_it_was_cut(picture: Picture) -> None:
    assert "…" + "everything_that_was_made_on_the_way_from_the_inputs"[-39:] in picture.strings


def test_a_variable_that_nobody_reads_is_no_end() -> None:
    graph = tf.Graph()
    with graph.as_default():
        tf.get_variable("unread", [2])
        tf.exp(tf.placeholder(tf.float32, [2]), name="y")
    assert not [text for text in Picture(graph).strings if "unread" in text]


def test_labels_fit_into_their_boxes(browser: Any, picture: Picture) -> None:
    page = browser.new_page()
    page.set_content(picture.html)
    overhang = page.evaluate(OVERHANG)
    page.close()
    assert len(overhang) == len(picture.strings) == 2 * len(picture.boxes)
    assert np.max(overhang) <= 0
