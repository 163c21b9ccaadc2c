"""Which machine for these rows, with which parameters, and what that will cost.

What is seen of the rows and what each pair would take on this machine (`kernlab.costs`) decide; a
search within the budget, on some of the rows, then finds gamma, C and the number of landmarks.
"""

import time
import warnings
from dataclasses import dataclass, replace
from numbers import Real

import numpy as np
import pandas as pd
import scipy.linalg as la
import scipy.sparse as sp
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from sklearn.utils.multiclass import check_classification_targets

from kernlab.costs import Cost, Sizes, rates
from kernlab.estimators.machine import NESTED
from kernlab.estimators.papers import LASN, LLSVM, KernelMachine
from kernlab.estimators.sweep import sweep
from kernlab.kernels import RBF, resolve_gamma
from kernlab.rows import validate_rows
from kernlab.runtime import MemoryLimitError, format_bytes, parse_bytes

SAMPLE, SPECTRUM = 2000, 600  # rows that are looked at, and those of the kernel matrix
EXPLAINED = 0.99  # of the trace, by so many eigenvalues
FEWEST, MOST = 25, 6400  # landmarks
MOST_EXACT = 4000  # rows
GAMMAS, COSTS = 4.0 ** np.arange(-2, 5), (0.1, 1.0, 10.0, 100.0, 1000.0)
PATH = 2.0  # what a path of C takes, in solutions for one
TWICE = 6.0  # times as long as with half as many landmarks, of which k^2 and k^3 count
SEARCHED, FITTED = 0.4, 0.4  # shares of the budget that are planned for search and fit
SEARCH_ROWS, SEARCH_LANDMARKS, NESTED_GAMMAS = 10_000, 300, 2
FOLDS, FEW_ROWS, HELD_OUT, MOST_HELD_OUT = 3, 1500, 0.25, 5000
ROOM = 0.8  # of the time left is what the last fit is allowed


@dataclass(frozen=True)
class Facts:
    """What was seen of the rows before anything was chosen."""

    sizes: Sizes
    majority: float  # the share of the most frequent class
    repeated: float  # the share of rows of a sample that stand in it before
    uneven: float  # the largest standard deviation of a feature over the median one
    gamma: float  # 1 / total variance, about which gamma is looked for
    rank: int  # eigenvalues for 99 % of the trace of a kernel matrix, at four times that gamma
    sampled: int  # rows of that matrix

    @property
    def useful(self):
        """Landmarks beyond which little is gained: none is known where the spectrum is flat."""
        return MOST if self.rank > 0.6 * self.sampled else max(100, 4 * self.rank)


@dataclass
class Recommendation:
    """What `recommend` returns; as text, in plain words.

    Parameters
    ----------
    estimator : estimator
        With the parameters recommended; fitted if that was asked for.
    ranges : dict
        Values of "gamma", "C" and "n_landmarks" that are worth a search: a grid for `sweep`.
    cost : kernlab.costs.Cost
        Predicted for one fit of the estimator.
    seconds : float
        Predicted for search and fit; with `fit`, what they took.
    facts : Facts
    reasons : list of str
    candidates : DataFrame
        Every pair looked at: its predicted seconds and bytes, and what speaks against it.
    curve : DataFrame or None
        Of the search, one row for each setting: gamma, C, n_landmarks, rows, accuracy on rows held
        out.
    """

    estimator: object
    ranges: dict
    cost: Cost
    seconds: float
    facts: Facts
    reasons: list
    candidates: pd.DataFrame
    curve: pd.DataFrame | None = None

    @property
    def certificate(self):
        """The relative duality gap of the fitted machine: its distance from the optimum."""
        return None if self.curve is None else self.estimator.result_.relative_gap

    def __str__(self):
        spans = ", ".join(f"{name} in {_span(values)}" for name, values in self.ranges.items())
        taken = "about" if self.curve is None else "it took"
        lines = [
            f"Take {self.estimator!r}.",
            f"Search {spans}.",
            f"A fit on {self.facts.sizes.rows:,} rows takes {self.cost}; with the search "
            f"{taken} {self.seconds:.2g} s.",
            "Why:",
            *(f"- {reason}" for reason in self.reasons),
        ]
        return "\n".join(lines)


