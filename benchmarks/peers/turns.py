"""Times of several functions that take turns."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

import numpy as np

TURN = 0.02  # seconds, at most
TURNS = 5


def summary(times: list[float]) -> dict[str, float]:
    """Statistics of the seconds of calls."""
    return {
        "median": float(np.median(times)),
        "min": float(np.min(times)),
        "p99": float(np.percentile(times, 99)),
        "calls": len(times),
    }


def burst(call: Callable[[], object], count: int) -> list[float]:
    """The seconds of each of `count` calls."""
    clock, times = time.perf_counter, [0.0] * count
    for i in range(count):
        start = clock()
        call()
        times[i] = clock() - start
    return times


def in_turns(
    bursts: Mapping[str, Callable[[int], list[float]]], seconds: float
) -> dict[str, list[float]]:
    """The seconds of all calls.

    Args:
        bursts: for each name what makes a number of calls and returns their seconds.
        seconds: about what each has in all, in at least TURNS turns.
    """
    turn = min(TURN, seconds / TURNS)
    counts = {name: max(1, int(turn / max(min(calls(3)), 1e-7))) for name, calls in bursts.items()}
    times: dict[str, list[float]] = {name: [] for name in bursts}
    spent = dict.fromkeys(bursts, 0.0)
    rounds = 0
    while rounds < TURNS or any(spent[name] < seconds for name in bursts):
        for name, calls in bursts.items():
            if rounds >= TURNS and spent[name] >= seconds:
                continue
            start = time.perf_counter()
            calls(max(1, counts[name] // 10))  # caches and clocks settle
            times[name] += calls(counts[name])
            spent[name] += time.perf_counter() - start
            time.sleep(0.002)
        rounds += 1
    return times
