"""`max_memory` is a promise: a process grows by no more, or the refusal comes beforehand."""

import pytest
from memory_probe import allowed, growth

SETUP = """
from kernlab import LASN, LLSVM, KernelMachine
from kernlab.approximations import Nystrom

generator = np.random.default_rng(0)
small = generator.normal(size=(300, 8))
for machine in (LASN(10), LLSVM(10), KernelMachine("exact", "newton")):
    machine.fit(small, np.sign(small[:, 0]))
Nystrom(n_landmarks=10, landmarks="rpcholesky").fit(small)
Nystrom(n_landmarks=10).fit(sp.csr_matrix(small))
X = {rows}
y = np.sign(generator.normal(size=X.shape[0]))
"""
LONG, WIDE = "generator.normal(size=(100_000, 20))", "generator.normal(size=(3000, 2000))"
SQUARE = "generator.normal(size=(2000, 5))"
SPARSE = (
    "sp.csr_matrix((np.ones(150_000), (np.repeat(np.arange(5000), 30), "
    "generator.integers(0, 300_000, 150_000))), (5000, 300_000))"
)


@pytest.mark.parametrize(
    ("rows", "machine", "limit", "is_refused"),
    [
        (LONG, "LLSVM(300, runs=1, max_memory={limit!r})", "60MB", False),
        (WIDE, "LASN(1000, landmarks='uniform', max_memory={limit!r})", "30MB", True),
        (WIDE, "LASN(1000, landmarks='uniform', max_memory={limit!r})", "100MB", False),
        (LONG, "LASN(1000, landmarks='rpcholesky', max_memory={limit!r})", "100MB", True),
        (SPARSE, "LASN(300, max_memory={limit!r})", "20MB", False),
        (SQUARE, "KernelMachine('exact', 'newton', max_memory={limit!r})", "165MB", False),
    ],
)
def test_a_fit_takes_what_it_may_or_is_refused(rows, machine, limit, is_refused):
    setup = SETUP.replace("{rows}", rows)
    found = growth(setup, f"{machine.format(limit=limit)}.fit(X, y)")
    assert (found.refusal is not None) == is_refused
    assert found.bytes <= allowed(limit)
