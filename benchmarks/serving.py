"""Requests of one row to `graphio serve`, over the direct call of the model in the same run.

    python benchmarks/serving.py [--seconds 5] [--connections 16] [--workers 1] [--json]

p50 and p99 are of one connection. Requests a second are of several connections, and once more for
each second of processor time that the server took, which other load on the machine does not
change. The client is a loop of plain sockets; with few cores it competes with the server.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import selectors
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

import graphio as tf
from graphio import cinfer

FEATURES, HIDDEN, CLASSES = 64, 128, 10
TICKS = os.sysconf("SC_CLK_TCK")
Row = dict[str, object]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "digits.gio"
        write_model(path)
        rows = [direct(path, options.seconds / 5)]
        with server(path, options.workers) as (pids, port):
            for name, request in requests().items():
                rows.append(served(name, request, pids, port, options))
    if options.json:
        print(json.dumps(rows, indent=2))
        return
    print(
        "| | p50 | p99 | requests/s | a second of the server's processor |\n|---|---|---|---|---|"
    )
    for row in rows:
        print(
            f"| {row['name']} | {row['p50']:.3f} ms | {row['p99']:.3f} ms | {row['rate']:,.0f} | "
            f"{row['per_cpu']:,.0f} |"
        )


def write_model(path: Path) -> None:
    """A net of two layers."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, FEATURES])
        hidden = tf.layers.dense(x, HIDDEN, tf.nn.relu)
        y = tf.nn.softmax(tf.layers.dense(hidden, CLASSES))
        session.run(tf.global_variables_initializer())
        tf.saved_model.save(str(path), session, {"predict": ({"x": x}, {"y": y})})


def requests() -> dict[str, bytes]:
    """A request of one row by protocol."""
    row = np.random.default_rng(0).normal(size=(1, FEATURES)).astype(np.float32)
    numbers = row.round(4).tolist()
    rest = json.dumps({"instances": numbers}).encode()
    tensor = {"name": "x", "shape": [1, FEATURES], "datatype": "FP32"}
    data = json.dumps({"inputs": [{**tensor, "data": numbers[0]}]}).encode()
    sized = {**tensor, "parameters": {"binary_data_size": row.nbytes}}
    parameters = {"binary_data_output": True}
    head = json.dumps({"inputs": [sized], "parameters": parameters}).encode()
    length = f"Inference-Header-Content-Length: {len(head)}\r\n"
    return {
        "TensorFlow Serving's predict": http("/v1/models/digits:predict", rest),
        "Open Inference, JSON": http("/v2/models/digits/infer", data),
        "Open Inference, binary": http("/v2/models/digits/infer", head + row.tobytes(), length),
    }


def http(path: str, body: bytes, headers: str = "") -> bytes:
    """A request's bytes."""
    head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    return f"{head}{headers}Content-Length: {len(body)}\r\n\r\n".encode() + body


def direct(path: Path, seconds: float) -> Row:
    """The call of the model without a server."""
    call = cinfer.load(str(path)).signature("predict")
    row = np.zeros((1, FEATURES), np.float32)
    times, end, started = [], time.perf_counter() + seconds, time.process_time()
    while (before := time.perf_counter()) < end:
        call(x=row)
        times.append(time.perf_counter() - before)
    rate = len(times) / sum(times)
    return row_of("direct call", times, rate, len(times) / (time.process_time() - started))


def served(
    name: str, request: bytes, pids: Sequence[int], port: int, options: argparse.Namespace
) -> Row:
    """One connection, then several."""
    times: list[float] = []
    with socket.create_connection(("127.0.0.1", port)) as connection:
        for _ in range(50):
            ask(connection, request)
        end = time.perf_counter() + options.seconds
        while (before := time.perf_counter()) < end:
            ask(connection, request)
            times.append(time.perf_counter() - before)
    before = processor_seconds(pids)
    count = many(request, port, options.connections, options.seconds)
    used = processor_seconds(pids) - before
    return row_of(name, times, count / options.seconds, count / used)


def row_of(name: str, times: Sequence[float], rate: float, per_cpu: float) -> Row:
    ordered = sorted(times)
    return {
        "name": name,
        "p50": statistics.median(ordered) * 1e3,
        "p99": ordered[len(ordered) * 99 // 100] * 1e3,
        "rate": rate,
        "per_cpu": per_cpu,
    }


def ask(connection: socket.socket, request: bytes) -> None:
    """Sends a request and waits for all of its answer."""
    connection.sendall(request)
    data = b""
    while not complete(data):
        data += connection.recv(65536)


def complete(data: bytes) -> bool:
    """Whether an answer is there to its end."""
    head, found, body = data.partition(b"\r\n\r\n")
    if not found:
        return False
    if not head.startswith(b"HTTP/1.1 200"):
        raise SystemExit(data.decode(errors="replace"))
    _, _, rest = head.lower().partition(b"\r\ncontent-length:")
    return len(body) >= int(rest.split(b"\r\n")[0])


def many(request: bytes, port: int, connections: int, seconds: float) -> int:
    """Requests that were answered, over several connections at a time."""
    answered, end = 0, time.perf_counter() + seconds
    with contextlib.ExitStack() as stack:
        watched = stack.enter_context(selectors.DefaultSelector())
        for _ in range(connections):
            made = stack.enter_context(socket.create_connection(("127.0.0.1", port)))
            watched.register(made, selectors.EVENT_READ, bytearray())
            made.sendall(request)
        while time.perf_counter() < end:
            for key, _ in watched.select(1.0):
                connection, data = key.fileobj, key.data
                assert isinstance(connection, socket.socket)
                data += connection.recv(65536)
                if complete(bytes(data)):
                    data.clear()
                    answered += 1
                    connection.sendall(request)
    return answered


def processor_seconds(pids: Sequence[int]) -> float:
    """Of processes, by Linux's /proc."""
    total = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        total += int(fields[11]) + int(fields[12])
    return total / TICKS


@contextlib.contextmanager
def server(path: Path, workers: int) -> Iterator[tuple[list[int], int]]:
    """`graphio serve` on a free port: the processes that answer, and the port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "graphio", "serve", str(path), "--port", str(port)]
    process = subprocess.Popen([*command, "--workers", str(workers)], stderr=subprocess.DEVNULL)
    try:
        wait_until_ready(port)
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
        yield [process.pid, *map(int, children)], port
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


def wait_until_ready(port: int) -> None:
    """Waits until the models are open."""
    for _ in range(600):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)) as made:
            made.sendall(b"GET /v2/health/ready HTTP/1.1\r\nHost: localhost\r\n\r\n")
            if made.recv(4096).startswith(b"HTTP/1.1 200"):
                return
        time.sleep(0.1)
    raise SystemExit("the server did not start within a minute")


if __name__ == "__main__":
    main()
