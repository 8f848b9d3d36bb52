"""Makes the files of models: python -m benchmarks.peers.prepare FOLDER [MODEL ...]"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

from .models import SUITE, prepare

if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for name in sys.argv[2:] or SUITE:
        prepare(Path(sys.argv[1]), name)