def _span(values):
    return f"{min(values):.3g} ... {max(values):.3g}" if len(values) > 1 else f"{values[0]:.3g}"


def recommend(X, y=None, seconds=60, memory="4GB", fit=False, random_state=0):
    """Which machine for these rows, with which parameters, at what cost, and why.

    Parameters
    ----------
    X, y
        As in `fit`, with labels of classes.
    seconds : float, default 60
        For all: looking at the rows, search, and fit.
    memory : int or str, default "4GB"
        Bytes beside the rows themselves.
    fit : bool, default False
        Whether to search within the budget, and to fit the machine that is found, on as many rows
        as the time left allows.
    random_state : int, default 0

    Returns
    -------
    Recommendation
        `print` it.

    Examples
    --------
    >>> from kernlab import recommend
    >>> from sklearn.datasets import make_moons
    >>> X, y = make_moons(400, noise=0.2, random_state=0)
    >>> found = recommend(X, y, seconds=20, fit=True)
    >>> found.estimator.score(X, y) > 0.95, found.certificate < 1e-3
    (True, True)
    """
    began = time.perf_counter()
    if isinstance(seconds, bool) or not isinstance(seconds, Real) or not 0 < seconds < np.inf:
        raise ValueError(f"seconds must be a positive number, not {seconds!r}")
    memory = parse_bytes(memory)
    rows = validate_rows(LASN(), X, y, supervised=True, min_rows=2)
    check_classification_targets(rows.labels)
    counts = np.unique(rows.labels, return_counts=True)[1]
    if len(counts) < 2 or counts.min() < 2:
        raise ValueError("recommend needs at least 2 classes, of at least 2 rows each")
    rates()
    facts = look_at(rows, random_state)
    found = _chosen(facts, float(seconds), memory, random_state)
    return _Search(rows, found, float(seconds), began, random_state).run() if fit else found


# --------------------------------------------------------------------------------- what is seen
def look_at(rows, random_state=0):
    """`Facts` of `Rows` with labels, from their counts and a sample."""
    counts = np.unique(rows.labels, return_counts=True)[1]
    chosen = np.random.default_rng(random_state).permutation(len(rows))[:SAMPLE]
    X = rows.take(np.sort(chosen)).astype(np.float64)
    dense = X.toarray() if sp.issparse(X) and X.shape[1] <= SAMPLE else X
    distinct = len(chosen) if sp.issparse(dense) else len(np.unique(dense, axis=0))
    spread = np.sqrt(StandardScaler(with_mean=False).fit(dense).var_)
    varying = spread[spread > 0]
    gamma = float(resolve_gamma("variance", X))
    some = X[np.random.default_rng(random_state).permutation(X.shape[0])[:SPECTRUM]]
    values = np.sort(la.eigvalsh(RBF(4.0 * gamma)(some)))[::-1]
    rank = 1 + int(np.searchsorted(np.cumsum(values), EXPLAINED * values.sum()))
    return Facts(
        sizes=Sizes.of(rows, 1 if len(counts) == 2 else len(counts)),
        majority=float(counts.max() / counts.sum()),
        repeated=1.0 - distinct / max(1, len(chosen)),
        uneven=float(varying.max() / np.median(varying)) if len(varying) else 1.0,
        gamma=gamma,
        rank=min(rank, some.shape[0]),
        sampled=some.shape[0],
    )


