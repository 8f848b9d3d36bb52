"""Takes the pictures of docs/images: what graphio shows in browsers and notebooks.

    python tools/screenshots.py [NAME ...]

Chromium draws them, without a window (tools/web_pages.py).
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import io
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from pathlib import Path
from typing import Any

from command_line_page import ONNX, working
from PIL import Image
from web_pages import browser_path, chromium, draw, served

ROOT = Path(__file__).resolve().parent.parent
IMAGES = ROOT / "docs" / "images"
SCALE = 1.5  # of a picture's dots to the page's
MOST_BYTES = 80_000
Taker = Callable[[Any, Path], bytes]

#: parts of a notebook, in the sizes and colours that Jupyter gives to tables
NOTEBOOK = """<!doctype html><meta charset="utf-8"><style>
body { margin: 0; padding: 12px 16px; font: 14px/1.4 sans-serif; color: #212121; width: %dpx; }
pre { background: #f5f5f5; border: 1px solid #e0e0e0; margin: 12px 0 8px; padding: 5px 8px;
  font: 13px/1.4 monospace; }
table { border-collapse: collapse; font-size: 12px; margin: 4px 0 8px; }
tr:nth-child(even) { background: #f5f5f5; }
pre:first-child { margin-top: 0; }
</style>"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(PICTURES))
    names = parser.parse_args().names or list(PICTURES)
    if unknown := sorted(set(names) - set(PICTURES)):
        parser.error(f"no picture is called {', '.join(unknown)}")
    if browser_path() is None:
        parser.error("Chromium is not installed")
    IMAGES.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        for name in names:
            write(name, PICTURES[name](browser, Path(folder)))
    return 0


def write(name: str, shot: bytes) -> None:
    """A picture as PNG with a palette: a quarter of the bytes, and nothing of it to be seen."""
    path = IMAGES / f"{name}.png"
    picture = Image.open(io.BytesIO(shot)).convert("RGB")
    reduced = picture.quantize(128, dither=Image.Dither.NONE)
    reduced.save(path, optimize=True)
    size = path.stat().st_size
    print(f"{path.relative_to(ROOT)}: {picture.width} x {picture.height}, {size:,} bytes")
    if size > MOST_BYTES:
        raise SystemExit(f"{path} has more than {MOST_BYTES:,} bytes")


def page_of(browser: Any, width: int, height: int) -> Any:
    return browser.new_page(viewport={"width": width, "height": height}, device_scale_factor=SCALE)


# ---- the digits page ----


def digits(browser: Any, folder: Path) -> bytes:
    """A digit drawn on the page of examples/browser."""
    build = ROOT / "examples" / "browser" / "build.py"
    command = [sys.executable, str(build), str(folder / "site")]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    with served(folder / "site") as address:
        page = page_of(browser, 660, 484)
        page.goto(address)
        page.wait_for_selector("body[data-state=ready]")
        draw(page, 3)
        return page.screenshot()


# ---- the command line ----


def show(browser: Any, folder: Path) -> bytes:
    """`graphio show` of an ONNX file."""
    command = [sys.executable, "-m", "graphio", "show", str(ONNX), "--no-browser"]
    with running(command) as address:
        page = page_of(browser, 560, 700)
        page.goto(address)
        page.get_by_text("Accept").click()
        page.wait_for_timeout(2000)  # netron forbids what playwright would look for a graph with
        return page.screenshot()


@contextmanager
def running(command: list[str]) -> Iterator[str]:
    """A server, and the address that it prints."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            found = re.search(r"http://\S+", server.stdout.readline())
            assert found is not None, f"{command} did not start"
            yield found[0]
        finally:
            server.terminate()


# ---- notebooks ----


@functools.cache
def tutorial(folder: Path) -> dict[str, Any]:
    """The names of docs/tutorial.md's program, whose files are in this folder then."""
    import graphio as tf

    page = (ROOT / "docs" / "tutorial.md").read_text()
    names: dict[str, Any] = {}
    quiet = contextlib.redirect_stdout(io.StringIO())
    with working(folder), tf.Graph().as_default(), quiet:
        for program in re.findall(r"```python\n(.*?)```", page, re.DOTALL):
            exec(program, names)
    return names


def notebook(browser: Any, cells: dict[str, Any], width: int) -> bytes:
    """Cells with what they show."""
    parts = [f"<pre>{escape(code)}</pre>{value._repr_html_()}" for code, value in cells.items()]
    page = page_of(browser, width, 100)
    page.set_content(NOTEBOOK % (width - 32) + "".join(parts))
    return page.screenshot(full_page=True)


def graph(browser: Any, folder: Path) -> bytes:
    """A graph in a notebook."""
    import graphio as tf

    small = tf.Graph()
    with small.as_default():
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        hidden = tf.layers.dense(x, 16, activation=tf.nn.relu)
        logits = tf.layers.dense(hidden, 2)
        tf.nn.softmax(logits, name="probabilities")
        tf.argmax(logits, 1, name="best")
    return notebook(browser, {"tf.get_default_graph()": small}, 600)


def model(browser: Any, folder: Path) -> bytes:
    """A model, its state and a profile in a notebook."""
    names = tutorial(folder)
    tf, found, x = names["tf"], names["model"], names["x"]
    with working(folder), x.graph.as_default(), tf.Session("cinfer") as session:
        tf.train.Saver().restore(session, tf.train.latest_checkpoint("rings"))
        profile = tf.timeline.profile(session, names["probabilities"], {x: names["points"]})
    cells = {
        'model = graphio.cinfer.load("rings.gio"); model': found,
        "model.state": found.state,
        "tf.timeline.profile(session, probabilities, {x: points})": profile,
    }
    return notebook(browser, cells, 640)


def checkpoint(browser: Any, folder: Path) -> bytes:
    """A checkpoint in a notebook."""
    train = tutorial(folder)["tf"].train
    with working(folder):
        listing = train.list_checkpoint("rings")
    return notebook(browser, {'tf.train.list_checkpoint("rings")': listing}, 780)


def diff(browser: Any, folder: Path) -> bytes:
    """The difference of two checkpoints, in a notebook."""
    train = tutorial(folder)["tf"].train
    older, newer = "rings/model.ckpt-150", "rings/model.ckpt-300"
    with working(folder):
        found = train.diff_checkpoints(older, newer)
    return notebook(browser, {f'tf.train.diff_checkpoints("{older}", "{newer}")': found}, 780)


PICTURES: dict[str, Taker] = {
    "digits": digits,
    "show": show,
    "graph": graph,
    "model": model,
    "checkpoint": checkpoint,
    "diff": diff,
}

if __name__ == "__main__":
    sys.exit(main())
