"""ADMM on the dual of a support vector machine, by solves with K~ + beta I (Cipolla, Gondzio 2021).

The dual variables are split into x, which sees K~ and y^T x = 0, and z, which sees the box (eq. 3).
A step of Algorithm 2, as a map of one vector v = z - mu / beta with mu the multiplier of x = z, is

    z = prox(v),   q = e + mu + beta z,   K_b = K~ + beta I,                               (eq. 6)
    x = Y K_b^-1 Y q - (e^T K_b^-1 Y q / e^T K_b^-1 e) Y K_b^-1 e,                         (eq. 5)
    v <- v + relaxation (x - z)          (1 in the paper)

Labels enter as signs only: K~ + beta I is factorised once, and every class and every C is a column
of one right-hand side. Where K~ has a negative eigenvalue, the iteration converges only for
beta > -2 lambda_min: smaller ones are refused. What it then converges to satisfies the optimality
conditions; no gap bounds how far it is from the optimum.
"""

import time
from dataclasses import dataclass, replace

import numpy as np

from kernlab.parameters import check_parameters, moderate
from kernlab.runtime import require_memory
from kernlab.solvers.certificates import (
    best_intercept,
    certify_dual,
    feasible_dual,
    kkt_residual,
    primal_objective,
)
from kernlab.solvers.problems import (
    Call,
    Loss,
    SolverResult,
    Trace,
    common_call,
    get_loss,
    row_costs,
    signs,
    warn_unless_converged,
)

REJECTED_GROWTH = 2.0  # a residual that grows by more undoes an accelerated step
LONGEST = 100.0  # times the plain step
RIDGE = 1e-10
BETAS = ("adaptive", "auto")
FIRST_BETA = 1.0
BALANCE_AT = (10, 20, 40, 80, 160, 320, 640, 1280)  # steps after which beta may change
UNBALANCED = 2.0
LARGEST_CHANGE = 10.0
STEPS_BETWEEN_CHECKS = 10
SAFETY = 1.05  # beta is kept by this factor above the bound for convergence
RAISED = 2.0
VECTORS = 10  # of the length of v that a step holds for each problem
BEYOND = 1e100  # costs, from which on steps lead nowhere, and squares overflow soon
TINY = np.finfo(float).tiny


def paper_beta(n_rows):
    """Section 3.3: 100, or 1000 above 100,000 rows, or 10,000 above 1,000,000."""
    return 1e2 if n_rows <= 1e5 else 1e3 if n_rows <= 1e6 else 1e4


