"""The command `graphio serve` as a process: signals, workers, limits, wrong usage."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import command_line
import numpy as np
import pytest
import served_models

pytest.importorskip("uvicorn", reason="the extra [serve] is not installed")
pytestmark = pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGTERM to catch")
PATIENCE = 120  # seconds, on a machine that does other work, too


class Server:
    """A server that has started, and its log."""

    def __init__(self, folder: Path, *arguments: object) -> None:
        self.log = folder / f"log-{time.monotonic_ns()}"
        command = [sys.executable, "-m", "graphio", "serve", *map(str, arguments), "--port", "0"]
        with open(self.log, "wb") as out:
            self.process = subprocess.Popen(command, stderr=out, stdout=out)
        self.port = int(self.waited_for(r"listening at http://127\.0\.0\.1:(\d+)"))
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            with contextlib.suppress(OSError):
                if self.get("/v2/health/ready")[0] == 200:
                    return
            time.sleep(0.02)
        raise AssertionError(self.log.read_text())

    def waited_for(self, pattern: str) -> str:
        """The first group of a pattern in the log."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end and self.process.poll() is None:
            if found := re.search(pattern, self.log.read_text()):
                return found[1]
            time.sleep(0.02)
        raise AssertionError(self.log.read_text())

    def get(self, path: str) -> tuple[int, str]:
        """Status and body of an answer."""
        return self.ask("GET", path, None)

    def post(self, path: str, body: Any) -> tuple[int, str]:
        """Status and body of the answer to JSON, or to bytes."""
        return self.ask(
            "POST", path, body if isinstance(body, bytes) else json.dumps(body).encode()
        )

    def ask(self, method: str, path: str, body: bytes | None) -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        with contextlib.closing(connection):
            connection.request(method, path, body)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()

    def sent(self, data: bytes) -> bytes:
        """The answer to raw bytes, to the end of the connection."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as connection:
            connection.sendall(data)
            found = b""
            while part := connection.recv(65536):
                found += part
            return found

    def ended(self, number: int = signal.SIGTERM) -> int:
        """The exit code after a signal."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)

    def children(self) -> list[int]:
        pid = self.process.pid
        return list(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))


@contextlib.contextmanager
def running(folder: Path, *arguments: object) -> Iterator[Server]:
    server = Server(folder, *arguments)
    try:
        yield server
    finally:
        server.process.kill()
        server.process.wait()


@pytest.fixture(scope="module")
def limited(folder: Path) -> Iterator[Server]:
    """A server with small limits, of a model that may run for ever and one that does not."""
    paths = folder / "endless.gio", folder / "layer.gio"
    with running(folder, *paths, "--max-body", 2000, "--timeout", 1) as server:
        yield server


def head(length: str) -> bytes:
    start = b"POST /v1/models/layer:predict HTTP/1.1\r\nHost: localhost\r\n"
    return start + f"{length}\r\n\r\n".encode()


def test_a_body_over_the_limit_is_refused_before_it_comes(limited: Server) -> None:
    answer = limited.sent(head("Content-Length: 99999"))
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"the body has more than 2000 bytes" in answer
    large = json.dumps({"instances": [[1, 2, 3, 4]]}).encode().ljust(20000)
    assert limited.post("/v1/models/layer:predict", large)[0] == 413  # after all was sent
    exactly = json.dumps({"instances": [[1, 2, 3, 4]]}).encode().ljust(2000)
    assert limited.post("/v1/models/layer:predict", exactly)[0] == 200


def test_chunks_over_the_limit_are_refused(limited: Server) -> None:
    chunk = b"400\r\n" + b" " * 0x400 + b"\r\n"
    answer = limited.sent(head("Transfer-Encoding: chunked") + chunk * 2)
    assert answer.startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize("length", ["Content-Length: 100", "Transfer-Encoding: chunked"])
def test_a_body_that_never_ends_is_refused_in_time(limited: Server, length: str) -> None:
    answer = limited.sent(head(length) + b"1\r\n{\r\n")
    assert answer.startswith(b"HTTP/1.1 504 ")
    assert b"the body did not come within 1 s" in answer


def test_a_client_that_goes_away_leaves_the_server_alone(limited: Server) -> None:
    with socket.create_connection(("127.0.0.1", limited.port)) as connection:
        connection.sendall(head("Content-Length: 100") + b"{")
    assert limited.get("/v2/health/live")[0] == 200
    assert "Traceback" not in limited.log.read_text()


def test_a_run_that_never_ends_is_ended_and_others_go_on_meanwhile(limited: Server) -> None:
    found: list[tuple[int, str]] = []
    body = {"inputs": 2**62}
    thread = threading.Thread(
        target=lambda: found.append(limited.post("/v1/models/endless:predict", body))
    )
    thread.start()
    others = [limited.post("/v1/models/layer:predict", {"inputs": [[0] * 4]}) for _ in range(5)]
    thread.join()
    assert [status for status, _ in others] == [200] * 5
    assert found[0][0] == 504
    assert limited.post("/v1/models/endless:predict", {"inputs": 7}) == (200, '{"outputs": 7}')


