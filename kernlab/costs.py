"""What a fit will take, in seconds and bytes, before it is begun.

Operations, kernel values and bytes are counted; what a count is worth in seconds is measured on
this machine. How often an iteration is repeated depends on the data and on C: such numbers are
typical ones (`TYPICAL`), found on the papers' sets at the solvers' own tolerances.
"""

import math
import timeit
from dataclasses import dataclass, field, replace
from functools import cache, partial

import numpy as np
import scipy.sparse as sp

from kernlab.approximations.landmarks import (
    DENSE_BYTES,
    LLOYD_STEPS,
    MAX_ROWS,
    resolve_n_landmarks,
)
from kernlab.approximations.polynomial import space_dimension
from kernlab.kernels import RBF
from kernlab.rows.products import BLAS, COLUMN_SUMS
from kernlab.runtime import format_bytes, memory_limit, thread_count
from kernlab.solvers.linear.coordinate import BLOCK_ROWS

PRODUCT_SIZE, VALUES, PASSED = 640, (4096, 256), 2**25
SINGLE_FROM = 2**21  # values: from here on those of landmarks are in single precision
BLOCK_BYTES = 10e6  # of work in blocks, for each thread
APART = 0.012  # seconds of a stage, and bytes of a fit, whatever its size
APART_BYTES = 5e6
TYPICAL = {
    "active": 0.5,  # the share of rows that Newton's method has in its Hessian
    "products": 17,  # of Newton's method with the Hessian
    "evaluations": 14,  # of Newton's objective
    "dcd": 25,  # passes of coordinate descent to 1e-3 of the objective
    "liblinear": 400,  # passes of LIBLINEAR's
    "tron": 60,  # products of LIBLINEAR's Newton method
    "interior": 22,  # steps of the interior point method
    "cg": 120,  # products of Newton's method without a factor
    "near": 200,  # entries of a row of a sparse kernel matrix
    "fill": 12,  # entries of its factor for each of them
    "rank": 40,  # of blocks of a hierarchical matrix of rows of ten features
    "steps": 300,  # of ADMM to 1e-3
}


@dataclass(frozen=True)
class Rates:
    """What this machine does in a second, on all threads that are allowed."""

    double: float  # operations of matrix products
    single: float
    values: float  # Gaussian kernel values between short rows
    moved: float  # bytes through memory


def rates():
    """This machine's rates with the threads that are allowed now; measured once for each number."""
    return _measured(thread_count())