@common_call(tol=1e-3, max_iter=1000)
def solve_dual_admm(
    approximation,
    y,
    *,
    given,
    C=1.0,
    loss="hinge",
    intercept="free",
    steps=None,
    beta="adaptive",
    relaxation=None,
    acceleration=None,
    certificate="approximate",
):
    """Minimise 1/2 |w|^2 [+ 1/2 b^2] + sum_i C_i loss(y_i s_i) through its dual, by ADMM.

    Parameters
    ----------
    approximation : what offers `operator()`, `shifted(beta)` and `is_definite(beta)`.
    y, C, loss, intercept, sample_weight, callback : see `kernlab.solvers.problems`; all columns and
        all C are solved together.
    tol : of the duality gap with K~, relative to the objective; None for 1e-3.
    max_iter : steps at most; None for 1000.
    steps : exactly so many, as the paper prescribes (10), whatever is reached: such a result has
        not converged, and its message says how near it is. None to go on to `tol`.
    beta : a number; "adaptive", balanced as it goes (each change is a new factorisation); "auto",
        `paper_beta` (Section 3.3). The last two are raised where K~ has negative eigenvalues.
    relaxation : in (0, 2); None for 1.6, or with `steps` for the paper's 1.
    acceleration : steps that Anderson's method remembers; None for 8, or with `steps` for 0.
    certificate : objectives with K~ ("approximate") or with the exact kernel ("exact", streamed).
    start : dual variables to begin from, or a result, for each column of y; per C or for all.
    random_state : not used; there is nothing random here.
    max_memory : for the vectors that all problems hold.

    Returns
    -------
    SolverResult, or lists of them. The coefficients are a_i y_i; the KKT residual is the projected
    gradient of the dual with the certificate's matrix, in units of the margin. With `steps` the
    dual variables are z as it stands, and the dual objective is that of the feasible point nearest
    to it, in which the heavier class is scaled down: z may lack the balance of a free intercept.
    """
    began = time.perf_counter()
    own = {"steps": steps, "acceleration": acceleration, "relaxation": relaxation}
    check_parameters(own | {"intercept": intercept, "certificate": certificate})
    prescribed = steps is not None
    relaxation = (1.0 if prescribed else 1.6) if relaxation is None else relaxation
    acceleration = int((0 if prescribed else 8) if acceleration is None else acceleration)
    if certificate == "exact" and not hasattr(approximation, "exact_product"):
        raise ValueError(
            f"certificate='exact' needs products with the exact kernel matrix, which "
            f"{type(approximation).__name__} does not offer: use certificate='approximate'"
        )
    call = Call(y, C, given.start)
    problems = _Problems.of(call, given.sample_weight, get_loss(loss), intercept)
    n, p = problems.labels.shape
    vectors = VECTORS + 2 * acceleration
    require_memory(
        8 * n * p * vectors,
        given.max_memory,
        what="ADMM on the dual",
        arithmetic=f"{vectors} vectors of {n} numbers for each of {p} problems",
        way_out="Take fewer C at a time, or acceleration=0.",
    )
    iteration = _Iteration(approximation, problems, beta, relaxation, began, given.callback)
    duals = call.dual_starts()
    if duals is not None:
        iteration.begin_from(duals)
    iteration.run(None if prescribed else given.tol, int(steps or given.max_iter), acceleration)
    results = _certified(approximation, problems, iteration.z, not prescribed, certificate)
    advice = "Raise max_iter, lower C, or bring K~ closer to K."
    seconds = (time.perf_counter() - began) / p
    for j, result in enumerate(results):
        reached, gap = iteration.reached[j], result.relative_gap
        left = "a relative gap" if gap is not None else "a KKT residual"
        left = f"{left} of {result.kkt_residual if gap is None else gap:.2e}"
        results[j] = result = replace(
            result,
            n_iter=int(iteration.steps[j]),
            converged=bool(not prescribed and reached <= given.tol),
            message=f"{steps} steps as prescribed: {left}" if prescribed else "",
            trace=tuple(iteration.traces[j].rows),
            seconds=seconds,
        )
        if not prescribed:
            warn_unless_converged(result, "a relative gap of", reached, given.tol, advice)
    return call.arranged(results)


class Anderson:
    """Anderson's acceleration of a fixed-point iteration, with a memory of so many steps.

    The next v is the combination of the last plain steps whose residuals nearly cancel, in the
    least-squares sense. Where such a step has let the residual grow, or would lead far away (at an
    edge of the box residuals do not tell), the plain step is taken and the memory emptied.
    """

    def __init__(self, memory):
        self._memory = memory
        self.forget()

    def forget(self):
        """Empty the memory, as when the map has changed."""
        self._moves, self._changes, self._last, self._plain = [], [], None, None

    def next(self, v, plain):
        """Where to go from v, when the plain step leads to `plain`."""
        residual = plain - v
        length = float(np.linalg.norm(residual))
        if self._plain is not None and length > REJECTED_GROWTH * self._plain[1]:
            back = self._plain[0]
            self.forget()
            return back
        if self._last is not None:
            self._moves.append(v - self._last[0])
            self._changes.append(residual - self._last[1])
            del self._moves[: -self._memory], self._changes[: -self._memory]
        self._last, self._plain = (v, residual), None
        if not self._changes:
            return plain
        changes = np.stack(self._changes)
        gram = changes @ changes.T
        gram[np.diag_indices_from(gram)] += RIDGE * np.trace(gram) + TINY
        weights = np.linalg.solve(gram, changes @ residual)
        ahead = weights @ changes + weights @ np.stack(self._moves)
        if np.linalg.norm(ahead) > LONGEST * length:
            self.forget()
            return plain
        self._plain = (plain, length)
        return plain - ahead


