"""CHOLMOD through scikit-sparse, and a process of its own that calls it: this file, run by path.

scikit-sparse keeps Python's lock while CHOLMOD factorises, so that nobody would hear Ctrl-C: what
takes seconds is done by that process, which ends with whoever waits for it. It loads nothing of the
package, for that takes longer than many a factor.
"""

import ctypes
import os
import pickle
import signal
import subprocess
import sys

import scipy.sparse as sp


def order(module, matrix, ordering, long=False):
    """(analysis of the pattern, matrix as it is to be factorised): `analyze` of scikit-sparse 0.4,
    or a `CholeskyFactor` of 0.5. `long` for factors of more than 2^31 entries."""
    overflow = module.CholmodTooLargeError if is_04(module) else module.CholmodOverflowError
    try:
        return _analysed(module, matrix, ordering, long)
    except overflow:
        if long:
            raise
        return _analysed(module, matrix, ordering, True)


def _analysed(module, matrix, ordering, long):
    if long:
        parts = matrix.data, matrix.indices.astype("int64"), matrix.indptr.astype("int64")
        matrix = sp.csc_matrix(matrix.shape)
        matrix.data, matrix.indices, matrix.indptr = parts  # which else would be made small again
    if not is_04(module):
        matrix = sp.csc_array(matrix)
        return module.CholeskyFactor(matrix, lower=True, order=ordering), matrix
    long = matrix.indices.dtype == "int64"
    return module.analyze(matrix, ordering_method=ordering, use_long=long), matrix


def lower_factor(module, analysis, matrix):
    """L of the matrix in the order of its analysis, as CSC; of its entries the lower ones do."""
    if is_04(module):
        analysis.cholesky_inplace(matrix)
        # 0.4 finds out about a matrix that is not positive definite only now.
        lower = analysis.L()
        lower.eliminate_zeros()  # of columns computed together; 0.5 does so itself
    else:
        analysis.factorize(matrix)
        lower = analysis.get_factor(kind="LL", lower=True)
    return sp.csc_matrix(lower)


def is_04(module):
    return not hasattr(module, "cho_factor")


# ------------------------------------------------------------------------- a process of its own
def by_a_process(matrix):
    """The factor L of a matrix in the order given, of which the lower half is enough."""
    command = [sys.executable, "-P", __file__]
    found_by = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "env": os.environ | found_by}
    with subprocess.Popen(command, **pipes) as process:
        try:
            pickle.dump(matrix, process.stdin, protocol=5)
            process.stdin.close()
            found = pickle.load(process.stdout)
        except (EOFError, BrokenPipeError):
            raise MemoryError(
                "the process that computed the Cholesky factor was ended, perhaps because memory "
                "ran out: allow less with max_memory, or take backend='superlu'"
            ) from None
        except BaseException:
            process.kill()
            raise
    if isinstance(found, tuple):
        kind, text = found
        raise kind(text)
    return found


def serve():
    """In that process: send back the factor of the matrix that comes, or the kind of an error and
    its text."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: it ends with its parent
    matrix = pickle.load(sys.stdin.buffer)
    try:
        from sksparse import cholmod

        found = lower_factor(cholmod, *order(cholmod, matrix, "natural"))
    except Exception as error:
        found = type(error), str(error)
    pickle.dump(found, sys.stdout.buffer, protocol=5)


if __name__ == "__main__":
    serve()
