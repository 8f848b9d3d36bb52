"""A rank of a job: trains one of trainings.py, and writes its SHA-256 and metrics.

    mpiexec -n 3 python one_rank.py NAME FOLDER OUT [--steps N] [--threads N] [--target NAME]
        [--kill RANK:STEP] [--absent RANK] [--timeout SECONDS]

--kill ends the rank by SIGKILL when it begins its first shard of the step, as an eviction does;
--absent is a rank of MPICH that ends before it starts MPI.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))
from trainings import ALL, trained

from graphio.distribute.communicators.finding import communicator


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("name", choices=ALL)
    parser.add_argument("folder")
    parser.add_argument("out")
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--target", default="cinfer")
    parser.add_argument("--kill", default="-1:-1")
    parser.add_argument("--absent")
    parser.add_argument("--timeout", type=float, default=60.0)
    given = parser.parse_args()
    if given.absent and os.environ.get("PMI_RANK") == given.absent:
        return
    ranks = communicator(None, given.timeout)
    dies, at = map(int, given.kill.split(":"))

    def change(feed: Any) -> Any:
        def fed(step: int, shard: int) -> Any:
            if (ranks.rank, step) == (dies, at):
                os.kill(os.getpid(), signal.SIGKILL)
            return feed(step, shard)

        return fed if feed is not None else None

    sha, metrics = trained(
        given.name,
        ranks,
        given.folder,
        steps=given.steps,
        threads=given.threads,
        target=given.target,
        change=change,
    )
    Path(given.out, f"rank{ranks.rank}").write_text(f"{sha} {sorted(metrics.items())}")


if __name__ == "__main__":
    main()
