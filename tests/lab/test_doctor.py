"""The doctor: what it finds here, and what it says when something is missing."""

import importlib.metadata

import pytest

from kernlab.lab import doctor


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


OPENBLAS = {
    "user_api": "blas",
    "internal_api": "openblas",
    "version": "0.3.30",
    "num_threads": 2,
    "architecture": "Haswell",
}


@pytest.mark.parametrize(
    ("architecture", "features", "state"),
    [
        ("Haswell", doctor.AVX512, "note"),
        ("Zen", doctor.AVX512 | {"sse"}, "note"),
        ("SkylakeX", doctor.AVX512, "ok"),
        ("Haswell", frozenset({"avx2"}), "ok"),
        ("Haswell", doctor.AVX512 - {"avx512vl"}, "ok"),
    ],
)
def test_kernels_that_leave_half_the_processor_idle_are_noted(
    monkeypatch, architecture, features, state
):
    pools = [OPENBLAS | {"architecture": architecture}]
    monkeypatch.setattr("threadpoolctl.threadpool_info", lambda: pools)
    monkeypatch.setattr(doctor, "_processor_features", lambda: features)
    finding = doctor._blas()
    assert finding.state == state
    assert f"kernels for {architecture}" in finding.what
    assert ("OPENBLAS_CORETYPE=SkylakeX" in finding.advice) == (state == "note")


def test_a_blas_that_does_not_tell_its_kernels_is_fine(monkeypatch):
    pools = [OPENBLAS | {"internal_api": "mkl", "architecture": None}]
    monkeypatch.setattr("threadpoolctl.threadpool_info", lambda: pools)
    monkeypatch.setattr(doctor, "_processor_features", lambda: doctor.AVX512)
    finding = doctor._blas()
    assert (finding.state, finding.advice) == ("ok", "")
    assert "mkl 0.3.30 (2 threads)" in finding.what


def test_features_of_the_processor_are_read_where_the_system_tells(monkeypatch):
    told = ["model name\t: A processor", "flags\t\t: fpu avx2 avx512f", "flags\t\t: fpu"]
    monkeypatch.setattr(doctor.Path, "is_file", lambda path: True)
    monkeypatch.setattr(doctor.Path, "read_text", lambda path: "\n".join(told))
    assert doctor._processor_features() == {"fpu", "avx2", "avx512f"}
    monkeypatch.setattr(doctor.Path, "is_file", lambda path: False)
    assert doctor._processor_features() == frozenset()
