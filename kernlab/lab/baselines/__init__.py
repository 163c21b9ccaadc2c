"""What kernlab's methods are compared with: the papers' competitors, today's programs, null rows.

`BASELINES` lists them all: `BASELINES["nystroem"].make(n_components=200, C=10.0)` is a scikit-learn
classifier with `timings_`, `nbytes_` and, where its problem has a dual, `certify`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from kernlab.lab.baselines.base import Baseline, Wrapped, imported
from kernlab.lab.baselines.libsvm import LibSVM, Parzen
from kernlab.lab.baselines.linear import LinearSVM

__all__ = ["BASELINES", "Baseline", "BaselineSpec", "LibSVM", "LinearSVM", "Parzen", "Wrapped"]


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
    package : str
        What must be installed for it beside kernlab's own requirements.
    kind : str
        The class that this package brings.
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


def composed(outer, part, kind, settings=None, **fixed):
    """A function that makes a wrapper around a model or features, to which its parameters go.

    Seeds and weights of classes go to the wrapper, which hands them on.
    """

    def make(**parameters):
        inner = imported(kind)
        names = set(inner().get_params()) - {"random_state", "class_weight"}
        own = {name: parameters.pop(name) for name in names & parameters.keys()}
        return outer(**{part: inner(**(settings or {}) | own)}, **fixed | parameters)

    return make


_model = partial(composed, Wrapped, "model")
_linear_on = partial(composed, LinearSVM, "features")
_trees = (10, 30, 100, 300)
_ranks = (50, 100, 200, 500, 1000, 2000)
_intel, _thunder, _lightgbm = "sklearnex.svm.SVC", "thundersvm.SVC", "lightgbm.LGBMClassifier"
_ensemble = "sklearn.ensemble."

# fmt: off
BASELINES = {
    "libsvm": BaselineSpec("LIBSVM (exact kernel)", LibSVM, "tol", (1.0, 0.1, 1e-3)),
    "libsvm-subsample": BaselineSpec("LIBSVM on a subsample", partial(LibSVM, n_samples=1000),
        "n_samples", (250, 1000, 4000)),
    "linear": BaselineSpec("Linear SVM (LIBLINEAR)", LinearSVM, "tol", (1.0, 0.1, 1e-3)),
    "poly2": BaselineSpec("Poly2 (explicit degree-2 features, LIBLINEAR)",
        _linear_on("kernlab.lab.baselines.linear.DegreeTwo"), "tol", (1.0, 0.1, 1e-3)),
    "nystroem": BaselineSpec("Nystroem + LinearSVC (scikit-learn)",
        _linear_on("sklearn.kernel_approximation.Nystroem", dual=False), "n_components", _ranks),
    "fourier": BaselineSpec("Random Fourier features + LinearSVC (scikit-learn)",
        _linear_on("sklearn.kernel_approximation.RBFSampler", {"gamma": "scale"}, dual=False),
        "n_components", _ranks),
    "sklearnex": BaselineSpec("SVC (scikit-learn-intelex)", partial(LibSVM, engine=_intel),
        "tol", (1.0, 0.1, 1e-3), "scikit-learn-intelex", _intel),
    "thundersvm": BaselineSpec("SVC (thundersvm-cpu)", partial(LibSVM, engine=_thunder),
        "tol", (1.0, 0.1, 1e-3), "thundersvm-cpu", _thunder),
    "random-forest": BaselineSpec("Random forest", _model(_ensemble + "RandomForestClassifier"),
        "n_estimators", _trees),
    "boosting": BaselineSpec("Gradient boosting", _model(_ensemble + "GradientBoostingClassifier"),
        "n_estimators", _trees),
    "hist-boosting": BaselineSpec("Histogram gradient boosting",
        _model(_ensemble + "HistGradientBoostingClassifier", dense=True), "max_iter", _trees),
    "lightgbm": BaselineSpec("LightGBM", _model(_lightgbm, {"verbose": -1}),
        "n_estimators", _trees, "lightgbm", _lightgbm),
    "sgd": BaselineSpec("Linear SVM by stochastic gradient descent",
        _model("sklearn.linear_model.SGDClassifier", {"tol": None, "max_iter": 10}),
        "max_iter", (1, 3, 10, 30)),
    # With alpha = 1 on FPC's features this is FPC's first step, and nearly its last.
    "ridge": BaselineSpec("Ridge regression on features",
        _model("sklearn.linear_model.RidgeClassifier",
               {"fit_intercept": False, "solver": "cholesky"}), "alpha", (1e-2, 1.0, 1e2)),
    "parzen": BaselineSpec("Parzen window (kernel mean of each class)", Parzen),
    "majority": BaselineSpec("Majority class", _model("sklearn.dummy.DummyClassifier")),
}
# fmt: on
