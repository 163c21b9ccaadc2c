"""What all machines do: validate, approximate, solve, store. The numbers are made elsewhere.

Machines that differ in what the solver is told only are fitted together: the approximation once,
the solver once for all their C. So are machines on the first k of the same landmarks.
"""

import time
from collections.abc import Hashable
from contextlib import ExitStack, contextmanager, nullcontext
from copy import copy
from dataclasses import KW_ONLY, dataclass, replace
from types import MappingProxyType
from typing import ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, is_classifier
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted
from tqdm.auto import tqdm

from kernlab.approximations import APPROXIMATIONS, NEEDS
from kernlab.cluster import Targets
from kernlab.costs import Cost, Sizes, cost_of
from kernlab.kernels import gamma_from_sigma
from kernlab.parameters import check_parameters, entry_of
from kernlab.rows import ArrayRows, Rows, distinct_rows, validate_rows
from kernlab.runtime import bar_options, memory_limit, telling
from kernlab.solvers import SOLVERS, SolverSpec, summarise
from kernlab.solvers.problems import check_offered

SECONDS_BETWEEN_LINES = 1.0  # of what a verbose fit prints about its steps
DICTIONARIES = ("approximation_params", "solver_params", "landmark_params")
ON_CLUSTER = ("newton", "hinge-admm", "sbm")  # solvers of rows that lie on a cluster
NESTED = "n_landmarks"  # of maps whose first features are those of fewer landmarks


# ------------------------------------------------------------------------------------- tables
def same(*names):
    """Parameters that go to a part under their own names."""
    return {name: name for name in names}


def gamma_of(name):
    """What turns the width `name` of a machine into gamma = 1 / (2 s^2); rules are rules for it."""

    def gamma(machine):
        value = getattr(machine, name)
        return value if isinstance(value, str) else gamma_from_sigma(value, name)

    return gamma


KERNEL = same("kernel", "gamma", "degree", "coef0")
WHERE_USED = same("random_state", "max_memory")


SOLVER = same("loss", "intercept", "tol", "max_iter", "random_state")


def is_word(value, word):
    """Whether a parameter is this word."""
    return isinstance(value, str) and value == word


@dataclass(frozen=True)
class Plan:
    """What a machine asks of its parts: the arguments of each, C apart."""

    kind: type
    approximation: dict
    solver: SolverSpec
    arguments: dict


def key_of(arguments, without=()):
    """Equal for equal arguments; what cannot be compared quickly is equal to itself."""
    return tuple(
        (name, value if isinstance(value, Hashable) else id(value))
        for name, value in sorted(arguments.items())
        if name not in without
    )


