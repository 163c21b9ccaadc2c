"""The distribution's Chromium, without talking to the world, and where its pictures are left."""

import os
from pathlib import Path

import pytest

from kernlab.paths import project_root

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@pytest.fixture(scope="session")
def browser():
    if not CHROMIUM.exists():
        pytest.skip(f"no Chromium at {CHROMIUM}")
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=str(CHROMIUM), args=ARGUMENTS)
        yield chromium
        chromium.close()


@pytest.fixture(scope="session")
def artefacts():
    """Where screenshots are left for a person to look at; never inside the repository's history."""
    named = os.environ.get("KERNLAB_ARTEFACTS")
    folder = Path(named) if named else (project_root() or Path.cwd()) / ".artefacts"
    folder.mkdir(parents=True, exist_ok=True)
    return folder
