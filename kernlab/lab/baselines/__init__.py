"""What kernlab's methods are compared with: the papers' competitors, today's programs, null rows.

`BASELINES` lists them all: `BASELINES["nystroem"].make(n_components=200, C=10.0)` is a scikit-learn
classifier with `timings_`, `nbytes_` and, where its problem has a dual, `certify`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from kernlab.lab.baselines.amm import AMM
from kernlab.lab.baselines.base import Baseline, Wrapped, imported
from kernlab.lab.baselines.cvm import CVM
from kernlab.lab.baselines.kernel import LibSVM, Parzen
from kernlab.lab.baselines.lasvm import LaSVM
from kernlab.lab.baselines.racqp import RACQP

__all__ = ["AMM", "BASELINES", "CVM", "RACQP", "Baseline", "BaselineSpec", "LaSVM", "LibSVM",
           "Parzen", "Wrapped"]  # fmt: skip


@dataclass(frozen=True)
class BaselineSpec:
    """A baseline as it is compared.

    Parameters
    ----------
    title : str
        What it is, in a table's row.
    make : callable
        Makes it, unfitted, from parameters by name.
    dial : str
        The parameter of `make` that trades time for error ("" where none does).
    values : tuple
        Values of the dial to compare at.
    package, kind : str
        What must be installed beside kernlab's own requirements, and the class that it brings.
    """

    title: str
    make: Callable
    dial: str = ""
    values: tuple = ()
    package: str = ""
    kind: str = ""

    def missing(self):
        """One sentence that says what is not installed; empty where nothing is missing."""
        try:
            imported(self.kind) if self.package else None
        except ImportError as error:
            return (
                f"{self.title} cannot be imported ({error}); "
                f"install it with: python -m pip install {self.package}"
            )
        return ""


def composed(model, features=None, of_model=None, **settings):
    """A function that makes a model, and features for it, from parameters of both by name.

    What the model takes without naming it among its parameters stands in `of_model`.
    """

    def make(**parameters):
        made = imported(model)(**of_model or {})
        made = Wrapped(made, features=features and imported(features)())
        return made.set_params(**settings | parameters)

    return make


_of = "sklearn.ensemble."
_liblinear = partial(composed, "sklearn.svm.LinearSVC")
_maps, _own = "sklearn.kernel_approximation.", "kernlab.lab.baselines.base."
_intel, _thunder, _lightgbm = "sklearnex.svm.SVC", "thundersvm.SVC", "lightgbm.LGBMClassifier"
_trees, _ranks, _tols = (10, 30, 100, 300), (50, 100, 200, 500, 1000, 2000), (1.0, 0.1, 1e-3)

# fmt: off
BASELINES = {name: BaselineSpec(*spec) for name, *spec in (
    ("libsvm", "LIBSVM (exact kernel)", LibSVM, "tol", _tols),
    ("libsvm-subsample", "LIBSVM on a subsample", partial(LibSVM, n_samples=1000),
        "n_samples", (250, 1000, 4000)),
    ("cvm", "CVM (core vector machine)", CVM, "eps", (1e-3, 1e-4, 1e-5, 1e-6)),
    ("lasvm", "LaSVM", LaSVM, "epochs", (1, 2, 3)),
    ("racqp", "RACQP (ADMM in random blocks)", RACQP, "max_iter", (5, 20, 100)),
    ("amm", "AMM online", AMM, "epochs", (1, 3, 10, 30)),
    ("amm-batch", "AMM batch", partial(AMM, batch=True), "epochs", (1, 3, 10, 30)),
    ("linear", "Linear SVM (LIBLINEAR)", _liblinear(dual=True), "tol", _tols),
    ("poly2", "Poly2 (explicit degree-2 features, LIBLINEAR)",
        _liblinear(_own + "DegreeTwo", dual=True), "tol", _tols),
    ("nystroem", "Nystroem + LinearSVC (scikit-learn)",
        _liblinear(_maps + "Nystroem"), "n_components", _ranks),
    ("fourier", "Random Fourier features + LinearSVC (scikit-learn)",
        _liblinear(_maps + "RBFSampler", gamma="scale"), "n_components", _ranks),
    ("sklearnex", "SVC (scikit-learn-intelex)", partial(LibSVM, engine=_intel), "tol", _tols,
        "scikit-learn-intelex", _intel),
    ("thundersvm", "SVC (thundersvm-cpu)", partial(LibSVM, engine=_thunder), "tol", _tols,
        "thundersvm-cpu", _thunder),
    ("random-forest", "Random forest", composed(_of + "RandomForestClassifier"),
        "n_estimators", _trees),
    ("boosting", "Gradient boosting", composed(_of + "GradientBoostingClassifier"),
        "n_estimators", _trees),
    ("hist-boosting", "Histogram gradient boosting",
        composed(_of + "HistGradientBoostingClassifier", _own + "filled"), "max_iter", _trees),
    ("lightgbm", "LightGBM", composed(_lightgbm, of_model={"verbose": -1}), "n_estimators", _trees,
        "lightgbm", _lightgbm),
    ("sgd", "Linear SVM by stochastic gradient descent",
        composed("sklearn.linear_model.SGDClassifier", tol=None, max_iter=10),
        "max_iter", (1, 3, 10, 30)),
    # With alpha = 1 on FPC's features this is FPC's first step, and nearly its last.
    ("ridge", "Ridge regression on features", composed("sklearn.linear_model.RidgeClassifier",
        fit_intercept=False, solver="cholesky"), "alpha", (1e-2, 1.0, 1e2)),
    ("parzen", "Parzen window (kernel mean of each class)", Parzen),
    ("majority", "Majority class", composed("sklearn.dummy.DummyClassifier")),
)}
# fmt: on