@dataclass(frozen=True)
class _Problems:
    """Binary problems in columns: labels, costs C_i, loss and intercept."""

    labels: np.ndarray
    costs: np.ndarray
    loss: Loss
    intercept: str

    @classmethod
    def of(cls, call, sample_weight, loss, intercept):
        """Every column of labels with every C, the latter side by side."""
        labels = np.stack([signs(column, len(column)) for column in call.columns], axis=1)
        costs = [row_costs(float(C), len(labels), sample_weight) for C in call.costs]
        costs = np.tile(np.stack(costs, axis=1), labels.shape[1])
        return cls(np.repeat(labels, len(call.costs), axis=1), costs, loss, intercept)

    def take(self, columns):
        return replace(self, labels=self.labels[:, columns], costs=self.costs[:, columns])

    def column(self, j):
        return self.labels[:, j], self.costs[:, j]

    def prox(self, v, beta):
        """Inside the box, and drawn to zero by the squared hinge's a_i^2 / (4 C_i)."""
        z = np.maximum(v, 0.0)
        if self.loss.curvature:
            return z * (beta * self.costs / (beta * self.costs + 2.0 * self.loss.curvature))
        return np.minimum(z, self.costs, out=z)

    def feasible(self, z):
        """The dual points nearest to z that satisfy all constraints."""
        upper = self.loss.upper(self.costs)
        columns = [
            feasible_dual(z[:, j], self.labels[:, j], upper[:, j], self.intercept)[0]
            for j in range(z.shape[1])
        ]
        return np.stack(columns, axis=1)

    def certificates(self, dual, scores):
        return [
            certify_dual(
                lambda _, j=j: scores[:, j], labels, dual[:, j], C=1.0, sample_weight=costs,
                loss=self.loss.name, intercept=self.intercept,
            )
            for j, (labels, costs) in enumerate(zip(self.labels.T, self.costs.T, strict=True))
        ]  # fmt: skip


class _ShiftedSolve:
    """x of the augmented Lagrangian (eq. 5), by a factor of K~ + beta I."""

    def __init__(self, approximation, beta, intercept, n_rows):
        self._factor, self.beta = approximation.shifted(beta), beta
        self._of_ones = np.asarray(self._factor.solve(np.ones(n_rows)), dtype=np.float64)
        total = float(self._of_ones.sum())
        # What takes the mean out of Y x (y^T x = 0), or prices it (an intercept that is penalised).
        self._divisor = {"free": total, "penalised": 1.0 + total, "none": np.inf}[intercept]

    def __call__(self, z, v, problems):
        """x, and the objective of the dual there."""
        q = (2.0 * self.beta) * z
        q -= self.beta * v
        q += 1.0  # e + mu + beta z
        x = np.asarray(self._factor.solve(problems.labels * q), dtype=np.float64)
        x -= self._of_ones[:, None] * (x.sum(axis=0) / self._divisor)
        x *= problems.labels
        # The system just solved gives x^T Y K~ Y x (+ b^2) without a product.
        quadratic = np.einsum("ij,ij->j", x, q) - self.beta * np.einsum("ij,ij->j", x, x)
        objective = x.sum(axis=0) - 0.5 * quadratic
        if problems.loss.curvature:
            weighted = np.divide(x * x, problems.costs, where=problems.costs > 0, out=0.0 * x)
            objective -= problems.loss.curvature * weighted.sum(axis=0)
        return x, objective


