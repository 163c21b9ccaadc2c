"""The papers' texts, where they are at hand: they are not part of the project."""

import os
from pathlib import Path

import pytest

FILES = {
    "llsvm": "llsvm.md",
    "lasn": "lasn.md",
    "sparse": "sparse-cholesky.md",
    "hss": "admm-hss.md",
    "fpc": "fpc.md",
}


@pytest.fixture(scope="session")
def papers():
    """The text of each paper, from KERNLAB_PAPERS or the folder `papers` beside KERNLAB_DATA."""
    folder = _folder()
    missing = [name for name in FILES.values() if not (folder / name).is_file()]
    if missing:
        pytest.skip(f"the papers' texts are not at hand: {folder} lacks {', '.join(missing)}")
    return {paper: (folder / name).read_text(encoding="utf-8") for paper, name in FILES.items()}


def _folder():
    if named := os.environ.get("KERNLAB_PAPERS"):
        return Path(named)
    if data := os.environ.get("KERNLAB_DATA"):
        return Path(data).resolve().parent / "papers"
    pytest.skip("neither KERNLAB_PAPERS nor KERNLAB_DATA is set: the papers' texts are not at hand")
