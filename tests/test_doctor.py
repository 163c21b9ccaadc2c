"""The doctor: what it finds here, and what it says when something is missing."""

import importlib.metadata

import pytest

from kernlab import doctor


def test_this_machine_can_do_the_main_job():
    text, ok = doctor.diagnose()
    assert ok, text
    for part in ("numpy", "BLAS", "memory", "data sets are at hand", "ready: kernlab reproduce"):
        assert part in text


@pytest.fixture
def without(monkeypatch):
    """Pretend that a package is not installed."""
    real = importlib.metadata.version

    def remove(missing):
        def version(package):
            if package == missing:
                raise importlib.metadata.PackageNotFoundError(package)
            return real(package)

        monkeypatch.setattr(importlib.metadata, "version", version)

    return remove


def test_a_missing_dependency_is_a_failure(without):
    without("papermill")
    text, ok = doctor.diagnose()
    assert not ok
    assert "FAIL missing: papermill" in text
    assert "not ready" in text


@pytest.mark.parametrize("optional", ["scikit-sparse", "nbval"])
def test_a_missing_option_is_a_note_with_advice(without, optional):
    without(optional)
    text, ok = doctor.diagnose()
    assert ok
    assert "note" in text
    assert "pip install" in text


def test_an_output_folder_that_cannot_be_written_is_a_failure(monkeypatch):
    monkeypatch.setenv("KERNLAB_OUT", "/proc/nowhere")
    text, ok = doctor.diagnose()
    assert not ok
    assert "set KERNLAB_OUT" in text


def test_a_data_folder_that_is_not_there_is_noted(monkeypatch, tmp_path):
    monkeypatch.setenv("KERNLAB_DATA", str(tmp_path / "nowhere"))
    text, ok = doctor.diagnose()
    assert ok
    assert "is not a folder" in text
