"""A fitted approximation in a file, and files that are something else."""

import json
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp

from kernlab.approximations.hss import HSSKernel, storage
from kernlab.kernels import RBF, make_kernel

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 3))


def approximate(rows=X, **parameters):
    return HSSKernel(**{"gamma": 0.5, "leaf_size": 50, "random_state": 0} | parameters).fit(rows)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"dtype": np.float32, "rel_tol": np.float64(0.1)},
        {"kernel": "polynomial", "degree": 2, "gamma": "scale"},
        {"kernel": make_kernel("rbf", gamma=0.3)},
        {"kernel": "polynomial", "degree": np.int64(2), "coef0": np.float32(0.1), "gamma": 0.5},
        {"kernel": "polynomial", "degree": np.array(2), "coef0": np.array(1), "gamma": 0.5},
        {"kernel": "compact", "gamma": np.float32(0.5)},
        {"leaf_size": 1000},
        {"max_rank": 0},
    ],
)
def test_what_is_read_is_what_was_written(tmp_path, parameters):
    before = approximate(**parameters)
    before.save(tmp_path / "k.hss")
    after = HSSKernel.load(tmp_path / "k.hss")
    v = RNG.normal(size=(400, 2))
    np.testing.assert_array_equal(after.operator() @ v, before.operator() @ v)
    np.testing.assert_array_equal(after.shifted(9.0).solve(v), before.shifted(9.0).solve(v))
    np.testing.assert_array_equal(after.exact_product(v), before.exact_product(v))
    assert after.kernel_ == before.kernel_
    assert after.timings_.keys() >= {"tree", "compress"}
    assert after.matrix_.level_table().equals(before.matrix_.level_table())
    for name in ("gamma", "leaf_size", "rel_tol", "mode"):
        assert after.get_params()[name] == before.get_params()[name]


def test_sparse_rows_stay_sparse(tmp_path):
    rows = sp.random(300, 30, density=0.1, random_state=0, format="csr")
    before = approximate(rows)
    before.save(tmp_path / "k.npz")
    after = HSSKernel.load(tmp_path / "k.npz")
    assert sp.issparse(after.X_)
    np.testing.assert_array_equal(
        after.dual_decision(rows[:9], np.ones(300), np.arange(300)),
        before.dual_decision(rows[:9], np.ones(300), np.arange(300)),
    )


def test_nothing_is_pickled(tmp_path):
    approximate().save(tmp_path / "k.npz")
    with np.load(tmp_path / "k.npz", allow_pickle=False) as stored:
        assert all(stored[name].dtype != object for name in stored)
        header = json.loads(bytes(stored["header"]))
    assert (header["format"], header["version"]) == (storage.FORMAT, storage.VERSION)


def test_a_function_as_kernel_cannot_be_stored(tmp_path):
    approximation = approximate(kernel=lambda A, B: A @ B.T)
    with pytest.raises(ValueError, match="type Custom cannot be stored"):
        approximation.save(tmp_path / "k.npz")


def test_a_kernel_of_another_type_is_refused_by_its_type(tmp_path):
    @dataclass(frozen=True)
    class Wider(RBF):
        pass

    approximation = approximate(kernel=Wider(0.5))
    with pytest.raises(ValueError, match=r"type Wider cannot be stored.*RBF") as refusal:
        approximation.save(tmp_path / "k.npz")
    assert "function" not in str(refusal.value)
    assert not (tmp_path / "k.npz").exists()


def rewritten(path, change):
    with np.load(path) as stored:
        arrays = dict(stored)
    change(arrays)
    np.savez(path, **arrays)


def change_header(**changes):
    def change(arrays):
        header = json.loads(bytes(arrays["header"])) | changes
        arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (change_header(format="other"), "does not hold an HSS approximation"),
        (change_header(version=99), "written by a newer kernlab"),
        (lambda arrays: arrays.pop("blocks"), "not a whole file"),
        (lambda arrays: arrays.update(blocks=arrays["blocks"][:5]), "ends too early"),
        (lambda arrays: arrays.pop("header"), "not a whole file"),
    ],
)
def test_other_and_damaged_files_are_refused(tmp_path, change, message):
    path = tmp_path / "k.npz"
    approximate().save(path)
    rewritten(path, change)
    with pytest.raises(ValueError, match=message):
        HSSKernel.load(path)


def test_a_file_cut_short_is_refused(tmp_path):
    path = tmp_path / "k.npz"
    approximate().save(path)
    path.write_bytes(path.read_bytes()[:5000])
    with pytest.raises(ValueError, match="not a whole file"):
        HSSKernel.load(path)