# ------------------------------------------------------------------------------------ machines
@dataclass(eq=False, repr=False)
class Pair:
    """A machine of an approximation and a solver; see `KernelMachine`.

    A subclass names `approximation` and `solver` of the registries (or has them as parameters),
    declares what goes where, and says with `task` and `answer` what it learns: columns of -1 and 1,
    or of numbers, and the class, or the number, for a row of scores.
    """

    _: KW_ONLY
    random_state: object = None
    max_memory: object = None
    verbose: bool = False

    to_approximation = KERNEL | WHERE_USED  # their names: ours, or a function of the machine
    to_solver = SOLVER
    # Solvers by the values of a parameter that only this machine has so, and by loss.
    paths, path_of = MappingProxyType({}), "solver"
    # Who fits with the best value of a parameter that is "cv", and a function of the machine and
    # the shape of the rows: which values are fitted on which share of the rows, the last on all.
    chosen_by: ClassVar[dict] = {}
    approximation_params = solver_params = class_weight = C = None
    merge = False
    keeps_weightless = True  # whether rows of weight zero are seen by the approximation
    decides_by = "dual_decision"  # of approximations without features

    def get_params(self, deep=True):
        """Parameters by name; if `deep`, entries of dictionaries as `solver_params__method`."""
        found = super().get_params(deep=deep)
        for name in DICTIONARIES if deep else ():
            if isinstance(found.get(name), dict):
                found |= {f"{name}__{entry}": value for entry, value in found[name].items()}
        return found

    def set_params(self, **params):
        """Set parameters, those in dictionaries as `approximation_params__n_landmarks=100`."""
        own, known = {}, self.get_params(deep=False)
        for name, value in params.items():
            dictionary, _, entry = name.partition("__")
            if entry and dictionary in DICTIONARIES and dictionary in known:
                own[dictionary] = (own.get(dictionary) or known[dictionary] or {}) | {entry: value}
            else:
                own[name] = value
        return super().set_params(**own)

    def with_params(self, **params):
        """An unfitted machine with these parameters, and otherwise the very same."""
        return type(self)(**self.get_params(deep=False)).set_params(**params)

    def plan(self):
        """What the parameters ask of the parts, after checking them; nothing is computed."""
        check_parameters(self.get_params(deep=False))
        name = self._solver_name()
        kind = entry_of(APPROXIMATIONS, self.approximation, "approximation")
        solver = entry_of(SOLVERS, name, "solver")
        if not kind.offers(solver.needs):
            raise ValueError(
                f"solver {name!r} needs {solver.needs} and approximation "
                f"{self.approximation!r} offers {' and '.join(filter(kind.offers, NEEDS))} only"
            )
        if is_classifier(self):
            solver.check(self.loss, self.intercept)
        part, taken = f"approximation {self.approximation!r}", kind().get_params(deep=False)
        ours = self._arguments(part, taken, self.to_approximation, self.approximation_params)
        # What is "cv" is chosen later.
        check_parameters({n: v for n, v in ours.items() if not is_word(v, "cv")}, **kind.checks)
        part, taken = f"solver {name!r}", solver.parameters
        theirs = self._arguments(part, taken, self.to_solver, self.solver_params)
        return Plan(kind, ours, solver, theirs)

    def _solver_name(self):
        if not self.paths:
            return self.solver
        value = getattr(self, self.path_of)
        by_loss = entry_of(self.paths, value, self.path_of)
        check_offered(f"{self.path_of}={value!r}", loss=(self.loss, tuple(by_loss)))
        return by_loss[self.loss]

    def _arguments(self, part, taken, table, further):
        """The arguments of a part; what it does not take is refused where it was set."""
        arguments = {}
        for theirs, ours in table.items():
            value = ours(self) if callable(ours) else getattr(self, ours)
            if theirs in taken:
                arguments[theirs] = value
            elif theirs not in WHERE_USED and value != getattr(type(self)(), ours):
                raise ValueError(f"{part} takes no {theirs}: leave out {ours}={value!r}")
        if unknown := set(further or {}) - set(taken):
            raise ValueError(
                f"{part} takes no {', '.join(sorted(unknown))}; it takes {', '.join(sorted(taken))}"
            )
        return arguments | dict(further or {})

    def sharing_key(self, nested=False):
        """Equal for machines that can be fitted together."""
        if self.chooser():
            return id(self)
        plan = self.plan()
        asked = plan.approximation | {"class_weight": self.class_weight, "merge": self.merge}
        return plan.kind, key_of(asked, (NESTED,) if nested else ())

    def predict_cost(self, X, y=None):
        """What `fit` will take on these rows, for this C, before it is begun.

        Parameters
        ----------
        X, y
            As in `fit`. Rows are counted, not computed with.

        Returns
        -------
        kernlab.costs.Cost
            The first call measures this machine, in less than two seconds.

        Examples
        --------
        >>> from kernlab import LASN
        >>> from sklearn.datasets import make_moons
        >>> X, y = make_moons(500, noise=0.2, random_state=0)
        >>> cost = LASN(50).predict_cost(X, y)
        >>> cost.rank, cost.seconds < 10, cost.bytes < 1e9
        (50, True, True)
        """
        rows = validate_rows(
            copy(self), X, y, supervised=True, numeric_labels=not is_classifier(self)
        )
        return self.cost_on(Sizes.of(rows, self.task(rows.labels)[1].shape[1]))

    def cost_on(self, sizes):
        """What a fit takes on rows of these `kernlab.costs.Sizes`."""
        if chooser := self.chooser():
            costs = [
                self.with_params(**other).cost_on(sizes.share(share))
                for other, share in chooser[1](self, (sizes.rows, sizes.features))
            ]
            seconds = sum(cost.seconds for cost in costs)
            most = max(cost.bytes for cost in costs)
            return Cost(seconds, most, costs[-1].rank, {"choose": seconds - costs[-1].seconds})
        plan, name = self.plan(), self.approximation
        return cost_of(name, plan.approximation, plan.solver.name, plan.arguments, sizes)

    def fit(self, X, y=None, sample_weight=None):
        """Approximate the kernel matrix of the rows of X, then solve for the labels y.

        A classifier none of whose parameters was chosen is then held against a linear machine, on a
        few of the rows, and warns, with the figures, where it is no better.

        Parameters
        ----------
        X : array, sparse matrix, DataFrame, memory map, path of a file, Rows, or, for rows on a
            cluster, Dask array, Dask DataFrame, list of delayed blocks
        y : array of shape (n_rows,), default None
            None for a file that brings its labels.
        sample_weight : array of shape (n_rows,), default None

        Returns
        -------
        self
        """
        self.plan()  # what no parameter can be is refused before anything is tried
        if chooser := self.chooser():
            return self.become(vars(chooser[0](self, X, y, sample_weight)))
        fit_together([self], X, y, sample_weight)
        return self

    def chooser(self):
        """The entry of `chosen_by` for the parameter that is "cv", None where none is."""
        asked = [name for name in self.chosen_by if is_word(getattr(self, name), "cv")]
        return self.chosen_by[asked[0]] if asked else None

    def become(self, attributes):
        """Take over what was fitted, and forget what an earlier fit has left."""
        for stale in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, stale)
        vars(self).update({k: v for k, v in attributes.items() if k.endswith("_")})
        return self

    def row_weights(self, labels, sample_weight):
        """The weight of each row, of its own and by its class; None where all count once."""
        if sample_weight is None and self.class_weight is None:
            return None
        checks = {"dtype": np.float64, "ensure_non_negative": True, "copy": True}
        weights = _check_sample_weight(sample_weight, labels, **checks)
        if self.class_weight is not None:
            weights *= compute_sample_weight(self.class_weight, labels)
        return weights

    def rows_of(self, X, y=None, supervised=False):
        """New rows, checked against those of the fit; with labels if `supervised`."""
        check_is_fitted(self)
        numeric = not is_classifier(self)
        return validate_rows(self, X, y, reset=False, supervised=supervised, numeric_labels=numeric)

    def predict(self, X):
        """The class, or the value, of each row of X; of Dask's collections a Dask array."""
        return self.rows_of(X).each(self.decider().answers)

    def score(self, X, y=None, sample_weight=None):
        """The accuracy on rows X with labels y (None: the file's); of a regressor, R^2."""
        return qualities_of([self], self.rows_of(X, y, supervised=True), sample_weight)[0]

    def decider(self):
        """This machine without the results of its training: what is sent to workers."""
        other = copy(self)
        for name in ("results_", "result_"):
            vars(other).pop(name, None)
        return other

    def answers(self, rows):
        """The class, or the value, of each of the rows, which have been checked."""
        return self.answer(scores_of([self], rows)[0])

    def decisions(self, rows):
        """The scores of rows that have been checked, see `decision_function`."""
        scores = scores_of([self], rows)[0]
        return scores.ravel() if scores.shape[1] == 1 else scores

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