class _Iteration:
    """All problems under way: their v, the factor, the steps made and the relative gaps reached."""

    def __init__(self, approximation, problems, beta, relaxation, began, callback):
        self._approximation, self._problems = approximation, problems
        self._operator, (n, p) = approximation.operator(), problems.labels.shape
        if self._operator.shape[0] != n:
            raise ValueError(f"a kernel matrix of {self._operator.shape[0]} rows, but {n} labels")
        self._adaptive, self._relaxation = beta == "adaptive", relaxation
        self._definite_from = np.inf  # shifts from here on are known to make K~ definite
        self._factorise(self._first_beta(beta, n))
        self._v, self._betas = np.zeros((n, p)), np.full(p, self._solve.beta)
        self.steps, self.reached = np.zeros(p, dtype=int), np.full(p, np.inf)
        self.traces = [Trace(callback, began) for _ in range(p)]

    @property
    def z(self):
        """The dual variables, inside their box; each problem's with the beta it ended with."""
        return self._problems.prox(self._v, self._betas)

    # ------------------------------------------------------------------------------ beta
    def _first_beta(self, beta, n):
        if isinstance(beta, str):
            if beta not in BETAS:
                raise ValueError(f"beta={beta!r} is not a number nor one of {', '.join(BETAS)}")
            return self._raised(FIRST_BETA if self._adaptive else paper_beta(n))
        beta = moderate(beta, "beta")
        if not self._converges(beta):
            raise ValueError(
                f"ADMM does not converge at beta={beta:g}, because K~ has an eigenvalue near or "
                f"below -beta / 2: take beta={self._raised(beta):g} or more, beta='auto' or "
                "'adaptive', or a tighter rel_tol, with which K~ comes closer to K"
            )
        return float(beta)

    def _converges(self, beta):
        """Whether beta > -2 lambda_min(K~), with a margin."""
        shift = 0.5 * beta / SAFETY
        if shift < self._definite_from and self._approximation.is_definite(shift):
            self._definite_from = shift
        return shift >= self._definite_from

    def _raised(self, beta):
        """The smallest multiple of beta by a power of two at which the iteration converges."""
        while not self._converges(beta):
            beta *= RAISED
        return float(beta)

    def _factorise(self, beta):
        problems = self._problems
        self._solve = _ShiftedSolve(
            self._approximation, beta, problems.intercept, len(problems.labels)
        )

    def _balance(self, x, z, v, z_before, columns):
        """Change beta where x comes to z and the multipliers come to rest at different speeds."""
        beta = self._solve.beta
        apart = _relative(x - z, np.maximum(_lengths(x), _lengths(z)))
        moving = _relative(beta * (z - z_before), _lengths(beta * (z - v)))
        ratio = float(np.exp(0.5 * np.mean(np.log(apart) - np.log(moving))))
        if 1.0 / UNBALANCED < ratio < UNBALANCED:
            return False
        new = self._raised(beta * float(np.clip(ratio, 1.0 / LARGEST_CHANGE, LARGEST_CHANGE)))
        if new == beta:
            return False
        self._factorise(new)
        self._v[:, columns], self._betas[columns] = z - beta * (z - v) / new, new
        return True

    # ------------------------------------------------------------------------- iterating
    def begin_from(self, start):
        """Dual variables to begin from, with the multipliers that belong to them."""
        z = np.asarray(start, dtype=np.float64)
        if z.shape != self._v.shape or not np.all(np.isfinite(z)):
            raise ValueError(
                f"start must be finite dual variables of shape {self._v.shape}, not {z.shape}"
            )
        problems = self._problems
        z = np.clip(z, 0.0, problems.loss.upper(problems.costs))
        scores = np.asarray(self._operator @ (z * problems.labels), dtype=np.float64)
        for j in range(z.shape[1]):
            labels, costs = problems.column(j)
            if problems.intercept == "penalised":
                b = float(z[:, j] @ labels)
            else:
                b = best_intercept(scores[:, j], labels, costs, problems.loss, problems.intercept)
            mu = labels * (scores[:, j] + b) - 1.0
            self._v[:, j] = z[:, j] - mu / self._solve.beta

    def run(self, tol, max_iter, acceleration):
        """Up to `max_iter` steps; with a tolerance each problem leaves when it has reached it."""
        columns = np.arange(self._v.shape[1])
        memories = [Anderson(acceleration) for _ in columns]
        for number in range(1, max_iter + 1):
            problems, before = self._problems.take(columns), self._v[:, columns]
            z_before = problems.prox(before, self._solve.beta)
            with np.errstate(over="ignore", invalid="ignore"):
                x, objective = self._solve(z_before, before, problems)
                v = before + self._relaxation * (x - z_before)
            if not np.abs(v).max() < BEYOND * max(1.0, problems.costs.max()):
                raise ValueError(
                    f"step {number} of ADMM has left the range of double precision: beside the "
                    f"kernel matrix beta={self._solve.beta:g} is next to nothing. Scale the "
                    "features, or raise beta"
                )
            z = problems.prox(v, self._solve.beta)
            self._v[:, columns] = v
            self._record(number, columns, objective, x, z, z_before)
            if tol is None:
                continue
            if number % STEPS_BETWEEN_CHECKS == 0 or number == max_iter:
                self.reached[columns] = reached = self._gaps(problems, z)
                left = reached > tol
                columns = columns[left]
                if columns.size == 0:
                    return
                before, x, z, v, z_before = (A[:, left] for A in (before, x, z, v, z_before))
            balancing = self._adaptive and number in BALANCE_AT
            if balancing and self._balance(x, z, v, z_before, columns):
                for memory in memories:
                    memory.forget()
            elif acceleration and STEPS_BETWEEN_CHECKS <= number < max_iter:
                for k, j in enumerate(columns):
                    self._v[:, j] = memories[j].next(before[:, k], v[:, k])

    def _gaps(self, problems, z):
        """The relative gap of each problem at the feasible point nearest to z."""
        dual = problems.feasible(z)
        scores = np.asarray(self._operator @ (dual * problems.labels), dtype=np.float64)
        return np.array([proof.relative_gap for proof in problems.certificates(dual, scores)])

    def _record(self, number, columns, objective, x, z, z_before):
        """A row of each trace; the residuals are the largest entries of x - z and of what the step
        has moved z by, times beta."""
        self.steps[columns] = number
        beta = self._solve.beta
        primal = beta * np.abs(x - z).max(axis=0)
        dual = beta * np.abs(z - z_before).max(axis=0)
        for k, j in enumerate(columns):
            parts = {"primal_residual": float(primal[k]), "dual_residual": float(dual[k])}
            residual = max(parts.values())
            self.traces[j].add(
                number, float(objective[k]), residual, **parts, beta=beta, problem=int(j)
            )


