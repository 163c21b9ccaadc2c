"""Machines in the plane: one to play with, two or six side by side, fronts of many methods."""

from functools import lru_cache, partial
from types import SimpleNamespace

import ipywidgets as widgets
import numpy as np

from kernlab.approximations import APPROXIMATIONS
from kernlab.estimators import FPC, HSSSVC, LASN, LLSVM, SparseCholeskySVC
from kernlab.kernels import KERNELS
from kernlab.lab.baselines import LibSVM
from kernlab.lab.explorers import declared as ui
from kernlab.lab.explorers.plane import REACH, Plane, draw_machine, empty_plane, look_at
from kernlab.lab.explorers.samples import ALONE, TOYS, Rows
from kernlab.lab.papers.across.algebra import machine_of, reason
from kernlab.lab.papers.across.contestants import CONTESTANTS, SHARE
from kernlab.lab.papers.across.figures import draw_fronts
from kernlab.lab.plots.style import BLUE, DARK, RED
from kernlab.solvers import SOLVERS


class Playground(ui.Declared):
    """a kernel machine in the plane, by data set, kernel, gamma, C"""

    places, size = ((0.005, 0.005, 0.99, 0.99),), (5.6, 4.6)
    given = ui.Given(toys=(*TOYS, ALONE), first=TOYS[0], rows=500, plane=True)
    controls = ui.Controls(
        kernel=ui.choice("kernel", tuple(KERNELS), "rbf"),
        gamma=ui.log_slider("gamma", 1.0, -2, 2),
        C=ui.log_slider("C", 1.0, -2, 3),
        points=partial(
            Plane, places[0], (-REACH, REACH), size, {"blue": (-1, BLUE), "red": (1, RED)}
        ),
    )

    def compute(self, rows, kernel, gamma, C, points=()):
        own = np.array(points, dtype=float).reshape(-1, 3)
        X, y = np.vstack([rows.X, own[:, :2]]), np.append(rows.y, own[:, 2])
        if len(np.unique(y)) < 2:
            raise ValueError("click points of both classes into the picture")
        machine = LibSVM(C=C, kernel=kernel, gamma=gamma, max_iter=200_000)
        fit = look_at(machine, Rows(X, y, rows.X_test, rows.y_test))
        fit.gap, fit.train_accuracy = machine.certify(X, y).relative_gap, machine.score(X, y)
        return fit

    still = staticmethod(empty_plane)

    def draw(self, fit, ax):
        """The sides, the boundary (solid), the margins (dashed), the support vectors (ringed)."""
        draw_machine(ax, fit, size=14, linewidths=0.4)
        support = fit.rows.X[fit.machine.support_]
        ax.scatter(*support.T, s=34, facecolors="none", edgecolors=DARK, linewidths=0.7)
        fresh = "" if fit.accuracy is None else f", <b>{fit.accuracy:.1%}</b> on fresh ones"
        return (
            f"accuracy <b>{fit.train_accuracy:.1%}</b> on the training rows{fresh}; "
            f"{len(fit.machine.support_)} of {len(fit.rows.y)} rows are support vectors; "
            f"relative duality gap {fit.gap:.1e}; trained in {1e3 * fit.seconds:.0f} ms"
        )

    def code(self, data, kernel, gamma, C, points):
        text = f"import numpy as np\nfrom kernlab.lab.baselines import LibSVM\n{data}\n"
        if points:
            own = ", ".join(f"({x:.4g}, {y:.4g}, {label:+d})" for x, y, label in points)
            text += f"points = np.array([{own}])\nX_own, y_own = points[:, :2], points[:, 2]\n"
            both = "np.vstack([X, X_own]), np.append(y, y_own)" if data else "X_own, y_own"
            text += f"X, y = {both}\n"
        return f"{text}machine = LibSVM(C={C:.4g}, kernel={kernel!r}, gamma={gamma:.4g}).fit(X, y)"


class SideBySide(ui.Declared):
    given = ui.Given(toys=TOYS, first="two moons", rows=300, plane=True)
    side = 50  # of the grid of decisions
    unfinished = True

    def compute(self, rows, **values):
        made = self.machines(rows, **values)
        return {name: look_at(machine, rows, self.side) for name, machine in made.items()}

    def still(self, *axes):
        for ax in axes:
            empty_plane(ax)

    def draw(self, found, *axes):
        for ax, (name, fit) in zip(axes, found.items(), strict=False):
            draw_machine(ax, fit, f"{name}: {1 - fit.accuracy:.1%}", size=7, linewidths=0.4)
        return "; ".join(
            f"{name}: test error <b>{1 - fit.accuracy:.1%}</b>, {1e3 * fit.seconds:.0f} ms"
            for name, fit in found.items()
        )


