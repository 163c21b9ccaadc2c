"""What a fit takes: beside its prediction, and as rows and landmarks grow."""

import warnings

import numpy as np
import pandas as pd
from scipy.stats import linregress
from sklearn.base import clone

from kernlab.costs import rates
from kernlab.datasets import generators, load_dataset
from kernlab.estimators import FPC, HSSSVC, LASN, LLSVM, KernelMachine, SparseCholeskySVC
from kernlab.kernels import resolve_gamma
from kernlab.lab.engine import Choice, NotRun, Positive, catalogued, one_of, product, several
from kernlab.lab.engine.measuring import peak_memory
from kernlab.lab.papers.across.contestants import CONTESTANTS, SHARE
from kernlab.lab.papers.across.protocol import foretold
from kernlab.lab.papers.common.fitting import fitted_row, samples, seconds_of, shape_of, unfinished
from kernlab.runtime import give_back_freed_memory

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
LANDMARKS = Choice((50, 200), (100, 400, 1500))
SETS = Choice(("magic",), ("magic", "a9a", "ijcnn1", "cod-rna", "mnist"))
MOST_ROWS = {"exact + Newton": 4000, "Nystrom + interior point": 20_000}
CAP = Choice(20.0, 60.0, 3600.0)
TIME_FACTOR, MEMORY_FACTOR = 2.0, 1.3  # within which predictions are wanted


@catalogued("costs", "Predicted and measured time and memory", paper="across")
def costs(profile, datasets=SETS, landmarks=LANDMARKS, rows=Choice(1000, 0), seed=0):
    """How well are the time and the memory of a fit known before it is begun?

    `landmarks` are Fourier features, too; `rows` those of the training part, at most.
    """
    size, points = {"rows": rows, "cap": CAP.of(profile)}, []
    for name in datasets:
        others = [machine for machine in MACHINES if machine not in WITH_LANDMARKS]
        points += product(name, WITH_LANDMARKS, n_landmarks=landmarks, **size)
        points += product(name, others, n_landmarks=landmarks[0], **size)
    return points


@costs.measure(timing=True)
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
    with unfinished():
        give_back_freed_memory()  # or what is used again would not count as new
        with peak_memory() as peak:
            clone(machine).fit(X, y)
        # Once more: what is compiled has been compiled.
        _, spent = seconds_of(lambda: machine.fit(X, y))
    return shape_of(X) | {
        "fit_seconds": spent,
        "approximate_seconds": machine.timings_.get("approximate"),
        "solve_seconds": machine.timings_.get("solve"),
        "predicted_seconds": predicted.seconds,
        "time_ratio": spent / predicted.seconds,
        "fit_bytes": peak.bytes_added,
        "predicted_bytes": predicted.bytes,
        "memory_ratio": peak.bytes_added / predicted.bytes,
        "n_iter": int(np.max(machine.n_iter_)),
        **{f"predicted_{name}_seconds": s for name, s in predicted.stages.items()},
    }


@costs.key_figures
def within(table):
    """Shares of the fits that took what was predicted; times and bytes differ from run to run."""
    return {"fits beside their predictions": f"{len(table)}"}


METHODS = tuple(n for n, one in CONTESTANTS.items() if one.kind != "null" and not one.package)
LANDMARKED = ("LLSVM", "LASN", "Nystroem + LinearSVC", "Fourier + Newton")
SIZES = Choice(
    (250, 500, 1000),
    (1000, 4000, 16_000, 64_000, 256_000, 1_000_000),
    (1000, 10_000, 100_000, 1_000_000, 10_000_000),
)
RANKS = Choice((50, 100, 200), (50, 100, 200, 400, 800, 1600))
ROWS_OF_RANKS = Choice(1000, 20_000, 200_000)
TEST_ROWS, GAMMA, COST = 2000, 16.0, 1.0
WARMED = 2.0  # seconds: of fits that take longer, what they compile is a small part
UPPER = 0.5  # the slope is that of the sizes from this share of the decades on


@catalogued("scaling", "How time and memory grow", paper="across")
def scaling(
    profile, methods: several(one_of(*METHODS)) = Choice(METHODS), sizes=SIZES, ranks=RANKS,
    cap: Positive = Choice(60.0, 10.0, 3600.0), repeats=Choice(1, 1, 3), seed=0,
):  # fmt: skip
    """How do time and memory grow with the rows, and with the landmarks, and where do they end?

    On a checkerboard, each method with the middle value of its dial and one setting of all else;
    landmarks (or random features) on a fixed number of rows. `cap` is the seconds of a fit: under
    `quick`, where all end at once, so many that no machine under load foretells more.
    """
    points = []
    for method in methods:
        one = CONTESTANTS[method]  # the middle of its dial
        dial = one.values[len(one.values) // 2] if one.dial != SHARE else 1.0
        points += product("checkerboard", method, "rows", repeats, size=sizes, dial=dial, cap=cap)
    landmarked = [method for method in methods if method in LANDMARKED]
    size = {"size": ROWS_OF_RANKS.of(profile), "dial": ranks, "cap": cap}
    return points + product("checkerboard", landmarked, "landmarks", repeats, **size)


@scaling.measure(timing=True)
def measure_size(point, seed):
    """Fit so many generated rows, where fits on fewer foretell that it ends within the cap."""
    n, contestant = point["size"], CONTESTANTS[point.method]
    X, y = generators.checkerboard(n, noise=0.0, seed=seed)
    X_test, y_test = generators.checkerboard(TEST_ROWS, noise=0.0, seed=seed + 1)
    gamma = GAMMA * resolve_gamma("variance", X)
    fixed = {"gamma": gamma, "h": (2.0 * gamma) ** -0.5, "C": COST}
    fixed = {name: fixed.get(name, values[0]) for name, values in contestant.grid.items()}

    def make(rows):
        return contestant.make(point["dial"], rows, X.shape[1], seed).set_params(**fixed)

    with warnings.catch_warnings(action="ignore"):  # of a few rows
        make(200).fit(X[:200], y[:200]).predict(X_test[:10])
        expected = foretold(make, X, y, point["cap"], seed, contestant.smallest)
        if expected is None or expected < WARMED:  # many rows take other code than a few
            make(n).fit(X, y)
    data = samples(X, y, X_test, y_test)
    with peak_memory() as peak:
        row = fitted_row(make(n), data)
    return row | {"fit_bytes": peak.bytes_added, "error": 1.0 - row["test_accuracy"]}


def exponents(table):
    """The power with which each method's time grows, over the upper half of its sizes.

    Returns
    -------
    DataFrame
        method, variant ("rows" or "landmarks"), exponent, its standard error (NaN of two sizes),
        largest (size that was fitted).
    """
    found = []
    for (variant, method), rows in table.groupby(["variant", "method"], sort=False):
        x = "size" if variant == "rows" else "dial"
        means = rows.groupby(x)["fit_seconds"].median()
        smallest, largest = means.index.min(), means.index.max()
        upper = means[means.index >= 0.999 * largest**UPPER * smallest ** (1 - UPPER)]
        told = {"method": method, "variant": variant, "largest": int(means.index.max())}
        told |= {"exponent": np.nan, "standard_error": np.nan}
        if len(upper) > 1:
            line = linregress(np.log(upper.index.to_numpy(float)), np.log(upper.to_numpy()))
            told["exponent"] = line.slope
            told["standard_error"] = line.stderr if len(upper) > 2 else np.nan
        found.append(told)
    return pd.DataFrame(found)


@scaling.key_figures("{method}", lambda table: table["variant"] == "rows")
def _largest(rows):
    return f"{rows['size'].max():,.0f} rows"
