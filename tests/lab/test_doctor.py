"""The doctor: what it finds here, and what it says when something is missing."""

import importlib.metadata

import pytest

from kernlab.lab import doctor


def test_this_machine_can_do_the_main_job():
    text, ok = doctor.diagnose()
    assert ok, text
    for part in ("numpy", "papermill", "BLAS", "memory", "data sets are", "ready: kernlab"):
        assert part in text


def test_every_machine_has_its_loops_compiled():
    assert doctor.compile_loops() == {}


@pytest.mark.parametrize(
    ("package", "ok", "said"),
    [
        ("papermill", False, "FAIL missing: papermill"),
        ("scikit-sparse", True, "note scikit-sparse is not installed"),
        ("nbval", True, "note missing: nbval"),
    ],
)
def test_only_what_stops_the_main_job_is_a_failure(monkeypatch, package, ok, said):
    real = importlib.metadata.version

    def version(name):
        if name == package:
            raise importlib.metadata.PackageNotFoundError(name)
        return real(name)

    monkeypatch.setattr(importlib.metadata, "version", version)
    text, well = doctor.diagnose()
    assert well == ok
    assert said in text
    assert "pip install" in text


OPENBLAS = {"user_api": "blas", "internal_api": "openblas", "version": "0.3.30", "num_threads": 2}


@pytest.mark.parametrize(
    ("architecture", "features", "mark"),
    [
        ("Haswell", doctor.AVX512, doctor.NOTE),
        ("Zen", doctor.AVX512 | {"sse"}, doctor.NOTE),
        ("SkylakeX", doctor.AVX512, doctor.OK),
        ("Haswell", doctor.AVX512 - {"avx512vl"}, doctor.OK),
        (None, doctor.AVX512, doctor.OK),
    ],
)
def test_kernels_that_leave_half_the_processor_idle_are_noted(
    monkeypatch, tmp_path, architecture, features, mark
):
    pools = [OPENBLAS | {"architecture": architecture}]
    monkeypatch.setattr(doctor, "threadpool_info", lambda: pools)
    told = f"model name\t: A processor\nflags\t\t: fpu {' '.join(features)}\nflags\t\t: fpu\n"
    monkeypatch.setattr(doctor.Path, "read_text", lambda path: told)
    found, what, advice = doctor.blas()
    assert found == mark
    assert "openblas 0.3.30 (2 threads" in what
    assert ("OPENBLAS_CORETYPE=SkylakeX" in advice) == (mark == doctor.NOTE)
