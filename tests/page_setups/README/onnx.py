import os

os.symlink(f"{os.environ['GRAPHIO_ROOT']}/examples", "examples")