@dataclass(eq=False, repr=False)
class Classifier(Pair, ClassifierMixin, BaseEstimator):
    """A pair that tells classes apart, more than two one against the rest."""

    _: KW_ONLY
    class_weight: object = None

    def task(self, labels):
        check_classification_targets(labels)
        classes = np.unique(labels)
        if len(classes) < 2:
            raise ValueError(
                "a classifier needs rows of at least 2 classes; those that count hold 1 class "
                f"only: {classes[0]!r}"
            )
        positives = classes[1:] if len(classes) == 2 else classes
        columns = np.empty((len(labels), len(positives)), dtype=np.int8, order="F")
        for column, one in zip(columns.T, positives, strict=True):
            column[:] = np.where(labels == one, 1, -1)
        return {"classes_": classes}, columns

    def decision_function(self, X):
        """Scores: one column per class, or for two classes one score, positive for the second."""
        return self.rows_of(X).each(self.decider().decisions)

    def answer(self, scores):
        if len(self.classes_) == 2:
            return self.classes_[(scores[:, 0] > 0).astype(int)]
        return self.classes_[np.argmax(scores, axis=1)]


# ---------------------------------------------------------------------------- fitting, together
def fit_together(machines, X, y=None, sample_weight=None, *, shared=None, nested=False, on=None):
    """Fit machines of one class that can have their approximation in common.

    Parameters
    ----------
    machines : list of Pair
        Their `sharing_key(nested)` are equal.
    X, y, sample_weight
        As in `Pair.fit`.
    shared : dict, default None
        What approximations of the same rows, with other parameters, leave each other.
    nested : bool, default False
        Whether they are on the first k landmarks, each on its own number, of one order of them.
    on : Approximation, default None
        Fitted on the same rows; it takes the place of the machines' own.
    """
    began, first = time.perf_counter(), machines[0]
    tell = telling(_teller(first)) if first.verbose else nullcontext()
    with tell, ExitStack() as held:  # by the workers of a cluster, if rows are there
        plans = [machine.plan() for machine in machines]
        rows, weights, learnt, columns = _seen(first, X, y, sample_weight)
        if rows.is_distributed and not isinstance(X, Rows):
            held.callback(rows.release)
        approximation = on or _fitted(plans, rows, weights, learnt, shared, nested)
        needs = dict.fromkeys(plan.solver.needs for plan in plans)
        data = {need: approximation.data_for(need, rows) for need in needs}
        if rows.is_distributed:
            held.callback(lambda: [features.release() for features in data.values()])
        spent = {"approximate": time.perf_counter() - began}
        parts = sum(approximation.timings_.values())
        solved, starts = [], {}
        for size, key, members in _tasks(plans, nested):
            plan, part = plans[members[0]], approximation
            found = data[plan.solver.needs]
            if nested:
                part = approximation.leading(min(size, approximation.rank_))
                found = found.leading(part.rank_)
            costs, start = [machines[i].C for i in members], starts.get(key)
            with _steps_told(first, plan.solver) as step:
                families = _solved(plan, costs, first, part, found, columns, weights, start, step)
            smallest = int(np.argmin(costs)) if nested else 0
            starts[key] = [family[smallest] for family in families]
            for place, i in enumerate(members):
                solved.append((machines[i], plan, part, [family[place] for family in families]))
    # Factors are made when the solver asks for them.
    spent["approximate"] += sum(approximation.timings_.values()) - parts
    spent |= {f"approximate: {name}": s for name, s in approximation.timings_.items()}
    solving = time.perf_counter() - began - spent["approximate"]
    seconds = [max(1e-9, sum(r.seconds for r in results)) for *_, results in solved]
    for (machine, plan, part, results), share in zip(solved, seconds, strict=True):
        own = solving * share / sum(seconds)
        timings = spent | {"solve": own, "total": spent["approximate"] + own}
        machine.become(learnt | _stored(plan, part, results) | {"timings_": timings})
        spent = dict.fromkeys(spent, 0.0)  # the first bears what is shared


