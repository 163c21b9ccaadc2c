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


@dataclass(frozen=True)
class BaselineSpec:
    """A baseline as it is compared.

    Parameters
    ----------
    title : str
        What it is, in a table's row.
    make : callable
        Makes it, unfitted, from parameters by name.
    package, kind : str
        What must be installed beside kernlab's own requirements, and the class that it brings.
    """

    title: str
    make: Callable
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

# fmt: off
BASELINES = {name: BaselineSpec(*spec) for name, *spec in (
    ("libsvm", "LIBSVM (exact kernel)", LibSVM),
    ("libsvm-subsample", "LIBSVM on a subsample", partial(LibSVM, n_samples=1000)),
    ("cvm", "CVM (core vector machine)", CVM),
    ("lasvm", "LaSVM", LaSVM),
    ("racqp", "RACQP (ADMM in random blocks)", RACQP),
    ("amm", "AMM online", AMM),
    ("amm-batch", "AMM batch", partial(AMM, batch=True)),
    ("linear", "Linear SVM (LIBLINEAR)", _liblinear(dual=True)),
    ("poly2", "Poly2 (explicit degree-2 features, LIBLINEAR)",
        _liblinear(_own + "DegreeTwo", dual=True)),
    ("nystroem", "Nystroem + LinearSVC (scikit-learn)", _liblinear(_maps + "Nystroem")),
    ("fourier", "Random Fourier features + LinearSVC (scikit-learn)",
        _liblinear(_maps + "RBFSampler", gamma="scale")),
    ("sklearnex", "SVC (scikit-learn-intelex)", partial(LibSVM, engine=_intel),
        "scikit-learn-intelex", _intel),
    ("thundersvm", "SVC (thundersvm-cpu)", partial(LibSVM, engine=_thunder),
        "thundersvm-cpu", _thunder),
    ("random-forest", "Random forest", composed(_of + "RandomForestClassifier")),
    ("boosting", "Gradient boosting", composed(_of + "GradientBoostingClassifier")),
    ("hist-boosting", "Histogram gradient boosting",
        composed(_of + "HistGradientBoostingClassifier", _own + "filled")),
    ("lightgbm", "LightGBM", composed(_lightgbm, of_model={"verbose": -1}), "lightgbm", _lightgbm),
    ("sgd", "Linear SVM by stochastic gradient descent",
        composed("sklearn.linear_model.SGDClassifier", tol=None, max_iter=10)),
    # With alpha = 1 on FPC's features this is FPC's first step, and nearly its last.
    ("ridge", "Ridge regression on features", composed("sklearn.linear_model.RidgeClassifier",
        fit_intercept=False, solver="cholesky")),
    ("parzen", "Parzen window (kernel mean of each class)", Parzen),
    ("majority", "Majority class", composed("sklearn.dummy.DummyClassifier")),
)}
# fmt: on
