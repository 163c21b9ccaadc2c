"""What is installed, what the machine offers, which data are at hand - and what to do about it.

`diagnose` runs independent checks; each gives a line of what was found and, where something is
amiss, a line of what to do. Only what would stop `kernlab reproduce` counts as a failure.
"""

import importlib.metadata
import importlib.util
import platform
import shutil
from dataclasses import dataclass
from pathlib import Path

import psutil

from kernlab import __version__, paths
from kernlab.runtime import format_bytes, thread_count

REQUIRED = (
    "numpy",
    "scipy",
    "scikit-learn",
    "numba",
    "pandas",
    "matplotlib",
    "jupyterlab",
    "ipywidgets",
    "ipykernel",
    "papermill",
    "nbconvert",
    "pooch",
    "tqdm",
    "threadpoolctl",
    "click",
    "psutil",
)
FOR_TESTS = ("pytest", "nbval", "hypothesis", "playwright", "ruff")
# What OpenBLAS's kernels for SkylakeX need, and the kernels it may take in their stead: it knows
# processors by their family, and takes some that are newer than it for older ones.
AVX512 = frozenset(("avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"))
KERNELS_WITHOUT_AVX512 = frozenset(("Haswell", "Zen"))
MARKS = {"ok": "  ok   ", "note": "  note ", "fail": "  FAIL "}


@dataclass(frozen=True)
class Finding:
    """One thing looked at: `state` is ok, note (something optional is missing) or fail."""

    state: str
    what: str
    advice: str = ""


def diagnose():
    """The whole report as text, and whether the main job (reproduce) can run."""
    sections = {
        "Software": [*_packages(), _sparse_cholesky(), _blas(), _compiler_cache()],
        "Machine": [_processor(), _memory(), _disk()],
        "Data": _data(),
        "For the tests": [*_test_packages(), _browser()],
        "Output": [_output()],
    }
    lines = [f"kernlab {__version__} on Python {platform.python_version()}, {platform.system()}"]
    for title, findings in sections.items():
        lines += ["", title]
        for finding in findings:
            lines.append(MARKS[finding.state] + finding.what)
            if finding.advice:
                lines.append(" " * 7 + "-> " + finding.advice)
    ok = all(finding.state != "fail" for findings in sections.values() for finding in findings)
    verdict = "ready: kernlab reproduce" if ok else "not ready: see the lines marked FAIL"
    return "\n".join([*lines, "", verdict]), ok


