"""Seeds that belong to a point, not to the moment at which it is computed."""

import hashlib
import json
from pathlib import Path

SEED_BITS = 32


def derive_seed(*parts):
    """A seed below 2**32 from texts and numbers: the same on every machine and Python version.

    Built-in hashing is salted per process and would not do.
    """
    text = json.dumps([str(part) for part in parts], ensure_ascii=True)
    digest = hashlib.sha256(text.encode("ascii")).digest()
    return int.from_bytes(digest[: SEED_BITS // 8], "big")


def point_seed(study, point):
    """The seed of a point: its study, data set and repeat, whatever the order of the run.

    Neither method nor parameters enter: methods are compared on the same rows, and a sweep over C
    or over landmarks sees the same draws throughout. A study with other parameters than the
    catalogue's draws as that does, and a file draws alike wherever it lies.
    """
    return derive_seed(study.catalogue_id, study.seed, Path(point.dataset).name, point.repeat)
