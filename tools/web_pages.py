"""Web pages in a browser without a window: for tests and pictures.

The browser is the system's Chromium, driven by playwright.
"""

from __future__ import annotations

import functools
import http.server
import math
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
Point = tuple[float, float]


def browser_path() -> str | None:
    """Where Chromium is."""
    return next(filter(None, map(shutil.which, BROWSERS)), None)


@contextmanager
def chromium() -> Iterator[Any]:
    """A browser; its pages are of playwright's synchronous interface."""
    from playwright.sync_api import sync_playwright

    # A user that is root, as in containers, has no sandbox; only pages of ours are opened.
    options = ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"]
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=browser_path(), args=options)
        yield browser
        browser.close()


class _Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of a folder, as `python -m http.server` serves it."""
    handler = functools.partial(_Quiet, directory=str(folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


# ---- digits, as people draw them ----


def _arc(x: float, y: float, width: float, height: float, start: int, end: int) -> list[Point]:
    """Part of an ellipse, in degrees from its right end upwards."""
    angles = [math.radians(start + (end - start) * i / 16) for i in range(17)]
    return [(x + width * math.cos(a), y - height * math.sin(a)) for a in angles]


#: the strokes of each digit, on a paper of 280 x 280
STROKES: dict[int, list[list[Point]]] = {
    0: [_arc(140, 140, 60, 90, 90, 450)],
    1: [[(110, 90), (150, 50), (150, 230)]],
    2: [[*_arc(140, 100, 55, 50, 160, -40), (85, 230), (200, 230)]],
    3: [[*_arc(130, 95, 55, 45, 150, -80), *_arc(130, 185, 60, 48, 80, -150)]],
    4: [[(160, 50), (80, 170), (210, 170)], [(165, 110), (165, 235)]],
    5: [[(195, 55), (105, 55), (98, 130)], _arc(135, 175, 62, 55, 130, -140)],
    6: [[(175, 50), (115, 110), *_arc(140, 180, 52, 50, 150, 510)]],
    7: [[(80, 60), (200, 60), (125, 235)]],
    8: [_arc(140, 95, 42, 42, 90, 450), _arc(140, 185, 52, 48, 90, 450)],
    9: [_arc(140, 100, 50, 48, 0, 360), [(190, 100), (180, 170), (150, 235)]],
}


def draw(page: Any, digit: int) -> None:
    """Draws a digit with the mouse on the page of examples/browser."""
    area = page.locator("#paper").bounding_box()
    for stroke in STROKES[digit]:
        points = [(area["x"] + x, area["y"] + y) for x, y in stroke]
        page.mouse.move(*points[0])
        page.mouse.down()
        for point in points[1:]:
            page.mouse.move(*point)
        page.mouse.up()
