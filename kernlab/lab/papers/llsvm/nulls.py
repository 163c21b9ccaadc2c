"""What landmarks must beat: uniform landmarks, and random Fourier features, which see no data."""

from kernlab.datasets import load_dataset
from kernlab.estimators import KernelMachine
from kernlab.lab.engine import Study, catalogued, per_cent, product
from kernlab.lab.papers.common.fitting import fitted_row, warm_up

MAPS = {
    "Nystrom, k-means": ("nystrom", {"landmarks": "kmeans"}),
    "Nystrom, uniform": ("nystrom", {"landmarks": "uniform"}),
    "Fourier": ("fourier", {}),
}
RANKS = (20, 50, 100, 200, 500, 1000)
SETS = {"quick": ("magic", "spambase"), "standard": ("magic", "a9a", "ijcnn1", "mnist-round")}
SCALINGS = {"magic": "standard", "spambase": "standard", "mnist-round": "unit"}
REPEATS = {"quick": 2, "standard": 3, "paper": 10}
SAMPLED = 500  # rows of the block on which the kernel's error is seen


@catalogued("llsvm-fourier", "Random Fourier features beside landmarks")
def fourier_features(datasets=None, ranks=None, C=1.0, repeats=None, seed=0):
    """How many features does it take, from landmarks and from draws that do not see the data?

    Parameters
    ----------
    datasets : sequence of str, optional
        Features of other sets than the catalogue's are standardised.
    ranks : sequence of int, optional
        Numbers of landmarks, and of random features.
    C : float
    repeats : int, optional
    seed : int
    """

    def grid(profile):
        chosen = ranks or (RANKS[:4] if profile == "quick" else RANKS)
        known = SETS["standard"] + SETS["quick"]
        return product(
            datasets or SETS.get(profile, SETS["standard"]), MAPS,
            repeats=repeats or REPEATS[profile], features=chosen, C=C,
            scaling=lambda name: SCALINGS.get(name, "none" if name in known else "standard"),
        )  # fmt: skip

    return Study(grid=grid, measure=measure_features, timing=True, key_figures=_key_figures)


def measure_features(point, seed):
    """The error of the kernel, and of the machine on the features."""
    data = load_dataset(point.dataset, scaling=point["scaling"])
    name, further = MAPS[point.method]
    size = "n_components" if name == "fourier" else "n_landmarks"
    machine = KernelMachine(
        name, "newton", gamma="variance", C=point["C"], intercept="penalised", random_state=seed,
        approximation_params=further | {size: 10},
    )  # fmt: skip
    warm_up(machine, data)
    k = min(point["features"], data.X_train.shape[0])
    row = fitted_row(machine.set_params(**{f"approximation_params__{size}": k}), data)
    kernel_error = machine.approximation_.error(data.X_train, SAMPLED)
    return row | {"kernel_error": kernel_error, "error": 1.0 - row["test_accuracy"]}


def _key_figures(table):
    """The features that each map takes to come within half a point of the best."""
    figures = {}
    means = table.groupby(["dataset", "method", "features"], sort=False)["error"].mean()
    for name, errors in means.groupby("dataset", sort=False):
        for method, own in errors.groupby("method", sort=False):
            near = own[own <= errors.min() + 0.005]
            few = near.index.get_level_values("features").min()
            told = f"near the best from k = {few}" if len(near) else "not near the best"
            figures[f"{name}, {method}"] = f"{per_cent(own.iloc[-1])}, {told}"
    return figures
