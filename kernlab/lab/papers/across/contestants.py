"""Who takes part in the showdown: each method with its dial, and what is searched for it.

The dial trades time for error: landmarks, trees, the degree, or for machines with the exact kernel
the share of the training rows. What else a method has is searched on a part of the training rows,
from a grid whose axes are in order of importance, so that a smaller budget takes their beginnings.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from kernlab.approximations.polynomial import space_dimension
from kernlab.estimators import FPC, HSSSVC, LASN, LLSVM, KernelMachine, SparseCholeskySVC
from kernlab.lab.baselines import BASELINES
from kernlab.runtime import thread_count

SHARE, NONE = "share of rows", "none"
# gamma is these multiples of 1 / total variance; h is the width of the same kernels.
GAMMAS = (1.0, 4.0, 0.25, 16.0, 64.0, 0.0625)
WIDTHS = (1.0, 0.5, 2.0, 0.25, 0.125, 4.0)
COSTS = (1.0, 10.0, 100.0, 0.1)
LINE = (1.0, 0.1, 10.0, 0.01, 100.0, 0.001)
LARGEST_SPACE = 1000  # FPC's centres at most; its degrees may have more monomials
KERNEL_GRID = {"gamma": GAMMAS, "C": COSTS}
SHARES = (1 / 64, 1 / 16, 1 / 4, 1.0)


@dataclass(frozen=True)
class Contestant:
    """A method of the showdown.

    Parameters
    ----------
    make : callable
        (value of the dial, training rows, features, seed) -> an unfitted estimator.
    dial : str
        What the dial is; `SHARE` is turned by the study, which hands on so many rows.
    values : tuple
        Of the dial, the cheapest first.
    search : number
        The dial while the grid is searched.
    grid : dict
        Parameters searched, most important values first.
    kind : "paper", "kernel", "linear", "trees" or "null"
    package : str
        The baseline that says what is not installed.
    """

    make: Callable
    dial: str
    values: tuple
    search: float
    grid: dict = field(default_factory=lambda: KERNEL_GRID)
    kind: str = "kernel"
    package: str = ""

    @property
    def smallest(self):
        """Rows from which on the machine has the size that the dial asks for."""
        sizes = {"landmarks": max(self.values), "components": max(self.values)}
        return 2 * (sizes | {"degree": LARGEST_SPACE}).get(self.dial, 0)

    @property
    def few(self):
        """Two values for the quick profile: small machines, and of few rows not too few."""
        return self.values[-2:] if self.dial == SHARE else self.values[:2]

    def missing(self):
        """One sentence that says what is not installed; empty where nothing is missing."""
        return BASELINES[self.package].missing() if self.package else ""


def _baseline(name, dial=None, limited=False, **settings):
    """A function that makes a baseline; its dial is the parameter of this name."""

    def make(value, n, p, seed):
        turned = {} if dial is None else {dial: min(int(value), n) if limited else value}
        return BASELINES[name].make(random_state=seed, **settings, **turned)

    return make


def _landmarks(kind, k, n, p, seed):
    return kind(n_landmarks=min(int(k), n), random_state=seed)


def _fourier(D, n, p, seed):
    return KernelMachine(
        "fourier", "newton", intercept="penalised", random_state=seed,
        approximation_params={"n_components": int(D)},
    )  # fmt: skip


def _sparse(near, n, p, seed):
    kept = min(0.5, near / n)
    return SparseCholeskySVC(
        sigma="quantile", sparsity=1.0 - kept, solver="newton", random_state=seed
    )


def _hss(tolerance, n, p, seed):
    return HSSSVC(rel_tol=tolerance, abs_tol=tolerance / 10, max_rank=1000, random_state=seed)


def _polynomials(degree, n, p, seed, steps=None):
    centres = min(space_dimension(p, int(degree)), n, LARGEST_SPACE)
    return FPC(degree=int(degree), n_centres=centres, max_iter=steps, random_state=seed)


def _forest(trees, n, p, seed):
    threads = thread_count()
    return BASELINES["random-forest"].make(
        n_estimators=int(trees), n_jobs=threads, random_state=seed
    )


_K, _D, _TREES = (100, 400, 1600), (200, 800, 3200), (10, 30, 100)
_BOOSTED = {"learning_rate": (0.1, 0.3, 0.05, 0.03, 0.2, 0.5)}
_exact = partial(Contestant, dial=SHARE, values=SHARES, search=1.0)

CONTESTANTS = {
    "LLSVM": Contestant(partial(_landmarks, LLSVM), "landmarks", _K, 200, kind="paper"),
    "LASN": Contestant(partial(_landmarks, LASN), "landmarks", _K, 200, kind="paper"),
    "SparseCholeskySVC": Contestant(
        _sparse, "near rows", (20, 200), 200, {"C": (1.0, 10.0, 100.0, 0.1)}, "paper"
    ),
    "HSSSVC": Contestant(
        _hss, "tolerance", (1.0, 0.1, 0.02), 0.1, {"h": WIDTHS, "C": COSTS}, "paper"
    ),
    "FPC": Contestant(_polynomials, "degree", (1, 2, 3, 5), 2, {}, "paper"),
    "LIBSVM": _exact(_baseline("libsvm", cache_size=1000)),
    "CVM": _exact(_baseline("cvm", eps=1e-5)),
    "LaSVM": _exact(_baseline("lasvm")),
    "RACQP": _exact(_baseline("racqp", max_iter=20)),
    "AMM": Contestant(
        _baseline("amm", "epochs"), "epochs", (1, 5, 20), 5,
        {"regularisation": (1e-4, 1e-5, 1e-3, 1e-6, 1e-2, 1e-7), "max_weights": (20, 5, 50, 10)},
        "linear",
    ),
    "Nystroem + LinearSVC": Contestant(_baseline("nystroem", "n_components", limited=True),
                                       "components", _K, 200),
    "Fourier + Newton": Contestant(_fourier, "components", _D, 400),
    "sklearnex": _exact(_baseline("sklearnex"), package="sklearnex"),
    "thundersvm": _exact(_baseline("thundersvm"), package="thundersvm"),
    "linear": Contestant(_baseline("linear", "tol", dual="auto"), "tolerance", (0.1, 0.001), 0.1,
                         {"C": LINE}, "linear"),
    "hist boosting": Contestant(
        _baseline("hist-boosting", "max_iter", early_stopping=False), "trees", (30, 100, 300), 30,
        _BOOSTED | {"max_leaf_nodes": (31, 127, 15, 63)}, "trees",
    ),
    "LightGBM": Contestant(
        _baseline("lightgbm", "n_estimators"), "trees", (30, 100, 300), 30,
        _BOOSTED | {"num_leaves": (31, 127, 15, 63)}, "trees", "lightgbm",
    ),
    "random forest": Contestant(
        _forest, "trees", _TREES, 30,
        {"max_features": ("sqrt", 0.3, 0.6, 1.0), "min_samples_leaf": (1, 3, 10)}, "trees",
    ),
    "ridge": Contestant(partial(_polynomials, steps=1), "degree", (1, 2, 3, 5), 2, {}, "null"),
    "Parzen": _exact(_baseline("parzen"), values=(1 / 64, 1 / 16, 1 / 4), grid={"gamma": GAMMAS},
                     kind="null"),
    "majority": Contestant(_baseline("majority"), NONE, (0,), 0, {}, "null"),
}  # fmt: skip
"""All methods, in the order of figures and tables."""

KERNEL_MACHINES = tuple(n for n, one in CONTESTANTS.items() if one.kind in ("paper", "kernel"))
