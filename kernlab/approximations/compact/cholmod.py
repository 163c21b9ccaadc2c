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


def order(module, matrix, ordering):
    """The permutation that CHOLMOD finds; counting and laying out the factor is left for later."""
    return _permutation(module, _analysed(module, matrix, ordering, "simplicial"))


def lower_factor(module, half):
    """L and p with L L^T = A[p][:, p], L as CSC, of a matrix A of which the lower half is given.
    p is another order of the same elimination tree, if any."""
    overflow = module.CholmodTooLargeError if is_04(module) else module.CholmodOverflowError
    try:
        return _factorised(module, half)
    except overflow:  # of indices: then they have 64 bits
        if half.indices.dtype == "int64":
            raise
        parts = half.data, half.indices.astype("int64"), half.indptr.astype("int64")
        half = sp.csc_matrix(half.shape)
        half.data, half.indices, half.indptr = parts  # which else would be made small again
        return _factorised(module, half)


def _analysed(module, matrix, ordering, mode):
    """`analyze` of scikit-sparse 0.4, or a `CholeskyFactor` of 0.5."""
    if is_04(module):
        long = matrix.indices.dtype == "int64"
        return module.analyze(matrix, mode=mode, ordering_method=ordering, use_long=long)
    matrix = sp.csc_array(matrix)
    return module.CholeskyFactor(matrix, lower=True, order=ordering, supernodal_mode=mode)


def _permutation(module, analysis):
    return (analysis.P() if is_04(module) else analysis.get_perm()).astype("int64")


def _factorised(module, half):
    analysis = _analysed(module, half, "natural", "auto")
    permutation = _permutation(module, analysis)
    if is_04(module):
        analysis.cholesky_inplace(half)
        # 0.4 finds out about a matrix that is not positive definite only now.
        lower = analysis.L()
        lower.eliminate_zeros()  # of columns computed together; 0.5 does so itself
    else:
        analysis.factorize(sp.csc_array(half))
        lower = analysis.get_factor(kind="LL", lower=True)
    return sp.csc_matrix(lower), permutation


def is_04(module):
    return not hasattr(module, "cho_factor")


# ------------------------------------------------------------------------- a process of its own
def by_a_process(matrix):
    """`lower_factor` of a matrix."""
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
    if isinstance(found[0], type):
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

        found = lower_factor(cholmod, matrix)
    except Exception as error:
        found = type(error), str(error)
    pickle.dump(found, sys.stdout.buffer, protocol=5)


if __name__ == "__main__":
    serve()