@cache
def _measured(threads):
    rng = np.random.default_rng(0)

    def product(dtype):
        A = rng.random((PRODUCT_SIZE, PRODUCT_SIZE)).astype(dtype)
        return 2.0 * PRODUCT_SIZE**3 / fastest(lambda: A @ A)

    n, k = VALUES
    X, Z, kernel = rng.random((n, 4)), rng.random((k, 4)), RBF(1.0)
    long = np.ones(PASSED // 8)
    return Rates(
        double=product(np.float64),
        single=product(np.float32),
        values=n * k / fastest(lambda: kernel(X, Z)),
        moved=long.nbytes / fastest(lambda: np.multiply(long, 0.5, out=long)),
    )


def fastest(function, repeats=5):
    """Seconds of the fastest of some calls: what disturbs a call only slows it."""
    return min(timeit.repeat(function, number=1, repeat=repeats))


@dataclass(frozen=True)
class Work:
    """Counts that take time (see `Rates`), and the bytes that are held for them."""

    double: float = 0.0
    single: float = 0.0
    values: float = 0.0
    moved: float = 0.0
    held: float = 0.0

    def seconds(self):
        """What these counts take on this machine."""
        now = vars(rates())
        return sum(getattr(self, name) / rate for name, rate in now.items())

    def times(self, m):
        """The same work m times, one after the other."""
        return Work(m * self.double, m * self.single, m * self.values, m * self.moved, self.held)


@dataclass(frozen=True)
class Sizes:
    """Rows, their features, entries of a row that are not zero, and binary problems."""

    rows: int
    features: int
    entries: float
    problems: int = 1

    @classmethod
    def of(cls, rows, problems=1):
        """Those of `kernlab.rows.Rows`; entries of files are those of a sample."""
        some = rows.whole() if rows.in_memory else rows.sample(min(200, len(rows)), 0)
        entries = some.nnz / max(1, some.shape[0]) if sp.issparse(some) else rows.n_features
        return cls(len(rows), rows.n_features, float(entries), problems)

    @property
    def multiplications(self):
        """Of a product of two rows, each worth one of BLAS."""
        return min(self.features, COLUMN_SUMS / BLAS * self.entries)

    def share(self, share):
        """The sizes of a share of the rows."""
        return replace(self, rows=max(2, round(share * self.rows)))


@dataclass(frozen=True)
class Part:
    """What an approximation takes and leaves to a solver: features (of n rows) or a matrix of rank
    n, the entries that one product with it reads, and the bytes of each."""

    work: Work
    rank: int
    entries: float
    width: int = 8
    factor: Work = Work()  # for solves with a shift, or rows of a factor as features


@dataclass(frozen=True)
class Cost:
    """What a fit is predicted to take.

    Parameters
    ----------
    seconds : float
    bytes : float
        The most that is held at one time, beside the rows themselves.
    rank : int
        Features, or rows where there are none.
    stages : dict
        Seconds of "approximate" and "solve".
    """

    seconds: float
    bytes: float
    rank: int
    stages: dict = field(default_factory=dict)

    def __str__(self):
        return f"about {self.seconds:.2g} s and {format_bytes(self.bytes)}"


def cost_of(approximation, settings, solver, asked, sizes):
    """The cost of one pair, for one value of C.

    Parameters
    ----------
    approximation, solver : str
        Names of the registries.
    settings, asked : dict
        Parameters of the approximation and of the solver; those that count are looked at.
    sizes : Sizes

    Returns
    -------
    Cost
    """
    part = APPROXIMATIONS[approximation](sizes, settings)
    then = SOLVERS[solver](sizes, part, asked)
    stages = {"approximate": APART + part.work.seconds(), "solve": APART + then.seconds()}
    held = APART_BYTES + part.work.held + then.held
    return Cost(sum(stages.values()), held, part.rank, stages)


# ------------------------------------------------------------------------------ approximations
def _landmarks(sizes, settings, mapped):
    n, q = sizes.rows, sizes.entries
    how, asked = settings.get("landmarks", "kmeans"), settings.get("n_landmarks", "sqrt")
    rule = how if isinstance(how, str) else None
    further = settings.get("landmark_params") or {}
    seen = min(n, further.get("max_rows", MAX_ROWS))
    k = min(resolve_n_landmarks(asked, n), n) if rule else len(how)
    pivots = rule == "rpcholesky"
    passes = 1 + LLOYD_STEPS if rule == "kmeans" else int(pivots)
    given = settings.get("dtype")
    width = np.dtype(given).itemsize if given else 4 if mapped and n * k >= SINGLE_FROM else 8
    held = n * k * width + (24.0 if mapped else 8.0) * k * k
    filled = 4.0 * seen * sizes.features
    filled *= filled <= DENSE_BYTES
    product = 2.0 * k * sizes.multiplications
    work = Work(
        double=product * (n + passes * seen) + 4.0 * k**3 + 2.0 * pivots * seen * k * k,
        values=n * k + 0.4 * passes * seen * k + k * k,
        # First the rows in another precision; later the features, beside the sample of k-means.
        held=max(5.0 * n * q, held + 2.0 * filled) + BLOCK_BYTES * thread_count(),
    )
    return Part(work, k, 1.0 * n * k, width, Work(double=1.0 * n * k * k))


def _fourier(sizes, settings):
    """Cosines and sines take as long as some fifteen kernel values each."""
    n, D = sizes.rows, settings.get("n_components", 200)
    held = 12.0 * n * D + BLOCK_BYTES * thread_count()
    work = Work(double=n * sizes.multiplications * D, values=15.0 * n * D, held=held)
    return Part(work, D, 1.0 * n * D, 8, Work(double=1.0 * n * D * D))


def _exact(sizes, settings):
    n = sizes.rows
    double = 2.0 * n * n * sizes.multiplications + n**3
    work = Work(double=double, values=n * n, moved=40.0 * n * n, held=24.0 * n * n)
    return Part(work, n, 1.0 * n * n, 8, Work(double=n**3 / 3.0, held=8.0 * n * n))


def _polynomial(sizes, settings):
    """Features are formed a block at a time, by whoever passes over them."""
    n, d, s = sizes.rows, sizes.features, settings.get("degree", 3)
    N = settings.get("n_centres") or min(space_dimension(d, s), n)
    return Part(Work(held=8e6 + 32.0 * n * d, moved=16.0 * n * d), N, 1.0 * n * N, 0)


def _compact(sizes, settings):
    n = sizes.rows
    pairs = 1.0 * n * min(n, TYPICAL["near"])
    work = Work(double=2.0 * sizes.entries * 20.0 * pairs, values=150.0 * pairs, held=65.0 * pairs)
    entries = TYPICAL["fill"] * pairs
    factor = Work(double=20.0 * entries * min(math.sqrt(n), 300.0), held=85.0 * entries)
    return Part(work, n, pairs, 12, factor)


def _hss(sizes, settings):
    n, leaf = sizes.rows, settings.get("leaf_size") or 128
    levels, near = math.log2(max(2.0, n / leaf)), settings.get("approximate_neighbors", 64)
    typical = TYPICAL["rank"] * max(1.0, math.sqrt(sizes.entries * sizes.features) / 10.0) ** 0.9
    rank = min(settings.get("max_rank") or typical, typical, 0.5 * n)
    values = n * (leaf + levels * near + 4.0 * rank)
    double = 4.0 * sizes.entries * values + n * (800.0 * leaf * rank)
    entries = n * (leaf + 6.0 * rank)
    work = Work(double=double, values=2.0 * values, held=10.0 * entries)
    return Part(work, n, entries, 8, Work(double=16.0 * n * leaf**2, held=5.0 * entries))


APPROXIMATIONS = {
    "nystrom": partial(_landmarks, mapped=True),
    "reduced": partial(_landmarks, mapped=False),
    "fourier": _fourier,
    "exact": _exact,
    "polynomial": _polynomial,
    "compact": _compact,
    "hss": _hss,
}


# ------------------------------------------------------------------------------------ solvers
def _newton(sizes, part, asked):
    """The cheapest of a Gram matrix of active rows, one of means of groups of them, and none."""
    n, m, k = sizes.rows, sizes.problems, part.rank
    active = TYPICAL["active"] * n * (0.4 if m > 2 else 1.0)  # of one class against the rest fewer
    products, passes = TYPICAL["products"] * active, TYPICAL["evaluations"] * n
    held, moved = 28.0 * k * k + 100.0 * n, 4.0 * k * (products + passes)
    direct = Work(8.0 * k**3, 2.5 * active * k * k, moved=moved, held=held)
    moved = 4.0 * k * (4.0 * products + passes)
    grouped = Work(single=22.0 * k**3, moved=moved, held=held)
    plain = Work(moved=8.0 * k * (TYPICAL["cg"] * active + passes), held=100.0 * n)
    return min((direct, grouped, plain), key=Work.seconds).times(m)


def _passes(sizes, part, asked, visits, width):
    """So many passes over stored features, formed before, or in each of the runs asked for."""
    runs = asked.get("runs")
    moved = 8.0 * (10.0 * runs if runs else visits) * part.entries
    own = Work(moved=moved, held=width * part.entries + 60.0 * sizes.rows).times(sizes.problems)
    formed = 1.0 * part.entries * part.rank if part.width else 0.0
    if not runs:
        return replace(own, single=formed)
    # In double precision: all of them where memory holds them, a block and what is kept of others.
    block = min(sizes.rows, asked.get("block_rows") or BLOCK_ROWS)
    held = part.rank * block * (0.0 if block == sizes.rows else 10.4) + 60.0 * sizes.rows
    if 8.0 * part.entries <= memory_limit(asked.get("max_memory")) / 4:
        return replace(own, double=3.0 * formed, held=held + (8.0 - part.width) * part.entries)
    formed *= runs * sizes.problems
    return replace(own, double=3.0 * formed, held=2.3 * held - part.width * part.entries)


def _tron(sizes, part, asked):
    factor, entries = Work(), part.entries
    if part.width == 12:
        factor, entries = part.factor, TYPICAL["fill"] * part.entries
    moved = 16.0 * sizes.problems * TYPICAL["tron"] * entries
    return Work(double=factor.double, moved=moved, held=factor.held + 16.0 * entries)


def _hinge_admm(sizes, part, asked):
    n, m, k, steps = sizes.rows, sizes.problems, part.rank, asked.get("max_iter") or 5
    forming = 2.0 * n * k * sizes.features * (1 + steps)
    combined = part.width == 0  # polynomials, by QR of combinations of others
    double = forming + n * k * k + (4.0 if combined else 0.4) * k**3 + 4.0 * m * steps * n * k
    held = (52.0 if combined else 32.0) * k * k + 40.0 * n
    return Work(double=double, values=1.0 * n * k * (1 + steps), held=held)


def _interior(sizes, part, asked):
    """Weighted products of small blocks come at a twentieth of the rate of large ones."""
    n, k, steps = sizes.rows, part.rank, TYPICAL["interior"]
    double = steps * (20.0 * n * k * k + k**3 / 3.0)
    held = 24.0 * k * k + 200.0 * n
    return Work(double=double, moved=8.0 * steps * n * k, held=held).times(sizes.problems)


def _newton_cg(sizes, part, asked):
    moved = max(8.0, part.width) * TYPICAL["cg"] * part.entries
    return Work(moved=moved, held=100.0 * sizes.rows).times(sizes.problems)


def _dual_admm(sizes, part, asked):
    n, m, steps = sizes.rows, sizes.problems, asked.get("steps") or TYPICAL["steps"]
    moved = 8.0 * m * (part.entries * steps + 20.0 * n * steps)
    return Work(double=part.factor.double, moved=moved, held=part.factor.held + 80.0 * n * m)


SOLVERS = {
    "newton": _newton,
    "dcd": partial(_passes, visits=TYPICAL["dcd"], width=4.0),
    "sbm": partial(_passes, visits=TYPICAL["dcd"], width=4.0),
    "liblinear-dcd": partial(_passes, visits=TYPICAL["liblinear"], width=16.0),
    "liblinear-tron": _tron,
    "newton-cg": _newton_cg,
    "dual-admm": _dual_admm,
    "hinge-admm": _hinge_admm,
    "hinge-interior": _interior,
}
