"""Fitting machines that have their approximation in common, and deciding by them, in one pass.

Machines that differ in what the solver is told only are fitted together: the approximation once,
the solver once for all their C. So are machines on the first k of the same landmarks. One machine
is the smallest such family, and a sweep is many of them.
"""

import time
from collections.abc import Hashable
from copy import copy
from dataclasses import dataclass, replace

import numpy as np
from sklearn.base import is_classifier

from kernlab.rows import ArrayRows, distinct_rows, validate_rows
from kernlab.runtime import memory_limit
from kernlab.solvers import summarise

NESTED = "n_landmarks"  # of maps whose first features are those of fewer landmarks


@dataclass(frozen=True)
class Plan:
    """What a machine asks of its parts: the arguments of each, C apart."""

    kind: type
    approximation: dict
    solver: object
    arguments: dict

    def approximation_key(self, nested):
        """Equal for machines that can have their approximation in common."""
        return self.kind, key_of(self.approximation, without=(NESTED,) if nested else ())

    def solver_key(self):
        """Equal for machines that the solver may be told of at once."""
        return self.solver.name, key_of(self.arguments)


def key_of(arguments, without=()):
    """Equal for equal arguments; what cannot be compared quickly is equal to itself."""
    return tuple(
        (name, value if isinstance(value, Hashable) else id(value))
        for name, value in sorted(arguments.items())
        if name not in without
    )


def fit_together(machines, X, y=None, sample_weight=None, *, shared=None, nested=False, on=None):
    """Fit machines of one class that can have their approximation in common.

    Parameters
    ----------
    machines : list of Pair
        Their plans' `approximation_key(nested)` are equal, and so is what else they see of the rows
        (class weights, merging).
    X, y, sample_weight
        As in `Pair.fit`.
    shared : dict, default None
        What approximations of the same rows, with other parameters, leave each other.
    nested : bool, default False
        Whether they are on the first k landmarks, each on its own number, of one order of them.
    on : Approximation, default None
        Fitted on the same rows; it takes the place of the machines' own.
    """
    began = time.perf_counter()
    first, plans = machines[0], [machine.plan() for machine in machines]
    rows, weights, learnt, columns = _seen(first, X, y, sample_weight)
    approximation = on or _fitted(plans, rows, weights, learnt, shared, nested)
    data = {
        need: approximation.data_for(need, rows)
        for need in dict.fromkeys(plan.solver.needs for plan in plans)
    }
    spent = {"approximate": time.perf_counter() - began}
    parts, solved = sum(approximation.timings_.values()), []
    sizes = sorted({plan.approximation[NESTED] for plan in plans}) if nested else [None]
    starts = {}
    for size in sizes:
        part, of_size = approximation, list(range(len(machines)))
        if nested:
            part = approximation.leading(min(size, approximation.rank_))
            of_size = [i for i in of_size if plans[i].approximation[NESTED] == size]
        for key in dict.fromkeys(plans[i].solver_key() for i in of_size):
            chosen = [i for i in of_size if plans[i].solver_key() == key]
            found = data[plans[chosen[0]].solver.needs]
            families = _solved(
                plans[chosen[0]], [machines[i] for i in chosen], part,
                found.leading(part.rank_) if nested else found, columns, weights,
                starts.get(key),
            )  # fmt: skip
            smallest = int(np.argmin([machines[i].C for i in chosen])) if nested else 0
            starts[key] = [family[smallest] for family in families]
            for place, i in enumerate(chosen):
                results = [family[place] for family in families]
                solved.append((machines[i], plans[i], part, results))
    # Factors are made when the solver asks for them.
    factors = sum(approximation.timings_.values()) - parts
    spent["approximate"] += factors
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


def _solved(plan, machines, approximation, data, columns, weights, start):
    """For each column a list of results, one for each machine, which differ in C only."""
    limit, held = machines[0].max_memory, approximation.nbytes
    costs = [machine.C for machine in machines]
    families = plan.solver.solve(
        data,
        columns,
        C=None if None in costs else costs,
        sample_weight=weights,
        start=start,
        max_memory=None if limit is None else max(1, memory_limit(limit) - held),
        **plan.arguments,
    )
    if None in costs:
        families = [[result] * len(machines) for result in families]
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
    dual = coefficients
    if plan.solver.needs == "features":
        dual = approximation.dual_from_weights(coefficients.T)
        if dual is None:
            return fitted | {"coef_": coefficients}
        dual = dual.T
    support = np.flatnonzero(dual.any(axis=0))
    return fitted | {"support_": support, "dual_coef_": dual[:, support]}


# ------------------------------------------------------------------------------ deciding, together
def scores_of(machines, rows):
    """Scores of rows by machines that were fitted together, from one pass over the rows.

    Returns
    -------
    list of arrays of shape (n_rows, n_problems), one for each machine
    """
    found = {}
    for with_features in (True, False):
        members = [m for m in machines if ("coef_" in vars(m)) == with_features]
        if members:
            scores = (_scores_by_features if with_features else _scores_by_rows)(members, rows)
            ends = np.cumsum([len(m.intercept_) for m in members])[:-1]
            for one, part in zip(members, np.split(scores, ends, axis=1), strict=True):
                found[id(one)] = part + one.intercept_
    return [found[id(machine)] for machine in machines]


def _scores_by_features(machines, rows):
    """Of nested features, those of the largest approximation begin with those of the others."""
    largest = max((m.approximation_ for m in machines), key=lambda a: a.rank_)
    weights = np.zeros((largest.rank_, sum(len(m.coef_) for m in machines)))
    end = 0
    for one in machines:
        start, end = end, end + len(one.coef_)
        weights[: one.coef_.shape[1], start:end] = one.coef_.T
    return largest.decision(rows, weights)


def _scores_by_rows(machines, rows):
    support = np.unique(np.concatenate([m.support_ for m in machines]))
    dual = np.zeros((len(support), sum(len(m.dual_coef_) for m in machines)))
    end = 0
    for one in machines:
        start, end = end, end + len(one.dual_coef_)
        dual[np.searchsorted(support, one.support_), start:end] = one.dual_coef_.T
    first = machines[0]
    return getattr(first.approximation_, first.decides_by)(rows, dual, support)
