"""Where FPC stops: ADMM's steps on the toy, from ridge regression towards the hinge optimum."""

from dataclasses import dataclass
from functools import cache

import numpy as np

from kernlab.lab.explorers.base import Explorer, Scene, choice, stops
from kernlab.lab.explorers.fpc.plane import (
    POINTS,
    boundary,
    draw_square,
    plane_and_panels,
    toy_code,
)
from kernlab.lab.explorers.plane import heading
from kernlab.lab.papers.fpc.figures.axes import log_numbers, log_percent, look
from kernlab.lab.papers.fpc.toy import course_of, fit, toy
from kernlab.lab.plots.marks import plain_log_ticks
from kernlab.lab.plots.style import QUIET, house_style
from kernlab.runtime import single_blas_thread

MOST_STEPS = 2000
BETAS = {"1": 1.0, "1/30": 1 / 30}
TOLERANCES = (0.1, 1e-2, 1e-3, 5e-4, 1e-4, 1e-5)
STEPS = (1, 2, 3, 5, 20, 50, 200, 500, MOST_STEPS)
DRAWN = np.unique(np.geomspace(1, MOST_STEPS, 80).round().astype(int))  # steps of the curves


@dataclass(frozen=True)
class Steps:
    """All steps of ADMM on one toy, and the optimum that they go to."""

    X: np.ndarray
    y: np.ndarray
    y_test: np.ndarray
    coefficients: np.ndarray  # a row per step
    changes: np.ndarray  # squared H-norm of each step
    losses: np.ndarray
    features: tuple  # of training rows, test rows and the grid
    optimum: object  # an FPC machine
    optimum_scores: np.ndarray  # on the grid
    optimum_error: float  # on the test rows
    train_errors: np.ndarray  # after the steps DRAWN
    test_errors: np.ndarray

    def stop(self, tol, most_steps):
        """The step after which FPC stops, and whether it was the tolerance that stopped it."""
        below = np.flatnonzero(self.changes < tol)
        by_tolerance = below[0] + 1 if len(below) else MOST_STEPS + 1
        return int(min(by_tolerance, most_steps)), bool(by_tolerance <= most_steps)

    def decisions(self, step):
        """Scores of test rows and of the grid after a step."""
        _, test, grid = self.features
        return test @ self.coefficients[step - 1], grid @ self.coefficients[step - 1]


@cache
def all_steps(beta):
    """Every step is kept, so that sliders only look up."""
    X, y, X_test, y_test = toy(1000, 0)
    steps = []
    with single_blas_thread():
        _, fitted = course_of(X, y, beta=beta, tol=0.0, max_iter=MOST_STEPS, callback=steps.append)
        optimum = fit("hinge optimum", X, y)
        features = tuple(fitted.transform(rows) for rows in (X, X_test, POINTS))
    coefficients = np.array([row["coefficients"] for row in steps])
    wrong = [
        np.mean((part @ coefficients[DRAWN - 1].T) * labels[:, None] <= 0, axis=0)
        for part, labels in zip(features, (y, y_test), strict=False)
    ]
    return Steps(
        X=X,
        y=y,
        y_test=y_test,
        coefficients=coefficients,
        changes=np.array([row["change"] for row in steps]),
        losses=np.array([row["objective"] for row in steps]),
        features=features,
        optimum=optimum,
        optimum_scores=optimum.decision_function(POINTS),
        optimum_error=float(np.mean(optimum.predict(X_test) != y_test)),
        train_errors=wrong[0],
        test_errors=wrong[1],
    )


@cache
@house_style()
def stopping_scene(beta):
    """Ridge regression's boundary and the optimum's; errors and lengths of all steps."""
    steps = all_steps(beta)
    figure, (plane, errors, lengths) = plane_and_panels(2)
    draw_square(plane, steps.X, steps.y, ["ridge", "hinge optimum", "FPC"])
    boundary(plane, "ridge", steps.decisions(1)[1])
    boundary(plane, "hinge optimum", steps.optimum_scores)
    errors.plot(DRAWN, steps.test_errors, **look("FPC"))
    errors.plot(DRAWN, steps.train_errors, **look("FPC", ls="dotted"))
    errors.axhline(max(steps.optimum_error, 1e-3), **look("hinge optimum", lw=1.2))
    errors.set(xscale="log", yscale="log", title="Test error (dotted: training)")
    lengths.plot(np.arange(1, MOST_STEPS + 1), steps.changes, **look("FPC"))
    lengths.set(xscale="log", yscale="log", title="Squared H-norm of a step (dashed: limits)")
    lengths.set_xlabel("step k", labelpad=0)
    log_percent(errors.yaxis)
    log_numbers(lengths.yaxis, "{:.0e}".format)
    for ax in (errors, lengths):
        plain_log_ticks(ax.xaxis)
    return Scene(figure)


def draw_stopping(beta, tol, most_steps):
    """The boundary where FPC stops, among the errors and lengths of all steps, as PNG."""
    steps = all_steps(beta)
    step, _ = steps.stop(tol, most_steps)
    scores, on_grid = steps.decisions(step)
    dashed = {"color": QUIET, "lw": 0.9, "ls": (0, (4, 3))}
    dot = look("FPC", marker="o", ms=8)

    def moving(plane, errors, lengths):
        boundary(plane, "FPC", on_grid)
        heading(plane, f"After {step} step{'s' if step > 1 else ''}")
        lengths.axhline(tol, **dashed)
        for ax in (errors, lengths):
            ax.axvline(step, color=QUIET, lw=0.7)
            ax.axvline(most_steps, **dashed)
        errors.plot([step], [np.mean(scores * steps.y_test <= 0)], **dot)
        lengths.plot([step], [steps.changes[step - 1]], **dot)

    return stopping_scene(beta).png(moving)


def describe(steps, tol, most_steps):
    """What the picture does not show, in HTML."""
    step, by_tolerance = steps.stop(tol, most_steps)
    scores, as_ridge = steps.decisions(step)[0], steps.decisions(1)[0]
    reason = "the tolerance is reached" if by_tolerance else "no more steps are allowed"
    return (
        f"{step} step{'s' if step > 1 else ''}: {reason}. Test error "
        f"<b>{np.mean(scores * steps.y_test <= 0):.1%}</b>; hinge optimum (purple) "
        f"{steps.optimum_error:.1%}. FPC (yellow) decides as ridge regression (broad grey) "
        f"on <b>{np.mean(scores * as_ridge > 0):.1%}</b> of the test rows. Mean hinge loss "
        f"<b>{steps.losses[step - 1]:.3f}</b>, at its minimum "
        f"{steps.optimum.result_.objective:.3f}"
    )


def fpc_stopping():
    """The explorer: tolerance, most steps, and beta."""

    def draw(tol, most_steps, beta):
        picture = draw_stopping(BETAS[beta], tol, most_steps)
        return picture, describe(all_steps(BETAS[beta]), tol, most_steps)

    def code(tol, most_steps, beta):
        return (
            f"{toy_code(1000)}machine = FPC(9, beta={BETAS[beta]:.4g}, tol={tol:g}, "
            f"max_iter={most_steps}).fit(X, y)"
        )

    for beta in BETAS.values():  # ahead, so that every control only looks up
        stopping_scene(beta)
    controls = {
        "tol": stops("tolerance", TOLERANCES, 5e-4),
        "most_steps": stops("most steps", STEPS, 5),
        "beta": choice("beta", list(BETAS), "1"),
    }
    text = "where FPC stops, by tolerance and steps"
    frames = {"tol": TOLERANCES, "most_steps": STEPS}
    return Explorer(draw, controls, text, code=code, frames=frames)
