"""The cost of imports: CPU time and modules of graphio, of each part of tf.contrib, of its names.

    python benchmarks/import_time.py [--runs 5]

Each is imported in a new process, after what a program has imported before it: numpy, then graphio
with its builder. The minimum of the runs is printed. A name is looked up, which loads what it
needs. tests/contrib/test_contrib_imports.py counts the modules.
"""

from __future__ import annotations

import argparse
import pkgutil
import subprocess
import sys

import graphio.contrib

#: names that programs use first, of parts whose import alone loads none of their modules
NAMES = (
    "data.map_and_batch",
    "distributions.Binomial",
    "framework.assign_from_checkpoint_fn",
    "layers.fully_connected",
    "learn.run_n",
    "opt.AdamWOptimizer",
    "slim.conv2d",
    "slim.learning.train",
    "training.HParams",
)

CHILD = """
import sys, time
{first}
modules, start = len(sys.modules), time.process_time()
{then}
print(time.process_time() - start, len(sys.modules) - modules)
"""


def cost(first: str, then: str, runs: int) -> tuple[float, int]:
    """Milliseconds of CPU time, and the number of modules that an import adds."""
    program = CHILD.format(first=first, then=then)
    found = [
        subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        for _ in range(runs)
    ]
    lines = [one.stdout.split() for one in found]
    return 1000 * min(float(seconds) for seconds, _ in lines), int(lines[0][1])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    built = "import graphio; graphio.constant"
    rows = [("graphio", "import numpy", "import graphio"), ("the builder", "import graphio", built)]
    for part in pkgutil.iter_modules(graphio.contrib.__path__):
        rows.append((f"contrib.{part.name}", built, f"graphio.contrib.{part.name}"))
    rows += [(f"contrib.{name}", built, f"graphio.contrib.{name}") for name in NAMES]
    for name, first, then in rows:
        milliseconds, modules = cost(first, then, runs)
        print(f"{name:36s} {milliseconds:7.1f} ms  {modules:4d} modules", flush=True)


if __name__ == "__main__":
    main()
