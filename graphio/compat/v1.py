"""graphio.compat.v1 is graphio: `import graphio.compat.v1 as tf` is `import graphio as tf`."""

import sys

import graphio

sys.modules[__name__] = graphio
