"""CVM, LaSVM and RACQP against independent optima, AMM against its definition and its authors'."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import make_classification

from kernlab import KernelMachine
from kernlab.datasets import load_dataset
from kernlab.lab.baselines import AMM, CVM, RACQP, LaSVM, LibSVM
from kernlab.runtime import MemoryLimitError


def rows(n_classes=2, n=400):
    X, y = make_classification(
        n, 6, n_informative=5, n_redundant=0, n_classes=n_classes, flip_y=0.1, random_state=1
    )
    return X, y, np.random.default_rng(0).choice([0.0, 1.0, 4.0], n)


KERNELS = pytest.mark.parametrize(
    "settings",
    [{"gamma": 0.2}, {"kernel": "linear"}, {"kernel": "polynomial", "gamma": 0.1, "degree": 2}],
    ids=lambda settings: settings.get("kernel", "rbf"),
)


# ------------------------------------------------------------------------------------- CVM
@KERNELS
@pytest.mark.parametrize("weighted", [False, True])
def test_cvm_reaches_the_optimum_of_newtons_method(settings, weighted):
    X, y, weights = rows()
    weights = weights if weighted else np.ones(len(y))
    cvm = CVM(2.0, eps=1e-8, random_state=0, **settings).fit(X, y, weights)
    found = cvm.certify(X, y, weights)
    parts = {"gamma": 1.0} | settings
    own = {name: parts.pop(name) for name in ("degree",) if name in parts}
    best = KernelMachine(
        "exact", "newton-cg", C=2.0, loss="squared_hinge", intercept="penalised",
        approximation_params=own, tol=1e-10, **parts,
    ).fit(X, y, sample_weight=weights)  # fmt: skip
    assert found.dual == pytest.approx(best.result_.objective, rel=1e-4)
    assert found.relative_gap < 1e-3
    np.testing.assert_allclose(cvm.decision_function(X), best.decision_function(X), atol=2e-2)


def test_cvm_keeps_to_its_eps_and_its_core_set_grows_with_it():
    """1 + eps times the radius, that is a share of 4 eps r^2 D of the dual objective D."""
    X, y, _ = rows(n=1500)
    best = CVM(10.0, eps=1e-9, gamma=0.2, random_state=0).fit(X, y).certify(X, y).dual
    core = []
    for eps in (1e-4, 1e-5, 1e-6):
        cvm = CVM(10.0, eps=eps, gamma=0.2, random_state=0).fit(X, y)
        dual = cvm.certify(X, y).dual
        assert 0.0 <= 1.0 - dual / best < 4.0 * eps * 2.05 * best
        core.append(len(cvm.support_))
    assert core[0] < core[1] < core[2] < len(y)


def test_cvm_computes_again_what_it_has_no_room_for():
    X, y, _ = rows()
    whole, part = (CVM(2.0, gamma=0.2, random_state=0, max_memory=m).fit(X, y)
                   for m in ("1GB", 8 * 400 * 30))  # fmt: skip
    assert len(part.support_) > 30
    np.testing.assert_allclose(part.decision_function(X), whole.decision_function(X), atol=1e-5)


# ----------------------------------------------------------------------------------- LaSVM
@KERNELS
@pytest.mark.parametrize("weighted", [False, True])
def test_lasvm_reaches_the_objective_of_libsvm(settings, weighted):
    X, y, weights = rows()
    weights = weights if weighted else np.ones(len(y))
    lasvm = LaSVM(2.0, epochs=4, random_state=0, **settings).fit(X, y, weights)
    libsvm = LibSVM(2.0, tol=1e-6, **settings).fit(X, y, weights).certify(X, y, weights)
    found = lasvm.certify(X, y, weights)
    assert found.dual == pytest.approx(libsvm.dual, rel=1e-3)
    assert found.primal == pytest.approx(libsvm.primal, rel=5e-3)


def test_one_epoch_of_lasvm_is_optimal_on_the_rows_that_it_holds():
    X, y, _ = rows(n=1500)
    lasvm = LaSVM(10.0, gamma=0.2, random_state=0).fit(X, y)
    held, found = lasvm.support_, lasvm.certify(X, y)
    alone = LibSVM(10.0, gamma=0.2, tol=1e-6).fit(X[held], y[held])
    assert found.dual == pytest.approx(alone.certify(X[held], y[held]).dual, rel=1e-3)
    whole = LibSVM(10.0, gamma=0.2).fit(X, y).certify(X, y).dual
    assert 0.85 * whole < found.dual < whole
    with pytest.raises(MemoryLimitError, match=r"\(100\^2 x 4 bytes\), half of what may be used"):
        LaSVM(10.0, gamma=0.2, max_memory=80_000).fit(X, y)


# ----------------------------------------------------------------------------------- RACQP
@pytest.mark.parametrize("weighted", [False, True])
def test_racqp_run_long_reaches_the_objective_of_libsvm(weighted):
    X, y, weights = rows()
    weights = weights if weighted else np.ones(len(y))
    settings = {"gamma": 0.2, "block_size": 90, "random_state": 0}
    racqp = RACQP(2.0, max_iter=300, **settings).fit(X, y, weights)
    libsvm = LibSVM(2.0, gamma=0.2, tol=1e-6).fit(X, y, weights)
    found, best = (m.certify(X, y, weights) for m in (racqp, libsvm))
    assert found.dual == pytest.approx(best.dual, rel=1e-3)
    assert found.primal == pytest.approx(best.primal, rel=1e-3)
    assert np.mean(racqp.predict(X) == libsvm.predict(X)) > 0.99
    streamed = RACQP(2.0, max_iter=300, max_memory=8 * 400 * 400, **settings).fit(X, y, weights)
    np.testing.assert_allclose(streamed.decision_function(X), racqp.decision_function(X), atol=1e-8)
    short = RACQP(2.0, **settings).fit(X, y, weights).certify(X, y, weights)
    assert short.relative_gap > 100 * found.relative_gap


# ------------------------------------------------------------------------------------- AMM
def reference_amm(X, y, weights, order, shrink, limit, every, c):
    """The published steps as they are printed, on weights of their own length, online."""
    X = np.column_stack([X, np.ones(len(X))])
    W = [[] for _ in range(y.max() + 1)]
    for t, r in enumerate(order, start=1):
        x, choice = X[r], []
        for own in W:
            scores = [w @ x for w in own] + ([0.0] if len(own) < limit else [])
            choice.append((max(scores), int(np.argmax(scores))))
        rival = max((c for c in range(len(W)) if c != y[r]), key=lambda c: choice[c][0])
        loss = 1.0 + choice[rival][0] - choice[y[r]][0]
        W = [[(1.0 - 1.0 / t) * w for w in own] for own in W]
        for label, sign in ((y[r], 1.0), (rival, -1.0)) if loss > 0 else ():
            own, j = W[label], choice[label][1]
            if j == len(own):
                own.append(np.zeros(X.shape[1]))
            own[j] = own[j] + sign * weights[r] / (shrink * t) * x
        if t % every == 0:
            lengths = sorted(w @ w for own in W for w in own)
            kept = np.searchsorted(np.cumsum(lengths), (c / (shrink * t)) ** 2, side="right")
            W = [[w for w in own if w @ w >= ([*lengths, np.inf])[kept]] for own in W]
    return W


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_amm_takes_the_published_steps(n_classes, form):
    X, y, _ = rows(n_classes)
    X = np.round(8 * X) / 8  # sums are exact, so that no tie depends on rounding
    weights = np.random.default_rng(1).choice([1.0, 2.0], len(y))
    settings = {"max_weights": 4, "prune_every": 150, "prune_below": 8.0}
    amm = AMM(0.01, epochs=1, random_state=0, **settings).fit(form(X), y, weights)
    order = np.random.RandomState(0).permutation(len(y))
    W = reference_amm(X, y, weights, order, 0.01, 4, 150, 8.0)
    ones = np.column_stack([X, np.ones(len(X))])
    expected = np.column_stack([np.max([ones @ w for w in own], axis=0) for own in W])
    expected = expected[:, 1] - expected[:, 0] if n_classes == 2 else expected
    np.testing.assert_allclose(amm.decision_function(form(X)), expected, atol=1e-9)
    assert amm.live_.sum() == sum(map(len, W)) > n_classes


def test_amm_in_batches_keeps_rows_with_their_weights():
    X, y, _ = rows(3, n=900)
    one, several = (AMM(1e-3, max_weights=k, batch=True, random_state=0).fit(X, y) for k in (1, 10))
    assert several.score(X, y) > one.score(X, y) + 0.05
    with pytest.raises(TypeError, match="AMM solves no problem with a dual"):
        one.certify(X, y)


@pytest.mark.parametrize(
    ("name", "n_train", "online", "batch"),
    [("w4a", None, 98.27, 98.28), ("a4a", None, 79.46, 81.11), ("ijcnn1", 10_000, 89.28, 88.62)],
)
def test_amm_is_as_accurate_as_its_authors_program(real_data, name, n_train, online, batch):
    """Means of 10 runs each; theirs with -L 1e-4 -B 20 -e 10 -k 10000 -c 10."""
    data = load_dataset(name)
    X, y = data.X_train[:n_train], data.y_train[:n_train]
    for in_batches, theirs in ((False, online), (True, batch)):
        fits = (AMM(batch=in_batches, random_state=seed).fit(X, y) for seed in range(10))
        ours = 100 * np.mean([fit.score(data.X_test, data.y_test) for fit in fits])
        assert abs(ours - theirs) < 1.0
