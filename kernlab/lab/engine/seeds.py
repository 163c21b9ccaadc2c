"""Seeds that belong to a point, not to the moment at which it is computed."""

import hashlib
import json

SEED_BITS = 32


def derive_seed(*parts):
    """A seed below 2**32 from texts and numbers: the same on every machine and Python version.

    Built-in hashing is salted per process and would not do.
    """
    text = json.dumps([str(part) for part in parts], ensure_ascii=True)
    digest = hashlib.sha256(text.encode("ascii")).digest()
    return int.from_bytes(digest[: SEED_BITS // 8], "big")


def point_seed(study, point):
    """The seed of a point: its study, data set, method and repeat, whatever the order of the run.

    Parameters do not enter, so a sweep over C or over landmarks sees the same draws throughout.
    """
    return derive_seed(study.id, study.seed, point.dataset, point.method, point.repeat)


def split_seed(study, point):
    """A seed that all methods of one data set and repeat share, for splits that are compared."""
    study_id = getattr(study, "id", study)
    return derive_seed(study_id, "split", point.dataset, point.repeat)