def _lengths(A):
    return np.sqrt(np.einsum("ij,ij->j", A, A))


@np.errstate(over="ignore")
def _relative(A, lengths):
    return np.clip(_lengths(A) / np.maximum(lengths, TINY), TINY, 1e300)


# ---------------------------------------------------------------------------- what comes out of it
def _certified(approximation, problems, z, converging, certificate):
    """A result of each problem: at convergence, the nearest feasible point and the intercept of the
    smallest objective; after prescribed steps z as it stands, with the paper's intercept."""
    operator, exact = approximation.operator(), certificate == "exact"
    multiply = approximation.exact_product if exact else operator.__matmul__
    dual = problems.feasible(z)
    scores = np.asarray(multiply(dual * problems.labels), dtype=np.float64)
    proofs = problems.certificates(dual, scores)
    intercepts = [proof.intercept for proof in proofs]
    if not converging:
        dual, scores = z, np.asarray(multiply(z * problems.labels), dtype=np.float64)
        seen = np.asarray(operator @ (z * problems.labels), float) if exact else scores
        intercepts = [
            _margin_intercept(problems, j, z[:, j], seen[:, j]) for j in range(z.shape[1])
        ]
    bounded = approximation.kernel_is_semidefinite if exact else approximation.is_kernel_map
    results = []
    for j, (b, proof) in enumerate(zip(intercepts, proofs, strict=True)):
        labels, costs = problems.column(j)
        squared_norm = float(scores[:, j] @ (dual[:, j] * labels))
        results.append(
            SolverResult(
                coefficients=dual[:, j] * labels,
                intercept=b,
                objective=primal_objective(
                    scores[:, j], squared_norm, labels, costs, problems.loss, problems.intercept, b
                ),
                dual_objective=proof.dual if bounded else None,
                # Balancing moves variables off the top of their box by rounding: z says where
                # they are.
                kkt_residual=kkt_residual(scores[:, j] + b, labels, z[:, j], costs, problems.loss),
                dual_variables=dual[:, j],
                n_iter=0,
                converged=False,
                solver="dual-admm",
            )
        )
    return results


def _margin_intercept(problems, j, dual, scores):
    """b by the rows on the margin (eq. 7, its sign put right); where there are none, the middle of
    the interval that the other rows leave, as in LIBSVM."""
    (labels, costs), loss = problems.column(j), problems.loss
    if problems.intercept == "none":
        return 0.0
    if problems.intercept == "penalised":
        return float(dual @ labels)
    live, wanted = costs > 0, labels - scores
    inside = live & (dual > 0.0) & (dual < loss.upper(costs))
    if inside.any():
        curved = loss.dual_diagonal(costs[inside]) * dual[inside]
        return float(np.mean(wanted[inside] - labels[inside] * curved))
    # y (s + b) >= 1 at a = 0 and <= 1 at the top: bounds from below for one class, from above for
    # the other.
    from_below = np.where(dual <= 0.0, labels > 0, labels < 0)
    lowest = wanted[live & from_below].max(initial=-np.inf)
    highest = wanted[live & ~from_below].min(initial=np.inf)
    bounds = [bound for bound in (lowest, highest) if np.isfinite(bound)]
    return float(np.mean(bounds)) if bounds else 0.0
