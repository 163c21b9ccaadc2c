"""Data folders, caches and registries of the tests' own: nothing here depends on the machine."""

import pytest
from tiny_registry import TEXT

from kernlab import paths
from kernlab.datasets import registry as registry_module


@pytest.fixture(autouse=True)
def own_folders(tmp_path, monkeypatch):
    """A cache and a downloads folder of the test's own, no data folder, no network."""
    monkeypatch.setenv("KERNLAB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("KERNLAB_OFFLINE", "1")
    monkeypatch.delenv("KERNLAB_DATA", raising=False)
    monkeypatch.setattr(paths, "downloads_dir", lambda: tmp_path / "downloads")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty KERNLAB_DATA."""
    made = tmp_path / "Daten für alle"
    made.mkdir()
    monkeypatch.setenv("KERNLAB_DATA", str(made))
    return made


@pytest.fixture
def use_registry(tmp_path, monkeypatch):
    """Put another registry in the place of the real one: called with the text of a TOML file."""

    def use(text):
        file = tmp_path / "registry.toml"
        file.write_text(text)
        monkeypatch.setattr(registry_module, "REGISTRY_FILE", file)
        registry_module.registry.cache_clear()

    yield use
    registry_module.registry.cache_clear()


@pytest.fixture
def tiny_registry(use_registry):
    """A registry of a few sets whose files a test can write in a line."""
    use_registry(TEXT)