def _seen(machine, X, y, sample_weight):
    """The rows that count and their weights, what is learnt of them, and the columns to fit."""
    door = copy(machine)  # a refusal leaves the machine that there was
    rows = validate_rows(door, X, y, supervised=True, numeric_labels=not is_classifier(machine))
    names = ("n_features_in_", "feature_names_in_")
    learnt = {name: vars(door)[name] for name in names if name in vars(door)}
    if rows.is_distributed:
        rows, weights, task, columns = _seen_on_cluster(machine, rows, sample_weight)
        return rows, weights, learnt | task, columns
    weights = machine.row_weights(rows.labels, sample_weight)
    if weights is not None and not (machine.keeps_weightless or weights.all()):
        rows, weights = some_rows(rows, np.flatnonzero(weights)), weights[weights > 0]
    if machine.merge:
        codes = np.unique(rows.labels, return_inverse=True)[1]
        others = (codes,) if weights is None else (codes, weights)
        learnt["distinct_"] = distinct = distinct_rows(rows.whole(machine.max_memory), *others)
        if distinct is not None:
            weights = distinct.counts * (1.0 if weights is None else weights[distinct.first])
            rows = some_rows(rows, distinct.first)
    task, columns = machine.task(rows.labels)
    return rows, weights, learnt | task, columns