def _version(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _packages():
    versions = {package: _version(package) for package in REQUIRED}
    missing = [package for package, version in versions.items() if version is None]
    found = ", ".join(f"{package} {version}" for package, version in versions.items() if version)
    findings = [Finding("ok", found)]
    if missing:
        advice = "pip install kernlab again, or run make reproduce, which sets everything up"
        findings.append(Finding("fail", f"missing: {', '.join(missing)}", advice))
    return findings


def _test_packages():
    missing = [package for package in FOR_TESTS if _version(package) is None]
    if missing:
        return [Finding("note", f"missing: {', '.join(missing)}", "pip install 'kernlab[test]'")]
    return [Finding("ok", ", ".join(f"{package} {_version(package)}" for package in FOR_TESTS))]


def _sparse_cholesky():
    version = _version("scikit-sparse")
    if version is None:
        return Finding(
            "note",
            "scikit-sparse is not installed: the sparse Cholesky system uses SciPy's SuperLU, "
            "which is slower",
            "apt-get install libsuitesparse-dev, then pip install 'kernlab[cholmod]'",
        )
    try:
        import sksparse.cholmod as cholmod
    except ImportError as error:
        advice = "reinstall it against the SuiteSparse of this machine"
        return Finding("note", f"scikit-sparse {version} does not load: {error}", advice)
    suitesparse = getattr(cholmod, "CHOLMOD_VERSION", None) or _suitesparse_version()
    interface = "0.5" if hasattr(cholmod, "cho_factor") else "0.4"
    return Finding(
        "ok", f"scikit-sparse {version} (interface {interface}), SuiteSparse {suitesparse}"
    )


def _suitesparse_version():
    """From the header that scikit-sparse was built against, where it is still there."""
    for folder in ("/usr/include/suitesparse", "/usr/local/include/suitesparse"):
        header = Path(folder) / "SuiteSparse_config.h"
        if header.is_file():
            text = header.read_text(errors="replace")
            numbers = [
                line.split()[2]
                for part in ("MAIN", "SUB", "SUBSUB")
                for line in text.splitlines()
                if line.startswith(f"#define SUITESPARSE_{part}_VERSION")
            ]
            return ".".join(numbers)
    return "of unknown version"


def _blas():
    import numpy as np  # noqa: F401 - loads the library that is looked for
    from threadpoolctl import threadpool_info

    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    if not pools:
        return Finding("note", "BLAS: none that can be recognised", "timings may be poor")
    text = f"BLAS: {', '.join(sorted({_library(pool) for pool in pools}))}"
    narrow = {pool.get("architecture") for pool in pools} & KERNELS_WITHOUT_AVX512
    if narrow and _processor_features() >= AVX512:
        kernels = " and ".join(sorted(narrow))
        return Finding(
            "note",
            f"{text}; the processor has AVX-512, which kernels for {kernels} do not use",
            "set OPENBLAS_CORETYPE=SkylakeX before Python starts: matrix products may be twice "
            "as fast",
        )
    return Finding("ok", text)


def _library(pool):
    kernels = f", kernels for {pool['architecture']}" if pool.get("architecture") else ""
    version = pool.get("version") or ""
    return f"{pool['internal_api']} {version} ({pool['num_threads']} threads{kernels})"


def _processor_features():
    """The instructions that the processor says it has; none where the system does not tell."""
    lines = _processor_lines("flags")
    return frozenset(lines[0].split()) if lines else frozenset()


def _processor_lines(label):
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.is_file() else []
    return [line.split(":", 1)[1].strip() for line in lines if line.startswith(label)]


def _compiler_cache():
    if paths.can_write(paths.PACKAGE / "__pycache__") or paths.can_write(paths.cache_dir()):
        return Finding("ok", "compiled code is kept between runs")
    return Finding(
        "note",
        "compiled code cannot be kept: every process compiles anew, about 20 s",
        "set NUMBA_CACHE_DIR to a folder that can be written",
    )


def _processor():
    cores = psutil.cpu_count(logical=False) or psutil.cpu_count()
    names = _processor_lines("model name")
    name = names[0] if names else platform.processor() or platform.machine()
    return Finding("ok", f"{name}, {cores} cores; kernlab uses {thread_count()} threads")


def _memory():
    memory = psutil.virtual_memory()
    text = f"memory: {format_bytes(memory.total)}, {format_bytes(memory.available)} of it free"
    if memory.available < 2e9:
        return Finding("note", text, "the quick profile wants 2 GB: close something")
    return Finding("ok", text)


def _disk():
    folder = paths.output_dir("quick")
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    text = f"disk: {format_bytes(free)} free where the output goes"
    return Finding("ok", text) if free > 5e8 else Finding("fail", text, "make 0.5 GB free")


def _data():
    from kernlab.datasets import list_datasets

    table = list_datasets()
    at_hand = table["at_hand"].astype(bool)
    findings = [Finding("ok", f"{at_hand.sum()} of {len(table)} data sets are at hand")]
    external = paths.external_data_dir()
    if external is not None and not external.is_dir():
        findings.append(
            Finding("note", f"KERNLAB_DATA={external} is not a folder", "set it to your data files")
        )
    missing = list(table.loc[~at_hand, "name"])
    if missing:
        findings.append(
            Finding(
                "note",
                f"missing: {', '.join(missing)}",
                "kernlab data get NAME, or set KERNLAB_DATA; the quick profile needs none of them",
            )
        )
    return findings


def _browser():
    found = next((name for name in ("chromium", "chromium-browser") if shutil.which(name)), None)
    if found is None:
        return Finding(
            "note", "no Chromium: the browser tests are skipped", "apt-get install chromium"
        )
    return Finding("ok", f"{found} for the browser tests")


def _output():
    folder = paths.output_dir("quick")
    if paths.can_write(folder):
        return Finding("ok", f"results go to {folder.parent}")
    return Finding(
        "fail", f"{folder.parent} cannot be written", "set KERNLAB_OUT to another folder"
    )