# -------------------------------------------------------------------------------- what is chosen
def _chosen(facts, seconds, memory, random_state):
    """The recommendation that follows from facts and costs."""
    sizes, common = facts.sizes, {"C": 10.0, "gamma": facts.gamma, "max_memory": memory}
    drawn = common | {"random_state": random_state}
    lasn = LASN(**drawn)
    k, why = _landmarks(facts, seconds, memory, lasn)
    components = {"n_components": k}
    machines = {
        "exact + newton": KernelMachine("exact", intercept="penalised", **common),
        "nystrom + newton": lasn.with_params(n_landmarks=k),
        "nystrom + sbm": LLSVM(k, **drawn),
        "fourier + newton": KernelMachine("fourier", approximation_params=components, **drawn),
    }
    table = pd.DataFrame(
        [_candidate(name, one, sizes, seconds, memory) for name, one in machines.items()]
    )
    possible = list(table.loc[table["against"] == "", "pair"])
    ranges = {"gamma": [facts.gamma * float(g) for g in GAMMAS], "C": list(COSTS)}
    name, reasons = "nystrom + newton", [why]
    if "exact + newton" in possible:
        name = "exact + newton"
        reasons = [f"{sizes.rows:,} rows are few enough for the exact kernel matrix: nothing is "
                   "lost to an approximation."]  # fmt: skip
    elif name not in possible and "nystrom + sbm" in possible:
        name = "nystrom + sbm"
        reasons.append("Features of all rows do not fit in memory: they come in blocks.")
    elif name not in possible:
        raise MemoryLimitError(
            f"no machine on {sizes.rows:,} rows fits in {seconds:g} s and {format_bytes(memory)}: "
            f"allow more, or give fewer rows.\n{table.to_string(index=False)}"
        )
    if name != "exact + newton":
        ranges[NESTED] = _landmark_range(k)
    machine = machines[name]
    cost = machine.cost_on(sizes)
    planned = cost.seconds + _search_rows(machine, ranges, facts, seconds)[1]
    return Recommendation(machine, ranges, cost, planned, facts, reasons + _remarks(facts), table)


def _landmarks(facts, seconds, memory, machine):
    """As many landmarks as help and can be afforded, and why."""
    n, k = facts.sizes.rows, FEWEST
    most = min(facts.useful, n, MOST)
    while 2 * k <= most:
        cost = machine.with_params(n_landmarks=2 * k).cost_on(facts.sizes)
        if cost.seconds > FITTED * seconds:
            return k, f"{2 * k:,} landmarks would take {cost.seconds:.2g} s, too much of the time."
        if cost.bytes > memory:
            return k, f"{2 * k:,} landmarks would take {format_bytes(cost.bytes)}, too much memory."
        k *= 2
    if facts.useful < MOST:
        return k, (
            f"{facts.rank} of {facts.sampled} eigenvalues of a sample's kernel matrix make up 99 % "
            f"of its trace: {k:,} landmarks say nearly all."
        )
    return k, f"The spectrum of a sample's kernel matrix is flat: as many as {k:,} landmarks help."


def _candidate(name, machine, sizes, seconds, memory):
    cost, against = machine.cost_on(sizes), ""
    if name == "exact + newton" and sizes.rows > MOST_EXACT:
        against = f"more than {MOST_EXACT:,} rows"
    elif cost.bytes > memory:
        against = "too much memory"
    elif cost.seconds > FITTED * seconds:
        against = "too much time"
    return {"pair": name, "seconds": cost.seconds, "bytes": cost.bytes, "against": against}


def _remarks(facts):
    zeros = 1 - facts.sizes.entries / facts.sizes.features
    remarks = {
        f"{zeros:.0%} of the values are zero; they are never filled in.": zeros > 0.8,
        f"{facts.repeated:.0%} of a sample's rows are repeated: rows held out may have been "
        "seen.": facts.repeated > 0.05,
        f"One feature spreads {facts.uneven:.0f} times as far as the median one: scale the "
        "features first.": facts.uneven > 20,
        f"{facts.majority:.0%} of the rows are of one class: accuracy says little, and "
        "class_weight='balanced' may be wanted.": facts.majority > 0.9,
    }
    return [remark for remark, holds in remarks.items() if holds]


