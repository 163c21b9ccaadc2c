"""Machines for several C, and for several numbers of landmarks, from one approximation.

Everything that a grid lets share is computed once: landmarks, kernel values and their map; with
nested landmarks also those of all smaller numbers. Newton's method goes from one C to the next with
its Hessian; coordinate descent, where it goes on to convergence, starts from the dual variables of
the C before; ADMM on the dual takes all C as right-hand sides of one factor.
"""

import time
from copy import copy

import numpy as np
from sklearn.base import clone

from kernlab.estimators.kernel_machine import KernelMachine
from kernlab.kernels import kernel_product
from kernlab.rows.validation import validate_data


def fit_path(machine, X, y, costs, n_landmarks=None, sample_weight=None, shared=None):
    """Fitted machines, one for each C of `costs`; lists of them for each k of `n_landmarks`.

    `shared` is a dictionary in which approximations of the same rows, with other parameters, leave
    each other what they have in common.
    The machines share their approximation. With `n_landmarks`, ascending, the landmarks are drawn
    once, for the largest k, and each k takes the first of them in the order of the pivots; k is
    then the machine's parameter, and a clone of it draws k landmarks of its own.
    """
    if not shares_its_approximation(machine):
        return [clone(machine).set_params(C=C).fit(X, y, sample_weight) for C in costs]
    began = time.perf_counter()
    machine = clone(machine)
    approximation, solver = machine._make_pair()
    if n_landmarks is not None:
        approximation.set_params(n_landmarks=max(n_landmarks))
    if shared is not None:
        approximation.share(shared)
    X, y = validate_data(
        machine, X, y, accept_sparse="csr", dtype=(np.float64, np.float32), order="C"
    )
    signs = machine._binary_problems(y)
    weights = machine._row_weights(X, y, sample_weight)
    data = machine._approximate(approximation, solver, X)
    approximated = time.perf_counter() - began
    if n_landmarks is None:
        parts = sum(approximation.timings_.values())
        results = _solved(machine, solver, data, signs, weights, costs, None)
        factors = sum(approximation.timings_.values()) - parts
        return _machines(machine, solver, approximation, results, costs, approximated, factors)
    families, starts = [], None
    for k in n_landmarks:
        rank = min(k, approximation.rank_)
        results = _solved(machine, solver, data.leading(rank), signs, weights, costs, starts)
        part, asked = approximation.leading(rank), _asking_for(machine, k)
        families.append(_machines(asked, solver, part, results, costs, approximated))
        approximated = 0.0
        starts = [path[0] for path in results]
    return families


def shares_its_approximation(machine):
    """Whether a machine is fitted as the general pair is, so that its parts can be shared."""
    kind = type(machine)
    return isinstance(machine, KernelMachine) and kind.fit is KernelMachine.fit


def shared_scores(machines, X):
    """Decision values of machines that share landmarks, or the points that their dual variables
    belong to, from one pass over the kernel values.

    One array per machine; None where they share nothing.
    """
    if _share_their_points(machines):
        return _dual_scores(machines, X)
    if not all(_is_linear_on_landmarks(machine) for machine in machines):
        return None
    largest = max((m.approximation_ for m in machines), key=lambda a: a.landmarks_.shape[0])
    expansions = [m.approximation_.expansion(m.coef_.T) for m in machines]
    for points, _ in expansions:
        if not _begins_with(largest.landmarks_, points):
            return None
    weights = np.zeros((largest.landmarks_.shape[0], sum(w.shape[1] for _, w in expansions)))
    column = 0
    for _, part in expansions:
        weights[: len(part), column : column + part.shape[1]] = part
        column += part.shape[1]
    X = validate_data(
        machines[0], X, accept_sparse="csr", dtype=(np.float64, np.float32), reset=False
    )
    scores = kernel_product(largest.kernel_, X, largest.landmarks_, weights, machines[0].max_memory)
    split = np.cumsum([part.shape[1] for _, part in expansions])[:-1]
    return [
        part + machine.intercept_
        for part, machine in zip(np.split(scores, split, axis=1), machines, strict=True)
    ]


def _share_their_points(machines):
    first = machines[0]
    return all(
        hasattr(one, "dual_coef_") and one.approximation_ is first.approximation_
        for one in machines
    )


def _dual_scores(machines, X):
    """All machines as one, with the support vectors of any and a column for each problem."""
    X = validate_data(
        machines[0], X, accept_sparse="csr", dtype=(np.float64, np.float32), reset=False
    )
    together = copy(machines[0])
    together.support_ = np.unique(np.concatenate([one.support_ for one in machines]))
    together.dual_coef_ = np.zeros(
        (sum(len(one.dual_coef_) for one in machines), len(together.support_))
    )
    row = 0
    for one in machines:
        place = np.searchsorted(together.support_, one.support_)
        together.dual_coef_[row : row + len(one.dual_coef_), place] = one.dual_coef_
        row += len(one.dual_coef_)
    scores = together._dual_scores(X)
    split = np.cumsum([len(one.dual_coef_) for one in machines])[:-1]
    return [
        part + one.intercept_
        for part, one in zip(np.split(scores, split, axis=1), machines, strict=True)
    ]


def _is_linear_on_landmarks(machine):
    if not shares_its_approximation(machine) or not hasattr(machine, "coef_"):
        return False
    return hasattr(machine.approximation_, "landmarks_")


def _begins_with(points, first):
    head = points[: first.shape[0]]
    return head.shape == first.shape and (head is first or (head != first).sum() == 0)


def _asking_for(machine, n_landmarks):
    """The machine with this number as its parameter, so that its clones ask for as many."""
    machine = copy(machine)
    if "n_landmarks" in machine.get_params():
        return machine.set_params(n_landmarks=n_landmarks)
    params = dict(machine.approximation_params or {}) | {"n_landmarks": n_landmarks}
    return machine.set_params(approximation_params=params)


def _solved(machine, solver, data, signs, weights, costs, starts):
    """For each binary problem its results, one for each C."""
    arguments = machine._solver_arguments(solver) | {"C": list(costs)}
    return solver.solve(
        data, np.column_stack(signs), sample_weight=weights, start=starts, **arguments
    )


def _machines(machine, solver, approximation, results, costs, approximated, factors=0.0):
    """A fitted machine for each C; the first bears the time that they share.

    `factors` are the seconds of solving in which the approximation was factorised.
    """
    fitted = []
    for position, C in enumerate(costs):
        one = copy(machine)
        one.C = C
        one.approximation_ = approximation
        one.results_ = [path[position] for path in results]
        one._store(solver)
        solving = sum(result.seconds for result in one.results_) - factors / len(costs)
        parts = approximation.timings_.items() if position == 0 and approximated else ()
        own = approximated + factors if position == 0 else 0.0
        one.timings_ = {
            "approximate": own,
            **{f"approximate: {part}": seconds for part, seconds in parts},
            "solve": solving,
            "total": own + solving,
        }
        fitted.append(one)
    return fitted
