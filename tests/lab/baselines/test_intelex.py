"""scikit-learn-intelex's SVC: the real one where installed, and a stand-in with its interface."""

import sys
import types

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.svm import SVC

from kernlab.lab.baselines import IntelexSVC, LibSVM


def rows(n_classes):
    return make_classification(
        300, 6, n_informative=5, n_redundant=0, n_classes=n_classes, random_state=1
    )


@pytest.fixture(params=["installed", "stand-in"])
def intelex(request, monkeypatch):
    if request.param == "installed":
        pytest.importorskip("sklearnex", reason="scikit-learn-intelex is not installed")
        return
    package, module = types.ModuleType("sklearnex"), types.ModuleType("sklearnex.svm")
    module.SVC = type("SVC", (SVC,), {})
    monkeypatch.setitem(sys.modules, "sklearnex", package)
    monkeypatch.setitem(sys.modules, "sklearnex.svm", module)


@pytest.mark.usefixtures("intelex")
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("kernel", ["rbf", "linear", "polynomial"])
def test_it_decides_as_libsvm(kernel, n_classes):
    X, y = rows(n_classes)
    weights = np.random.default_rng(0).choice([0.0, 1.0, 2.0], len(y))
    ours = IntelexSVC(kernel=kernel, gamma=0.1, tol=1e-6).fit(X, y, weights)
    libsvm = LibSVM(kernel=kernel, gamma=0.1, tol=1e-6).fit(X, y, weights)
    assert "sklearnex" in str(sys.modules["sklearnex"])
    assert type(ours.svc_) is sys.modules["sklearnex.svm"].SVC
    np.testing.assert_allclose(ours.decision_function(X), libsvm.decision_function(X), atol=1e-3)
    assert ours.certify(X, y, weights).relative_gap < 1e-5
    assert "loss" not in ours.get_params()


@pytest.mark.usefixtures("intelex")
def test_a_kernel_that_it_does_not_have_is_refused():
    with pytest.raises(ValueError, match="not Laplacian: use the baseline 'libsvm'"):
        IntelexSVC(kernel="laplacian").fit(*rows(2))


def test_where_it_is_not_installed_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearnex", None)
    monkeypatch.setitem(sys.modules, "sklearnex.svm", None)
    with pytest.raises(ImportError, match="python -m pip install scikit-learn-intelex"):
        IntelexSVC().fit(*rows(2))