def _search_rows(machine, ranges, facts, seconds):
    """How many rows the search sees, and the seconds that it is predicted to take."""
    size = min(facts.sizes.rows, SEARCH_ROWS)
    while True:
        some, folds = replace(facts.sizes, rows=size), FOLDS if size <= FEW_ROWS else 1
        tried = (some.share(0.25), len(GAMMAS)), (some, len(GAMMAS) // 2)
        paths = (n * _path(_on_few(machine, ranges, part.rows).cost_on(part)) for part, n in tried)
        taken = folds * sum(paths)
        if taken <= 0.5 * SEARCHED * seconds or size <= 500:
            break
        size //= 2
    if NESTED in ranges:
        ks = _nested(machine, some, SEARCHED * seconds - taken)
        largest = machine.with_params(n_landmarks=ks[-1])
        taken += folds * NESTED_GAMMAS * _path(largest.cost_on(some))
    return size, taken


def _on_few(machine, ranges, rows):
    """The machine that gamma and C are looked for with: where it has landmarks, on few of them."""
    few = {NESTED: min(SEARCH_LANDMARKS, max(2, rows // 4))}
    return machine.with_params(**{name: k for name, k in few.items() if name in ranges})


def _landmark_range(k):
    return sorted({max(FEWEST, k >> i) for i in range(4)})


def _nested(machine, sizes, seconds):
    """The numbers of landmarks that can be tried on so many rows in so many seconds."""
    most = max(2, sizes.rows // 2)
    ks = sorted({min(k, most) for k in _landmark_range(machine.n_landmarks)})
    while len(ks) > 1:
        cost = machine.with_params(n_landmarks=ks[-1]).cost_on(sizes)
        if NESTED_GAMMAS * PATH * cost.seconds <= seconds:
            break
        ks.pop()
    return ks


def _path(cost):
    return cost.stages["approximate"] + PATH * cost.stages["solve"]


# ------------------------------------------------------------------------------------ the search
class _Search:
    """gamma and C on a part of the rows, then landmarks, then the fit, all within the budget."""

    def __init__(self, rows, found, seconds, began, random_state):
        self.rows, self.found, self.seconds, self.began = rows, found, seconds, began
        self.random_state, self.tables, self.cut_short = random_state, [], False
        self.machine, self.has_landmarks = found.estimator, NESTED in found.ranges

    @property
    def left(self):
        return self.seconds - (time.perf_counter() - self.began)

    def run(self):
        found, every = self.found, self.found.ranges["gamma"]
        size, _ = _search_rows(self.machine, found.ranges, found.facts, self.seconds)
        order = _stratified(self.rows.labels, self.random_state)
        middle = float(np.median(np.log(every)))
        gammas = sorted(every, key=lambda gamma: abs(np.log(gamma) - middle))
        first = max(min(size, 200), size // 4)
        for count, kept in ((first, len(every) // 2), (size, 1)):
            part, best = self._part(order[:count]), {}
            for gamma in gammas:
                if best and self.left < (1 - SEARCHED) * self.seconds:
                    self.cut_short = True
                    break
                grid = {"gamma": [gamma], "C": found.ranges["C"]}
                machine = _on_few(self.machine, found.ranges, count)
                table = self._swept(machine, part, grid)
                best[gamma] = table["accuracy"].max(), -gamma, table
            gammas = sorted(best, key=lambda g: best[g][:2], reverse=True)[:kept]
        table = best[gammas[0]][2]
        C = float(table.loc[table["accuracy"].idxmax(), "C"])
        machine = self.machine.with_params(gamma=gammas[0], C=C)
        if self.has_landmarks and not self.cut_short:
            machine = self._with_landmarks(machine, self._part(order[:size]))
        return self._fitted(machine, order)

    def _part(self, chosen):
        """Rows to search on, and how they are validated."""
        chosen = np.sort(chosen)
        X, y = self.rows.take(chosen), self.rows.labels[chosen]
        if len(y) <= FEW_ROWS:
            return X, y, min(FOLDS, int(np.unique(y, return_counts=True)[1].min()))
        held = np.zeros(len(y), bool)
        order = _stratified(y, self.random_state)
        held[order[-min(MOST_HELD_OUT, round(HELD_OUT * len(y))) :]] = True
        return X[~held], y[~held], (X[held], y[held])

    def _swept(self, machine, part, grid):
        X, y, validation = part
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # settings are compared
            table = sweep(machine, X, y, grid, validation=validation, progress=False)
        spent = time.perf_counter() - began
        by = "validation_accuracy" if isinstance(validation, tuple) else "cv_accuracy"
        if (table["status"] == "failed").all():
            raise ValueError(f"every setting failed: {table['message'].iloc[0]}")
        table["accuracy"] = table[by].fillna(0.0)
        self.tables.append(table.assign(rows=len(y), seconds=spent / len(table)))
        return table

    def _with_landmarks(self, machine, part):
        """The number of landmarks, with C about the best, and gamma: the best on few landmarks,
        and the next, since more landmarks resolve a narrower kernel. From few landmarks on, as long
        as the clock lets twice as many hope to end in time."""
        costs, gammas = self.found.ranges["C"], self.found.ranges["gamma"]
        here, place = costs.index(machine.C), gammas.index(machine.gamma)
        sizes = replace(self.found.facts.sizes, rows=len(part[1]))
        ks = _nested(self.found.estimator, sizes, self.left - FITTED * self.seconds)
        grid = {
            "gamma": gammas[place : place + NESTED_GAMMAS],
            "C": costs[max(0, here - 1) : here + 2],
        }
        tables, spent = [], 0.0
        for most in ks:
            if tables and TWICE * spent > self.left - FITTED * self.seconds:
                break
            began = time.perf_counter()
            tables.append(self._swept(machine, part, grid | {NESTED: [most]}))
            spent, tried = time.perf_counter() - began, most
        table = pd.concat(tables, ignore_index=True)
        best = table.loc[table["accuracy"].idxmax()]
        k, asked = int(best["n_landmarks"]), self.found.ranges["n_landmarks"][-1]
        # Where the most that were tried are best, more of them on all rows will be no worse.
        k = asked if k >= tried else min(2 * k, asked)
        return machine.with_params(n_landmarks=k, C=float(best["C"]), gamma=float(best["gamma"]))

    def _fitted(self, machine, order):
        """The last fit, on as many landmarks and rows as the time left allows."""
        found, sizes, reasons = self.found, self.found.facts.sizes, list(self.found.reasons)
        rows, y, count = self.rows, self.rows.labels, len(order)
        while machine.cost_on(replace(sizes, rows=count)).seconds > ROOM * max(0.0, self.left):
            if self.has_landmarks and machine.n_landmarks > 2 * FEWEST:
                machine = machine.with_params(n_landmarks=machine.n_landmarks // 2)
            elif count > 1000:
                count //= 2
            else:
                break
        if count < len(order):
            reasons.append(f"The last fit saw {count:,} of {len(order):,} rows: time was short.")
            rows = self.rows.select(np.sort(order[:count]))
            y = rows.labels
        if self.cut_short:
            reasons.append("The search was cut short: time was short.")
        cost = machine.cost_on(replace(sizes, rows=count))
        machine.fit(rows, y)
        curve = pd.concat(self.tables, ignore_index=True)
        columns = ("rows", "gamma", "n_landmarks", "C", "accuracy", "seconds")
        curve = curve[[name for name in columns if name in curve]]
        reasons.append(
            f"{len(curve)} settings were tried; rows held out were right in "
            f"{curve['accuracy'].max():.1%}. The duality gap of the machine is "
            f"{machine.result_.relative_gap:.1e} of its objective."
        )
        taken = time.perf_counter() - self.began
        return replace(
            found, estimator=machine, cost=cost, seconds=taken, reasons=reasons, curve=curve
        )


def _stratified(labels, random_state):
    """All positions in random order, such that every beginning has all classes, two rows of each
    and else their shares."""
    generator = np.random.default_rng(random_state)
    codes = np.unique(labels, return_inverse=True)[1]
    place = np.empty(len(codes))
    for code in range(codes.max() + 1):
        own = generator.permutation(np.flatnonzero(codes == code))
        place[own] = (np.arange(len(own)) + generator.random()) / len(own)
        place[own[:2]] = -1.0
    return np.argsort(place, kind="stable")
