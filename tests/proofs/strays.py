"""R28: after 1,000 kills and one more save nothing lies about that no checkpoint needs.

    python -m proofs.strays --help          (in the folder tests, or make proof-files)

All kills of a slice happen in one folder, which is never emptied.
"""

from __future__ import annotations

import os
import random
import stat
import sys
from pathlib import Path

from proofs import kills, workload
from proofs.slices import Mode, Result, Slice, main
from proofs.workload import Lost, Options, Trainer


def killed(options: Options) -> Slice:
    """`count` kills, then a save that is left to end."""

    def run(seed: int, count: int, folder: Path) -> Result:
        trainer, chance, result = Trainer(options), random.Random(seed), Result()
        kills.in_child(kills.saving(trainer, 1), folder, None)
        span = kills.span_of(trainer, folder)
        most = 0
        try:
            for _ in range(count):
                kills.in_child(kills.saving(trainer), folder, chance.uniform(0, span))
                result.count("kills")
                most = max(most, len(kills.strays(folder)))
            kills.in_child(kills.saving(trainer, 1), folder, None)
        except Lost as lost:
            result.lost.append(str(lost))
        result.count("files that a kill left at most", most)
        result.count("one more save")
        result.lost += [f"{name} lies about" for name in kills.strays(folder)]
        result.lost += [f"{name} has another mode" for name in of_another_mode(folder)]
        return result

    return run


def of_another_mode(folder: Path) -> list[str]:
    """Names of files whose mode is not what the umask leaves of 0666."""
    umask = os.umask(0)
    os.umask(umask)
    return [
        path.name
        for path in folder.iterdir()
        if stat.S_IMODE(path.stat().st_mode) != 0o666 & ~umask
    ]


MODES = {name: Mode(killed(options)) for name, options in workload.MODES.items()}

if __name__ == "__main__":
    purpose = "Kills a process that saves, again and again, and looks what lies about at the end."
    sys.exit(main("R28", purpose, MODES, count=1000, slice_count=1000))
