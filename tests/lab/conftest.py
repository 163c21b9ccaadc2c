"""Tests of the workbench; this folder holds what several of them share."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
