"""tf.contrib.staging: elements that stay in a session from one run to the next.

areas      StagingArea, MapStagingArea; contents: what a session has of them
"""

from __future__ import annotations

import sys

from graphio.contrib.staging.areas import MapStagingArea, StagingArea
from graphio.framework import api_boundary

__all__ = ["MapStagingArea", "StagingArea"]

api_boundary.guard_namespace(sys.modules[__name__])
