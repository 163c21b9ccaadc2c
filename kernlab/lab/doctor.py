"""What is installed, what the machine offers, which data are there - and what to do about it.

Only what would stop `kernlab reproduce` counts as a failure.
"""

import importlib.metadata
import platform
import re
import shutil
import warnings
from pathlib import Path

import numpy as np
import psutil
import scipy.sparse as sp
from sklearn.base import clone
from threadpoolctl import threadpool_info

from kernlab import __version__, paths
from kernlab.approximations import APPROXIMATIONS
from kernlab.datasets import list_datasets
from kernlab.estimators import FPC, HSSSVC, LASN, LLSVM, KernelMachine, SparseCholeskySVC
from kernlab.lab.baselines import BASELINES
from kernlab.lab.engine.provenance import installed, processor_name
from kernlab.runtime import format_bytes, thread_count
from kernlab.solvers import SOLVERS

FOR_TESTS = ("pytest", "nbval", "hypothesis", "playwright", "ruff")
# What OpenBLAS's kernels for SkylakeX need, and the kernels it may take in their stead: it knows
# processors by their family, and takes some that are newer than it for older ones.
AVX512 = frozenset(("avx512f", "avx512cd", "avx512bw", "avx512dq", "avx512vl"))
KERNELS_WITHOUT_AVX512 = frozenset(("Haswell", "Zen"))
OK, NOTE, FAIL = "  ok   ", "  note ", "  FAIL "


def diagnose():
    """The whole report as text, and whether the main job (reproduce) can run.

    Each finding is its mark, what was found, and what to do about it where something is amiss.
    """
    sections = {
        "Software": [_required(), _sparse_cholesky(), blas(), _compiler_cache()],
        "Machine": _machine(),
        "Data": _data(),
        "For the tests": [_packages(FOR_TESTS, NOTE, "pip install 'kernlab[test]'"), _browser()],
    }
    lines = [f"kernlab {__version__} on Python {platform.python_version()}, {platform.system()}"]
    for title, findings in sections.items():
        lines += ["", title]
        for mark, what, advice in findings:
            lines += [mark + what, *([" " * 7 + "-> " + advice] if advice else [])]
    ok = not any(line.startswith(FAIL) for line in lines)
    verdict = "ready: kernlab reproduce" if ok else "not ready: see the lines marked FAIL"
    return "\n".join([*lines, "", verdict]), ok


def compile_loops():
    """Enter every compiled loop, by fits of a few rows of each kind: Numba keeps what it compiles,
    so that no later fit waits for it. Returns the machines that could use none of these rows, and
    why: loops of theirs may be left to compile."""
    draw = np.random.default_rng(0)
    X = draw.normal(size=(300, 4))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    tables = X, X.astype(np.float32), sp.csr_array(np.maximum(X, 0.0))
    papers = LASN(30), LLSVM(30), HSSSVC(), SparseCholeskySVC(sigma=0.3), FPC(3, basis="chebyshev")
    pairs = (
        KernelMachine(approximation, solver, loss=spec.losses[0], intercept="penalised")
        for approximation, kind in APPROXIMATIONS.items()
        for solver, spec in SOLVERS.items()
        if kind.offers(spec.needs)
    )
    others = (spec.make() for spec in BASELINES.values() if not spec.missing())
    left = {}
    with warnings.catch_warnings(action="ignore"):  # of so few rows
        for machine in (*papers, *pairs, *others):
            refusals = []
            for rows in tables:
                try:
                    clone(machine).fit(rows, y).predict(rows)
                except (ValueError, TypeError) as error:  # a machine for dense rows alone, say
                    refusals.append(str(error))
            if len(refusals) == len(tables):
                left[repr(machine)] = refusals[0]
    return left


def _required():
    """What kernlab itself says that it and its workbench require."""
    wanted = importlib.metadata.requires("kernlab") or []
    names = {re.match(r"[\w.-]+", text)[0] for text in wanted
             if "extra ==" not in text or re.search("extra == .lab.", text)}  # fmt: skip
    advice = "pip install 'kernlab[lab]' again, or make reproduce, which sets everything up"
    return _packages(sorted(names), FAIL, advice)


