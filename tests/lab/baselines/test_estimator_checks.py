"""scikit-learn's own checks on every baseline; what is expected to fail says why."""

import pytest
from sklearn.utils.estimator_checks import (
    check_sample_weight_equivalence_on_dense_data,
    check_sample_weight_equivalence_on_sparse_data,
    parametrize_with_checks,
)

from kernlab.lab.baselines import (
    BASELINES,
    LiblinearDCD,
    LiblinearTRON,
    LibSVM,
    LibSVMSubsample,
    Parzen,
    Poly2,
)

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

WEIGHT_CHECKS = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)
LOOSE = dict.fromkeys(
    WEIGHT_CHECKS,
    "the default tolerance and gamma='scale', which counts repeated rows, blur the identity; "
    "test_weights_are_repetitions has it tightly",
)
EXPECTED = {
    LibSVM: LOOSE,
    LibSVMSubsample: LOOSE,
    LiblinearDCD: LOOSE,
    LiblinearTRON: LOOSE,
    Poly2: LOOSE,
    Parzen: LOOSE,
    BASELINES["random-forest"]: dict.fromkeys(
        WEIGHT_CHECKS, "the bootstrap draws rows, so a row twice is not a row of weight two"
    ),
}


def instances():
    """Every baseline as it is, and variants whose code differs.

    scikit-learn-intelex's SVC is the code of LibSVM around another class: see test_intelex.py.
    """
    return [
        *(cls() for name, cls in BASELINES.items() if name != "sklearnex-svc"),
        LibSVM(loss="squared_hinge", kernel="laplacian"),
        LiblinearDCD(loss="hinge"),
        BASELINES["ridge"](intercept="free"),
    ]


def expected_failures(estimator):
    if estimator.get_params().get("intercept") == "none":
        return {
            "check_class_weight_classifiers": "without an intercept (as FPC's ridge) no weight "
            "moves the boundary away from the origin"
        }
    return EXPECTED.get(type(estimator), {})


@parametrize_with_checks(instances(), expected_failed_checks=expected_failures, xfail_strict=True)
def test_follows_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    "check",
    [
        check_sample_weight_equivalence_on_dense_data,
        check_sample_weight_equivalence_on_sparse_data,
    ],
    ids=["dense", "sparse"],
)
@pytest.mark.parametrize(
    "baseline",
    [
        LibSVM(gamma=0.1, tol=1e-10),
        LibSVM(gamma=0.1, tol=1e-10, loss="squared_hinge"),
        LibSVM(gamma=0.1, tol=1e-10, kernel="laplacian"),
        LibSVMSubsample(1000, gamma=0.1, tol=1e-10),
        LiblinearDCD(tol=1e-12, max_iter=100_000),
        LiblinearDCD(tol=1e-12, max_iter=100_000, loss="hinge"),
        LiblinearTRON(tol=1e-12, class_weight="balanced"),
        Poly2(gamma=0.1, tol=1e-12, method="tron"),
        Parzen(gamma=0.1),
    ],
    ids=repr,
)
def test_weights_are_repetitions(baseline, check):
    """Weight 2 is the row twice and weight 0 the row absent, dense and sparse."""
    check(type(baseline).__name__, baseline)
