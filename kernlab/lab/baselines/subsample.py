"""LIBSVM on a subsample: the exact machine on fewer rows, at the cost that a method is given.

Whoever approximates the kernel on all rows competes with the exact kernel on some of them. The
subsample has a given size, or the size that a given time allows.
"""

import math
import numbers
import warnings

import numpy as np
from sklearn.utils import check_random_state

from kernlab.bandwidth import positive
from kernlab.lab.baselines.base import Baseline
from kernlab.lab.baselines.libsvm import LibSVM
from kernlab.runtime import MemoryLimitError

# The parameters that the machine takes as they are; class weights are in the rows' weights.
SHARED = tuple(name for name in LibSVM._get_param_names() if name != "class_weight")
FIRST_SIZE = 200  # rows of the first trial under a budget
LARGEST_STEP, SMALLEST_STEP = 2.0, 1.1  # growth from one trial to the next
AIM = 0.9  # of the budget: times scatter
EXPONENT = 2.5  # training time grows between n^2 and n^3


class LibSVMSubsample(Baseline):
    """LIBSVM on a stratified random subsample.

    Parameters: n_samples (rows), or seconds (a budget for the fit that is kept; one of the two,
    n_samples=1000 if neither), and those of `LibSVM`.
    With a budget the subsample grows geometrically, each containing the one before, until the
    budget is used; a fit that exceeds it is not kept. The size then depends on the computer's
    speed; given the size and `random_state` the rows do not.
    Fitted: `n_samples_`, `machine_` (the LibSVM), `indices_` (its rows), and `trials_`, (rows,
    seconds) of every fit. `timings_` are those of the machine that is kept; what the search for
    its size took is apart, in "search".
    """

    title = "LIBSVM on a subsample"
    compares = "what approximating on all rows gains over the exact kernel on some, at equal cost"

    def __init__(
        self,
        n_samples=None,
        seconds=None,
        *,
        C=1.0,
        loss="hinge",
        kernel="rbf",
        gamma="scale",
        degree=3,
        coef0=1.0,
        tol=1e-3,
        max_iter=-1,
        cache_size=200,
        shrinking=True,
        class_weight=None,
        random_state=0,
        max_memory=None,
    ):
        self.n_samples = n_samples
        self.seconds = seconds
        self.C = C
        self.loss = loss
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.tol = tol
        self.max_iter = max_iter
        self.cache_size = cache_size
        self.shrinking = shrinking
        self.class_weight = class_weight
        self.random_state = random_state
        self.max_memory = max_memory

    def _fit(self, rows):
        if self.n_samples is not None and self.seconds is not None:
            raise ValueError("n_samples and seconds both say how large the subsample is: give one")
        order = stratified_order(rows.labels, self.random_state)
        self.trials_ = []
        if self.seconds is None:
            self.machine_ = self._train(rows, order[: self._size(rows)])
        else:
            self.machine_ = self._search(rows, order)
        self.n_samples_ = self.machine_.n_rows_
        self.indices_ = rows.index[order[: self.n_samples_]]
        self.n_iter_ = self.machine_.n_iter_
        spent = sum(seconds for _, seconds in self.trials_)
        self.timings_ = dict(self.machine_.timings_)
        self.timings_["search"] = spent - self.timings_["total"]

    def _size(self, rows):
        size = 1000 if self.n_samples is None else self.n_samples
        if not (isinstance(size, numbers.Integral) and size >= len(self.classes_)):
            raise ValueError(
                f"n_samples={size!r} must be an integer, and at least {len(self.classes_)} to hold "
                "a row of every class"
            )
        return min(size, len(rows.labels))

    def _train(self, rows, chosen):
        shared = {name: getattr(self, name) for name in SHARED}
        machine = LibSVM(**shared).fit(
            rows.X[chosen], self.classes_[rows.labels[chosen]], rows.weights[chosen]
        )
        self.trials_.append((len(chosen), machine.timings_["total"]))
        return machine

    def _search(self, rows, order):
        """The machine on the largest subsample found that keeps to the budget."""
        budget = positive(self.seconds, "seconds")
        kept = self._train(rows, order[: max(FIRST_SIZE, len(self.classes_))])
        if kept.timings_["total"] > budget:
            warnings.warn(
                f"the smallest subsample, {kept.n_rows_} rows, took {kept.timings_['total']:.3g} s,"
                f" more than seconds={budget:g}",
                stacklevel=4,
            )
            return kept
        too_large = len(order) + 1
        while size := next_size(kept, budget, too_large, len(order)):
            try:
                machine = self._train(rows, order[:size])
            except MemoryLimitError:
                too_large = size
                continue
            if machine.timings_["total"] > budget:
                too_large = size
            else:
                kept = machine
        return kept

    def predict(self, X):
        """The label of each row, as LIBSVM votes."""
        X = self._validated(X)
        return self.machine_.predict(X)

    def _decision(self, X):
        return self.machine_.decision_function(X)

    def _held(self):
        return self.machine_._held()


def next_size(kept, budget, too_large, n_rows):
    """How many rows to try after the machine `kept`; None where that is hardly more.

    As many as the budget should allow, at most twice as many; below a size that turned out too
    large, the geometric mean of the two.
    """
    room = AIM * budget / max(kept.timings_["total"], 1e-9)
    size = math.ceil(kept.n_rows_ * min(LARGEST_STEP, max(1.0, room) ** (1.0 / EXPONENT)))
    size = min(size, n_rows)
    if size >= too_large:
        size = math.isqrt(kept.n_rows_ * too_large)
    worth_it = size >= SMALLEST_STEP * kept.n_rows_ or kept.n_rows_ < size == n_rows
    return size if worth_it else None


def stratified_order(labels, random_state=0):
    """A random order of the rows of which every head is a stratified sample.

    The first rows are one of each class; after that each class keeps its share.
    """
    generator = np.random.default_rng(
        check_random_state(random_state).randint(np.iinfo(np.int32).max)
    )
    shuffled = generator.permutation(len(labels))
    place = np.empty(len(labels))
    for label in np.unique(labels):
        own = shuffled[labels[shuffled] == label]
        place[own] = np.arange(len(own)) / len(own)
    return shuffled[np.argsort(place[shuffled], kind="stable")]