METHODS = [n for n, one in CONTESTANTS.items() if not one.package and n != "majority"]


class TwoMachines(SideBySide):
    """two methods on the same rows, side by side"""

    controls = ui.Controls(
        left=ui.choice("left", METHODS, "LASN"),
        right=ui.choice("right", METHODS, "hist boosting"),
        size=ui.choice("its dial", {"small": 0, "middle": 1, "large": -1}, 0),
        gamma=ui.log_slider("gamma", 1.0, -2, 2),
        C=ui.log_slider("C", 1.0, -2, 3),
    )
    places = (0.005, 0.02, 0.485, 0.86), (0.505, 0.02, 0.485, 0.86)
    size = (6.6, 3.4)

    def machines(self, rows, left, right, size, gamma, C, **_):
        given, made = {"gamma": gamma, "h": (2.0 * gamma) ** -0.5, "C": C}, {}
        for name in (left, right):
            one = CONTESTANTS[name]
            value = 1.0 if one.dial == SHARE else one.values[size % len(one.values)]
            machine = one.make(value, len(rows.y), 2, 0)
            made[name] = machine.set_params(**{k: v for k, v in given.items() if k in one.grid})
        return made


class Pairs(SideBySide):
    """any approximation with any solver, beside the papers' five"""

    controls = ui.Controls(
        approximation=ui.choice("approximation", tuple(APPROXIMATIONS), "nystrom"),
        solver=ui.choice("solver", tuple(SOLVERS), "newton"),
        gamma=ui.log_slider("gamma", 1.0, -2, 2),
        C=ui.log_slider("C", 1.0, -2, 3),
    )
    places = tuple((x, y, 0.32, 0.43) for y in (0.51, 0.01) for x in (0.005, 0.34, 0.675))
    size = (7.8, 4.9)

    def compute(self, rows, approximation, solver, gamma, C):
        if why := reason(approximation, solver):
            raise ValueError(
                f"the solver {solver} has nothing to work on: the approximation {approximation} "
                f"offers {why}"
            )
        pair = machine_of(approximation, solver, rows.X, {"n_landmarks": 50, "C": C}, 0)
        if approximation not in ("polynomial", "compact"):
            pair.set_params(gamma=gamma)
        fit = look_at(pair, rows, self.side)
        return {f"{approximation} + {solver}": fit} | papers_machines(rows, gamma, C, self.side)


@lru_cache(maxsize=16)
def papers_machines(rows, gamma, C, side):
    """The five papers' machines, which stay as they are while another pair is chosen."""
    h = (2.0 * gamma) ** -0.5
    machines = {
        "LLSVM": LLSVM(50, gamma=gamma, C=C, random_state=0),
        "LASN": LASN(50, gamma=gamma, C=C, random_state=0),
        "SparseCholeskySVC": SparseCholeskySVC(C, sigma=h, solver="newton"),
        "HSSSVC": HSSSVC(C, h=h, random_state=0),
        "FPC": FPC(6, basis="chebyshev"),
    }
    return {name: look_at(machine, rows, side) for name, machine in machines.items()}


COSTS = {
    "training seconds": "fit_seconds",
    "microseconds per predicted row": "predict_microseconds_per_row",
    "bytes of the machine": "model_bytes",
}


class Fronts(ui.Declared):
    """test error against cost, methods switched on and off"""

    def __init__(self, table):
        self.done = table[table["error"].notna()]
        names = list(dict.fromkeys(self.done["dataset"]))
        methods = [m for m in CONTESTANTS if m in set(self.done["method"])]
        several = {"options": methods, "value": methods, "description": "methods", "rows": 12}
        self.controls = ui.Controls(
            dataset=ui.choice("data set", names, names[0]),
            cost=ui.choice("cost", tuple(COSTS), "training seconds"),
            methods=partial(widgets.SelectMultiple, **several),
        )

    def compute(self, dataset, methods):
        if not methods:
            raise ValueError("choose a method")
        rows = self.done[(self.done["dataset"] == dataset) & self.done["method"].isin(methods)]
        if rows.empty:
            raise ValueError(f"none of these methods has a fit on {dataset}")
        return SimpleNamespace(rows=rows, best=rows.loc[rows["error"].idxmin()])

    def draw(self, found, cost, methods):
        words = f"least error: <b>{found.best['method']} {found.best['error']:.1%}</b>"
        return draw_fronts(found.rows, COSTS[cost], cost, methods), words


def fronts(table):
    """The fronts of the study "showdown", of which this is the table, on one set at a time."""
    return Fronts(table)()


playground, two_machines, pairs = Playground(), TwoMachines(), Pairs()