def _seen_on_cluster(machine, rows, sample_weight):
    """The same of rows on a cluster: of their labels the distinct ones come here."""
    solver = machine.plan().solver.name
    if solver not in ON_CLUSTER or machine.merge:
        raise ValueError(
            f"solver {solver!r} does not work on rows of a cluster: take one of "
            f"{', '.join(ON_CLUSTER)}, or call compute() on the rows"
        )
    if sample_weight is not None:
        rows = rows.weighted(sample_weight)
        rows = rows if machine.keeps_weightless else rows.of_positive_weight()
    if not is_classifier(machine):
        targets = Targets(rows)
        return rows, targets.weights(), {}, targets
    (labels, counts), factors, given = rows.distinct_labels(), None, machine.class_weight
    task, code = machine.task(labels)
    if given is not None:
        if is_word(given, "balanced"):
            given = dict(zip(labels, counts.sum() / (len(labels) * counts), strict=True))
        factors = compute_sample_weight(given, labels)
    targets = Targets(rows, labels, code, factors)
    return rows, targets.weights(), task, targets


def some_rows(rows, positions):
    """Some of the rows: copied if all are in memory, else read when they are needed."""
    chosen = rows.select(positions)
    return ArrayRows(chosen.whole(), chosen.labels) if rows.in_memory else chosen


def _fitted(plans, rows, weights, learnt, shared, nested):
    """The approximation that the plans have in common, fitted."""
    arguments = dict(plans[0].approximation)
    if nested:
        arguments[NESTED] = max(plan.approximation[NESTED] for plan in plans)
    approximation = plans[0].kind(**arguments)
    if shared is not None:
        approximation.share(shared)
    if learnt.get("distinct_") is not None:
        approximation.count_rows(learnt["distinct_"].counts)
    return approximation.fit(rows, sample_weight=weights)


def _tasks(plans, nested):
    """(number of landmarks, what the solver is told, the places of the plans), smallest first."""
    tasks = {}
    for place, plan in enumerate(plans):
        size = plan.approximation[NESTED] if nested else 0
        key = plan.solver.name, key_of(plan.arguments)
        tasks.setdefault((size, key), []).append(place)
    ordered = sorted(tasks, key=lambda task: task[0])
    return [(size, key, tasks[size, key]) for size, key in ordered]


def _teller(machine):
    """What prints a line about this machine."""
    return lambda line: print(f"{type(machine).__name__}: {line}", flush=True)


@contextmanager
def _steps_told(machine, solver):
    """What hears of each step of a solver: it prints them where the machine is verbose, or moves a
    bar that comes after ten seconds; None where nobody watches."""
    tell, next_at = _teller(machine), 0.0

    def print_line(row):
        nonlocal next_at
        if time.perf_counter() >= next_at:
            next_at = time.perf_counter() + SECONDS_BETWEEN_LINES
            tell(f"{solver.name}, step {row['iteration']}, {_figures(row)}")

    def move(row):
        bar.set_postfix_str(_figures(row), refresh=False)
        bar.update()

    options = bar_options(wanted=not machine.verbose) | {"delay": 10}
    with tqdm(desc=solver.name, unit=" steps", **options) as bar:
        yield print_line if machine.verbose else None if bar.disable else move


def _figures(row):
    """The figures of a row of a solver's trace, in words."""
    named = (("objective", "objective"), ("residual", "residual or gap"))
    told = [f"{words} {row[name]:.3e}" for name, words in named if row.get(name) is not None]
    return ", ".join([*told, f"{row.get('seconds', 0.0):.1f} s"])


def _solved(plan, costs, machine, approximation, data, columns, weights, start, step):
    """For each column a list of results, one for each C."""
    limit = machine.max_memory
    if limit is not None:
        limit = max(1, memory_limit(limit) - approximation.nbytes)
    arguments = ({} if step is None else {"callback": step}) | plan.arguments
    arguments |= {"sample_weight": weights, "start": start, "max_memory": limit}
    families = plan.solver.solve(data, columns, C=None if None in costs else costs, **arguments)
    if None in costs:
        families = [[result] * len(costs) for result in families]
    if plan.solver.needs == "operator" and not approximation.is_kernel_map:
        # It may have eigenvalues below zero that the solver has not come across: no bound.
        families = [[replace(r, dual_objective=None) for r in family] for family in families]
    return families


