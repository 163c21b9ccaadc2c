"""A fitted approximation in a file, and files that are something else."""

import json
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp

from kernlab.approximations.hss import HSSKernel
from kernlab.kernels import RBF, make_kernel

RNG = np.random.default_rng(0)
X = RNG.normal(size=(400, 3))
SPARSE = sp.random(300, 30, density=0.1, random_state=0, format="csr")


def approximate(rows=X, **parameters):
    return HSSKernel(**{"gamma": 0.5, "leaf_size": 50, "random_state": 0} | parameters).fit(rows)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "kernel.npz"


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"rows": SPARSE},
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
def test_what_is_read_is_what_was_written(path, parameters):
    before = approximate(**parameters)
    before.save(path)
    after, n = HSSKernel.load(path), before.X_.shape[0]
    v = RNG.normal(size=(n, 2))
    np.testing.assert_array_equal(after.operator() @ v, before.operator() @ v)
    np.testing.assert_array_equal(after.shifted(9.0).solve(v), before.shifted(9.0).solve(v))
    np.testing.assert_array_equal(after.exact_product(v), before.exact_product(v))
    for decide in ("dual_decision", "structured_decision"):
        one, other = (
            getattr(kernel, decide)(before.X_[:9], v, np.arange(n)) for kernel in (before, after)
        )
        np.testing.assert_array_equal(one, other)
    assert sp.issparse(after.X_) == sp.issparse(before.X_)
    assert after.kernel_ == before.kernel_
    assert after.timings_.keys() >= {"tree", "compress"}
    assert after.matrix_.level_table().equals(before.matrix_.level_table())
    for name in ("gamma", "leaf_size", "rel_tol", "mode"):
        assert after.get_params()[name] == before.get_params()[name]


def test_a_kernel_that_a_file_cannot_name_is_refused_by_its_type(path):
    @dataclass(frozen=True)
    class Wider(RBF):
        pass

    for kernel, name in ((Wider(0.5), "Wider"), (lambda A, B: A @ B.T, "Custom")):
        with pytest.raises(ValueError, match=rf"type {name} cannot be stored.*RBF"):
            approximate(kernel=kernel).save(path)
    assert not path.exists()


def change_header(**changes):
    def change(arrays):
        header = json.loads(bytes(arrays["header"])) | changes
        arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (change_header(format="other"), "does not hold an HSS approximation"),
        (change_header(version=99), "written by another kernlab"),
        (change_header(version="new"), "written by another kernlab"),
        (change_header(kernel="none"), "not a whole file"),
        (change_header(parameters={"magic": 1}), "not a whole file"),
        (change_header(columns=[]), "not a whole file"),
        (lambda arrays: arrays.pop("X"), "not a whole file"),
        (lambda arrays: arrays.pop("E 1"), "not a whole file"),
        (
            lambda arrays: arrays.update({"coupling 0": arrays["coupling 0"][:-1]}),
            "not a whole file",
        ),
        (
            lambda arrays: arrays.update({"skeleton 1": arrays["skeleton 1"] + 1000}),
            "not a whole file",
        ),
        (lambda arrays: arrays.pop("coupling 1"), "not a whole file"),
        (lambda arrays: arrays.update(children=arrays["children"][:3]), "not a whole file"),
        (lambda arrays: arrays.pop("header"), "not a whole file"),
    ],
)
def test_other_and_damaged_files_are_refused(path, change, message):
    approximate().save(path)
    with np.load(path) as stored:
        arrays = dict(stored)
    change(arrays)
    np.savez(path, **arrays)
    with pytest.raises(ValueError, match=message):
        HSSKernel.load(path)


def test_a_file_with_bytes_missing_or_changed_is_refused(path):
    approximate(leaf_size=100).save(path)
    whole = path.read_bytes()
    places = [0, 1, 30, 100, *RNG.integers(len(whole) - 20, size=60), len(whole) - 20]
    for place in places:
        flipped = bytes([whole[place] ^ 255])
        for damaged in (
            whole[:place],
            whole[:place] + whole[place + 17 :],
            whole[:place] + flipped + whole[place + 1 :],
        ):
            path.write_bytes(damaged)
            try:
                HSSKernel.load(path)
            except ValueError as error:
                assert "not a whole file of an HSS approximation" in str(error)  # noqa: PT017
    with pytest.raises(FileNotFoundError):
        HSSKernel.load(path.with_name("other"))
