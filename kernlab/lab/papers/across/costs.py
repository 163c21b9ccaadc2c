"""What a fit is predicted to take, beside what it takes."""

import ctypes
import time
import warnings
from contextlib import suppress

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from kernlab.costs import rates
from kernlab.datasets import load_dataset
from kernlab.estimators import FPC, HSSSVC, LASN, LLSVM, KernelMachine, SparseCholeskySVC
from kernlab.lab.engine import NotRun, Study, catalogued, product
from kernlab.lab.engine.measuring import peak_memory
from kernlab.lab.papers.common.fitting import shape_of

MACHINES = {
    "LASN": lambda k: LASN(k),
    "LLSVM": lambda k: LLSVM(k),
    "LLSVM, one pass": lambda k: LLSVM(k, runs=1),
    "FPC": lambda k: FPC(2),
    "FPC, degree chosen": lambda k: FPC(max_degree=3),
    "HSSSVC": lambda k: HSSSVC(),
    "SparseCholeskySVC": lambda k: SparseCholeskySVC(solver="newton"),
    "Fourier + Newton": lambda k: KernelMachine(
        "fourier", gamma="variance", approximation_params={"n_components": k}
    ),
    "Nystrom + LIBLINEAR": lambda k: KernelMachine(
        "nystrom", "liblinear-dcd", gamma="variance", intercept="penalised",
        approximation_params={"n_landmarks": k},
    ),
    "Nystrom + interior point": lambda k: KernelMachine(
        "nystrom", "hinge-interior", gamma="variance", loss="hinge", intercept="none",
        approximation_params={"n_landmarks": k},
    ),
    "exact + Newton": lambda k: KernelMachine("exact", gamma="variance"),
}  # fmt: skip
WITH_LANDMARKS = ("LASN", "LLSVM", "LLSVM, one pass", "Fourier + Newton", "Nystrom + LIBLINEAR")
LANDMARKS = {"quick": (50, 200), "standard": (100, 400, 1500)}
SETS = {"quick": ("magic",), "standard": ("magic", "a9a", "ijcnn1", "cod-rna", "mnist")}
MOST_ROWS = {"exact + Newton": 4000, "Nystrom + interior point": 20_000}
CAP = {"quick": 20.0, "standard": 60.0, "paper": 3600.0}
TIME_FACTOR, MEMORY_FACTOR = 2.0, 1.3


@catalogued("costs", "Predicted and measured time and memory", paper="across")
def costs(datasets=None, landmarks=None, rows=None, seed=0):
    """How well are the time and the memory of a fit known before it is begun?

    `landmarks` are Fourier features, too; `rows` those of the training part, at most.
    """

    def grid(profile):
        quick = profile == "quick"
        known = "quick" if quick else "standard"
        size = {"rows": rows or (1000 if quick else 0), "cap": CAP[profile]}
        points = []
        for name in datasets or SETS[known]:
            ks = landmarks or LANDMARKS[known]
            others = [machine for machine in MACHINES if machine not in WITH_LANDMARKS]
            points += product(name, WITH_LANDMARKS, n_landmarks=ks, **size)
            points += product(name, others, n_landmarks=ks[0], **size)
        return points

    return Study(grid=grid, measure=measure_cost, timing=True, key_figures=within)


def measure_cost(point, seed):
    """Predict, then fit, unless that is predicted to take longer than the cap."""
    data = load_dataset(point.dataset, scaling="standard" if point.dataset != "mnist" else "unit")
    most = min(point["rows"] or len(data.y_train), MOST_ROWS.get(point.method, 10**9))
    chosen = np.random.default_rng(seed).permutation(len(data.y_train))[:most]
    X, y = data.X_train[chosen], data.y_train[chosen]
    machine = MACHINES[point.method](min(point["n_landmarks"], len(y)))
    if "random_state" in machine.get_params():
        machine.set_params(random_state=seed)
    rates()
    predicted = machine.predict_cost(X, y)
    if predicted.seconds > point["cap"]:
        raise NotRun(f"predicted to take {predicted.seconds:.0f} s, above {point['cap']:g} s")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # it is the time that is asked about
        give_back()
        with peak_memory() as peak:
            clone(machine).fit(X, y)
        began = time.perf_counter()
        machine.fit(X, y)  # once more: what is compiled has been compiled
        spent = time.perf_counter() - began
    stages = {f"predicted_{name}_seconds": s for name, s in predicted.stages.items()}
    return (
        stages
        | shape_of(X)
        | {
            "fit_seconds": spent,
            "approximate_seconds": machine.timings_.get("approximate"),
            "solve_seconds": machine.timings_.get("solve"),
            "predicted_seconds": predicted.seconds,
            "time_ratio": spent / predicted.seconds,
            "fit_bytes": peak.bytes_added,
            "predicted_bytes": predicted.bytes,
            "memory_ratio": peak.bytes_added / predicted.bytes,
            "n_iter": int(np.max(machine.n_iter_)),
        }
    )


def give_back():
    """Have the allocator return what is free: what is used again would not count as new."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def within(table):
    """Shares of the fits that took what was predicted; times and bytes differ from run to run."""
    return {"fits beside their predictions": f"{len(table)}"}