def _stored(plan, approximation, results):
    """Fitted attributes from the results, one for each column."""
    coefficients, summary = np.array([r.coefficients for r in results]), summarise(results)
    fitted = {
        "approximation_": approximation,
        "results_": results,
        "result_": summary,
        "intercept_": np.array([r.intercept for r in results]),
        "n_iter_": summary.n_iter,
        "nbytes_": approximation.nbytes + coefficients.nbytes,
    }
    if plan.solver.needs == "features":
        dual = approximation.dual_from_weights(coefficients.T)
        if dual is None:
            return fitted | {"coef_": coefficients}
        coefficients = dual.T
    support = np.flatnonzero(coefficients.any(axis=0))
    return fitted | {"support_": support, "dual_coef_": coefficients[:, support]}


# ---------------------------------------------------------------------------- deciding, together
def scores_of(machines, rows):
    """Scores of rows by machines that were fitted together, from one pass over the rows.

    Returns
    -------
    list of arrays of shape (n_rows, n_problems), one for each machine
    """
    found = {}
    for decide, has_features in ((_by_features, True), (_by_rows, False)):
        members = [m for m in machines if ("coef_" in vars(m)) == has_features]
        if members:
            ends = np.cumsum([len(m.intercept_) for m in members])[:-1]
            with np.errstate(over="ignore", invalid="ignore"):  # refused below, with the row
                parts = np.split(decide(members, rows), ends, axis=1)
            found |= {id(m): s + m.intercept_ for m, s in zip(members, parts, strict=True)}
    for scores in found.values():
        if not np.isfinite(scores).all():
            row = np.flatnonzero(~np.isfinite(scores).all(axis=1))[0]
            raise ValueError(
                f"row {row} has no finite decision: its values, or those of the fit, are too large "
                "for this kernel in double precision. Scale the features before the fit"
            )
    return [found[id(machine)] for machine in machines]


def _by_features(machines, rows):
    """Of nested features, those of the largest approximation begin with those of the others."""
    largest = max((m.approximation_ for m in machines), key=lambda a: a.rank_)
    padded = [np.pad(m.coef_, ((0, 0), (0, largest.rank_ - m.coef_.shape[1]))) for m in machines]
    return largest.decision(rows, np.vstack(padded).T)


def _by_rows(machines, rows):
    support, first = np.unique(np.concatenate([m.support_ for m in machines])), machines[0]
    dual = np.zeros((sum(len(m.dual_coef_) for m in machines), len(support)))
    end = 0
    for one in machines:
        start, end = end, end + len(one.dual_coef_)
        dual[start:end, np.searchsorted(support, one.support_)] = one.dual_coef_
    return getattr(first.approximation_, first.decides_by)(rows, dual.T, support)


def qualities_of(machines, rows, sample_weight=None):
    """The accuracy (of regressors: R^2) of each machine on rows with labels, from one pass."""
    if not rows.is_distributed:
        measure = accuracy_score if is_classifier(machines[0]) else r2_score
        return [
            float(measure(rows.labels, machine.answer(scores), sample_weight=sample_weight))
            for machine, scores in zip(machines, scores_of(machines, rows), strict=True)
        ]
    rows = rows if sample_weight is None else rows.weighted(sample_weight)
    deciders = [machine.decider() for machine in machines]
    if is_classifier(machines[0]):
        wrong = rows.reduce_labelled(_losses, deciders, None)
        return ((wrong[-1] - wrong[:-1]) / wrong[-1]).tolist()
    total, mean = rows.reduce_labelled(_weighted_sum)
    left = rows.reduce_labelled(_losses, deciders, mean / total)
    if left[-1] == 0.0:
        return [float(value == 0.0) for value in left[:-1]]
    return (1.0 - left[:-1] / left[-1]).tolist()


def _weighted_sum(X, y, w):
    w = np.ones(len(y)) if w is None else w
    return float(w.sum()), float(w @ y)


def _losses(X, y, w, machines, mean):
    """What each machine loses, and what is lost at most: the weights of rows in the wrong class; or
    squares, beside those about the mean of all labels."""
    w = np.ones(len(y)) if w is None else w
    answers = [
        m.answer(s) for m, s in zip(machines, scores_of(machines, ArrayRows(X)), strict=True)
    ]
    if mean is None:
        return np.array([*(w @ (found != y) for found in answers), w.sum()])
    return np.array([*(w @ (y - found) ** 2 for found in answers), w @ (y - mean) ** 2])