class Load:
    """Clients that send requests until the server refuses a connection.

    Two make a connection for each request, two keep theirs while the server does.
    """

    def __init__(self, port: int) -> None:
        self.wrong: list[Exception] = []
        self._port = port
        self._counts = [0] * 4
        self._threads = [threading.Thread(target=self._client, args=(at,)) for at in range(4)]
        for thread in self._threads:
            thread.start()

    def _client(self, at: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=PATIENCE)
        while True:
            if connection.sock is None:
                try:
                    connection.connect()
                except OSError:
                    return
            try:
                self._ask(connection)
            except Exception as error:
                self.wrong.append(error)
                return
            self._counts[at] += 1
            if at % 2:
                connection.close()

    def _ask(self, connection: http.client.HTTPConnection) -> None:
        body = json.dumps({"inputs": [[1, 1, 1, 1]]}).encode()
        connection.request("POST", "/v1/models/layer:predict", body)
        found = json.loads(connection.getresponse().read())["outputs"]
        np.testing.assert_allclose(found, served_models.softmax(np.ones((1, 4))), rtol=1e-5)

    def wait_for_answers(self) -> None:
        """Waits until each client has had some."""
        while min(self._counts) < 3 and not self.wrong:
            time.sleep(0.01)

    def wait_for_end(self) -> None:
        for thread in self._threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()


def test_sigterm_ends_the_requests_that_run_and_loses_none(folder: Path) -> None:
    with running(folder, folder / "layer.gio", folder / "endless.gio", "--timeout", 2) as server:
        slow: list[tuple[int, str]] = []
        most = {"inputs": 2**62}
        running_long = threading.Thread(
            target=lambda: slow.append(server.post("/v1/models/endless:predict", most))
        )
        running_long.start()
        load = Load(server.port)
        load.wait_for_answers()
        assert server.ended() == 0, server.log.read_text()
        load.wait_for_end()
        running_long.join(PATIENCE)
    assert load.wrong == []
    assert [status for status, _ in slow] == [504]  # its own limit ended it, not the signal


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_workers_share_a_port_and_numbers_are_replaced_when_they_die_and_lose_no_request(
    folder: Path,
) -> None:
    body = {"inputs": [[1, 2, 3, 4]]}
    with running(folder, folder / "layer.gio", "--workers", 2) as server:
        server.waited_for(r"(?s)is served.*(is served)")
        for _ in range(20):
            assert server.post("/v1/models/layer:predict", body)[0] == 200
        counted = 'graphio_requests_total{method="predict",model="layer",status="200"} 20.0'
        assert counted in server.get("/metrics")[1]
        before = server.children()
        workers = [pid for pid in before if "spawn_main" in command_of(pid)]
        assert len(workers) == 2
        os.kill(workers[0], signal.SIGKILL)
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            alive = [pid for pid in server.children() if "spawn_main" in command_of(pid)]
            if len(alive) == 2 and workers[0] not in alive:
                break
            time.sleep(0.05)
        assert len(alive) == 2
        load = Load(server.port)
        load.wait_for_answers()
        assert server.ended() == 0
        load.wait_for_end()
        assert load.wrong == []
        while time.monotonic() < end and any(map(command_of, {*before, *alive})):
            time.sleep(0.05)
        assert not any(map(command_of, {*before, *alive}))


def command_of(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode()
    return ""


@pytest.fixture
def command(capfd: pytest.CaptureFixture[str]) -> command_line.Command:
    return command_line.Command(capfd)


def test_a_port_in_use_is_one_line_that_says_what_to_do(
    command: command_line.Command, folder: Path
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = command("serve", folder / "layer.gio", "--port", port, code=3)
    (line,) = done.err.splitlines()
    assert f"cannot listen at 127.0.0.1, port {port}: Address already in use; choose" in line


def test_missing_libraries_are_one_line_that_says_what_to_install(
    command: command_line.Command, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from graphio.serving import needed

    monkeypatch.setattr(needed, "_MODULES", ("starlette", "no_such_library"))
    done = command("serve", folder / "layer.gio", code=2)
    (line,) = done.err.splitlines()
    assert re.search(r"serving needs no_such_library: pip install .*\[serve\]", line)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["{}/none.gio"], 3, "there is no file or folder"),
        (["a={}/layer.gio", "{}/half"], 2, "name all models, NAME=MODEL, or none"),
        (["a={}/layer.gio", "a={}/half"], 2, "two models have one name"),
        (["{}/layer.gio", "--timeout", "0"], 3, "timeout is 0.0, expected a number above 0"),
        (["{}/damaged.gio"], 3, "damaged.gio"),
        (["{}/layer.gio", "--host", "192.0.2.1"], 3, "cannot listen at 192.0.2.1"),
    ],
)
def test_wrong_usage_is_one_line(
    command: command_line.Command, folder: Path, arguments: list[str], code: int, message: str
) -> None:
    (folder / "damaged.gio").write_bytes((folder / "layer.gio").read_bytes()[:200])
    done = command("serve", *(text.format(folder) for text in arguments), code=code)
    (line,) = done.err.splitlines()
    assert message in line


def test_nothing_of_the_web_server_is_imported_with_the_command_or_the_package() -> None:
    program = (
        "import sys, graphio, graphio.serving, graphio.command_line.app; "
        "print([m for m in ('starlette', 'uvicorn', 'prometheus_client') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr
