"""examples/browser: the page reads what is drawn on it, with the bits of every other build."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from c_programs import CINFER, made, parts, webassembly_compiler

from graphio import cinfer, runtime

ROOT = CINFER.parent
EXAMPLE = ROOT / "examples" / "browser"
sys.path.insert(0, str(ROOT / "tools"))

import web_pages  # noqa: E402

WARNINGS = "-Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wmissing-prototypes -Werror".split()
#: predicts images, which it reads as JSON, outside a browser
NODE = """
import { readFileSync } from "node:fs";
import { openModel } from "./digits.mjs";
const model = await openModel(readFileSync("digits.wasm"), readFileSync("digits.gio"));
const images = JSON.parse(readFileSync(0, "utf8"));
console.log(JSON.stringify(images.map((image) => [...model.predict(image)])));
"""
#: the same on the page
PREDICT = """async (images) => {
  const { openModel } = await import("./digits.js");
  const load = async (name) => (await fetch(name)).arrayBuffer();
  const model = await openModel(await load("digits.wasm"), await load("digits.gio"));
  return images.map((image) => [...model.predict(image)]);
}"""


def wasm(build: Any) -> Path:
    """The compiled program; skips without a compiler for it."""
    command = [*build.compile_command(webassembly_compiler()), *WARNINGS]
    return made(command, [*parts(), EXAMPLE / "digits.c"], "digits.wasm")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page's folder, as build.py makes it."""
    pytest.importorskip("sklearn")
    spec = importlib.util.spec_from_file_location("build", EXAMPLE / "build.py")
    assert spec is not None and spec.loader is not None
    build = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(build)
    folder = tmp_path_factory.mktemp("site")
    shutil.copy(wasm(build), folder / "digits.wasm")
    build.write_model(folder / "digits.gio", None)
    for name in build.PAGE:
        shutil.copy(EXAMPLE / name, folder)
    return folder


@pytest.fixture
def page(browser: Any, site: Path) -> Iterator[Any]:
    """The page, loaded; whatever it complains about in its console is a failure."""
    with web_pages.served(site) as address:
        opened = browser.new_page(has_touch=True)
        complaints: list[str] = []
        opened.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
        opened.on("pageerror", lambda error: complaints.append(str(error)))
        opened.goto(address)
        opened.wait_for_selector("body[data-state=ready]")
        yield opened
        opened.close()
        assert not complaints


@pytest.fixture(scope="module")
def images() -> np.ndarray:
    shares = np.random.RandomState(0).randint(0, 17, (24, 64)) / 16
    return np.concatenate([np.zeros((1, 64)), shares]).astype(np.float32)


def answer(page: Any) -> str:
    return page.locator("#answer").get_attribute("data-digit")


def test_webassembly_gives_the_bits_of_the_python_module(site: Path, images: np.ndarray) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    shutil.copy(site / "digits.js", site / "digits.mjs")
    (site / "predict.mjs").write_text(NODE)
    done = subprocess.run(
        [node, "predict.mjs"], cwd=site, input=json.dumps(images.tolist()),
        capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    check_bits(json.loads(done.stdout), site, images)


def test_the_browser_gives_the_same_bits(page: Any, site: Path, images: np.ndarray) -> None:
    check_bits(page.evaluate(PREDICT, images.tolist()), site, images)


def check_bits(found: list[list[float]], site: Path, images: np.ndarray) -> None:
    scores = np.array(found, np.float64).astype(np.float32)
    model = site / "digits.gio"
    expected = cinfer.load(model).signature("predict")(x=images)["probabilities"]
    assert scores.tobytes() == expected.tobytes()
    in_python = runtime.load(model).signature("predict")(x=images)["probabilities"]
    np.testing.assert_allclose(scores, in_python, rtol=0, atol=1e-5)


def test_every_digit_that_is_drawn_is_read(page: Any) -> None:
    read = []
    for digit in web_pages.STROKES:
        web_pages.draw(page, digit)
        read.append(answer(page))
        page.click("#clear")
    assert read == [str(digit) for digit in web_pages.STROKES]


def test_scores_are_drawn_and_the_page_says_its_sizes_and_time(page: Any, site: Path) -> None:
    web_pages.draw(page, 3)
    widths = page.eval_on_selector_all("#scores i", "rows => rows.map(row => row.offsetWidth)")
    assert len(widths) == 10 and max(widths) == widths[3] > 5 * (sum(widths) - widths[3])
    kilobytes = round((site / "digits.wasm").stat().st_size / 1024)
    assert f"{kilobytes} KB of WebAssembly" in page.locator("#sizes").inner_text()
    taken = page.locator("#time").inner_text()
    assert taken.endswith(" µs a prediction") and float(taken.split()[0].replace(",", "")) > 0
    page.click("#clear")
    assert page.locator("#answer").inner_text() == "Draw a digit."
    assert page.locator("#time").inner_text() == ""


def test_fingers_draw_as_mice_do(page: Any) -> None:
    area = page.locator("#paper").bounding_box()
    touch = page.context.new_cdp_session(page)
    (stroke,) = web_pages.STROKES[7]
    for i, (x, y) in enumerate(stroke):
        point = {"x": area["x"] + x, "y": area["y"] + y}
        kind = "touchMove" if i else "touchStart"
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [point]})
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    page.wait_for_function("document.getElementById('time').textContent !== ''")
    assert answer(page) == "7"


@pytest.mark.parametrize(
    ("damage", "reported"),
    [
        (lambda file: file.unlink(), "digits.gio: 404"),
        (lambda file: file.write_bytes(flipped(file.read_bytes())), "checksum"),
    ],
    ids=["missing", "damaged"],
)
def test_a_model_that_cannot_be_opened_is_named(
    browser: Any, site: Path, tmp_path: Path, damage: Any, reported: str
) -> None:
    folder = shutil.copytree(site, tmp_path / "site")
    damage(folder / "digits.gio")
    with web_pages.served(folder) as address:
        opened = browser.new_page()
        opened.goto(address)
        opened.wait_for_selector("body[data-state=failed]")
        assert reported in opened.locator("#answer").inner_text()
        opened.close()


def flipped(data: bytes) -> bytes:
    """The same but for one bit in the middle."""
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]