def _packages(names, mark, advice):
    if missing := [name for name in names if installed(name) is None]:
        return mark, f"missing: {', '.join(missing)}", advice
    return OK, ", ".join(f"{name} {installed(name)}" for name in names), ""


def _sparse_cholesky():
    version = installed("scikit-sparse")
    if version is None:
        return (
            NOTE,
            "scikit-sparse is not installed: SciPy's SuperLU factorises in its place, slower",
            "apt-get install libsuitesparse-dev, then pip install 'kernlab[cholmod]'",
        )
    try:
        import sksparse.cholmod as cholmod
    except ImportError as error:
        advice = "reinstall it against the SuiteSparse of this machine"
        return NOTE, f"scikit-sparse {version} does not load: {error}", advice
    suitesparse = getattr(cholmod, "CHOLMOD_VERSION", None)
    told = f", CHOLMOD {suitesparse}" if suitesparse else ""
    return OK, f"scikit-sparse {version}{told}", ""


def blas():
    """The linear algebra library, and whether it uses all that the processor can do."""
    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    if not pools:
        return NOTE, "BLAS: none that can be recognised", "timings may be poor"
    found = set()
    for pool in pools:
        kernels = f", kernels for {pool['architecture']}" if pool.get("architecture") else ""
        name = f"{pool['internal_api']} {pool.get('version') or ''}"
        found.add(f"{name} ({pool['num_threads']} threads{kernels})")
    text = f"BLAS: {', '.join(sorted(found))}"
    narrow = {pool.get("architecture") for pool in pools} & KERNELS_WITHOUT_AVX512
    if not narrow or not processor_features() >= AVX512:
        return OK, text, ""
    return (
        NOTE,
        f"{text}; the processor has AVX-512, which kernels for {' and '.join(narrow)} do not use",
        "set OPENBLAS_CORETYPE=SkylakeX before Python starts: products may be twice as fast",
    )


def processor_features():
    """The instructions that the processor says it has; none where the system does not tell."""
    info = Path("/proc/cpuinfo")
    flags = re.search(r"^flags\s*:(.*)$", info.read_text() if info.is_file() else "", re.MULTILINE)
    return frozenset(flags[1].split() if flags else ())


def _compiler_cache():
    if paths.can_write(paths.PACKAGE / "__pycache__") or paths.can_write(paths.cache_dir()):
        return OK, "compiled code is kept between runs", ""
    what = "compiled code cannot be kept: every process compiles anew, about 20 s"
    return NOTE, what, "set NUMBA_CACHE_DIR to a folder that can be written"


def _machine():
    cores = psutil.cpu_count(logical=False) or psutil.cpu_count()
    yield OK, f"{processor_name()}, {cores} cores; kernlab uses {thread_count()} threads", ""
    memory = psutil.virtual_memory()
    text = f"memory: {format_bytes(memory.total)}, {format_bytes(memory.available)} of it free"
    little = memory.available < 2e9
    yield NOTE if little else OK, text, "the quick profile wants 2 GB" if little else ""
    folder = paths.output_dir("quick")
    free = shutil.disk_usage(next(f for f in (folder, *folder.parents) if f.exists())).free
    text = f"disk: {format_bytes(free)} free where the output goes"
    yield (OK, text, "") if free > 5e8 else (FAIL, text, "make 0.5 GB free")
    if paths.can_write(folder):
        yield OK, f"results go to {folder.parent}", ""
    else:
        yield FAIL, f"{folder.parent} cannot be written", "set KERNLAB_OUT to another folder"


def _data():
    table = list_datasets()
    there = table["where"] != ""
    yield OK, f"{there.sum()} of {len(table)} data sets are there", ""
    external = paths.external_data_dir()
    if external is not None and not external.is_dir():
        yield NOTE, f"KERNLAB_DATA={external} is not a folder", "set it to your data files"
    if not there.all():
        advice = "kernlab data get NAME, or set KERNLAB_DATA; the quick profile needs none of them"
        yield NOTE, f"missing: {', '.join(table.loc[~there, 'name'])}", advice


def _browser():
    found = next(filter(shutil.which, ("chromium", "chromium-browser")), None)
    if found is None:
        return NOTE, "no Chromium: the browser tests are skipped", "apt-get install chromium"
    return OK, f"{found} for the browser tests", ""
