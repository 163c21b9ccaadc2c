"""Where FPC stops: ADMM's steps on the toy, from ridge regression towards the hinge optimum."""

from dataclasses import dataclass
from functools import cache

import numpy as np

from kernlab.lab.explorers.base import Explorer, choice, log_slider
from kernlab.lab.explorers.fpc.plane import POINTS, draw_plane, percent, plane_and_panels
from kernlab.lab.papers.fpc.axes_figures import log_numbers, log_percent, look
from kernlab.lab.papers.fpc.toy import course_of, fit, toy
from kernlab.lab.plots.marks import plain_log_ticks
from kernlab.lab.plots.style import QUIET, house_style
from kernlab.runtime import single_blas_thread

MOST_STEPS = 2000
BETAS = {"1": 1.0, "1/30": 1 / 30}
DRAWN = np.unique(np.geomspace(1, MOST_STEPS, 80).round().astype(int))  # steps of the curves


@dataclass(frozen=True)
class StoppingCourse:
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
        return min(by_tolerance, most_steps), bool(by_tolerance <= most_steps)

    def decisions(self, step):
        """Scores of test rows and of the grid after a step."""
        _, test, grid = self.features
        return test @ self.coefficients[step - 1], grid @ self.coefficients[step - 1]


@cache
def stopping_course(beta):
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
    return StoppingCourse(
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


@house_style()
def draw_stopping(course, tol, most_steps):
    """The boundary where FPC stops; the errors, and the length, of the steps before and after."""
    step, _ = course.stop(tol, most_steps)
    figure, (plane, errors, lengths) = plane_and_panels(2)
    scores = {
        "ridge": course.decisions(1)[1],
        "hinge optimum": course.optimum_scores,
        "FPC": course.decisions(step)[1],
    }
    draw_plane(plane, course.X, course.y, scores, f"After {step} step{'s' if step > 1 else ''}")
    errors.plot(DRAWN, course.test_errors, **look("FPC"))
    errors.plot(DRAWN, course.train_errors, **look("FPC", ls="dotted"))
    optimum = look("hinge optimum", lw=1.2)
    errors.axhline(max(course.optimum_error, 1e-3), **optimum)
    errors.set(xscale="log", yscale="log", title="Test error (dotted: training)")
    test_scores = course.decisions(step)[0]
    here = np.mean(test_scores * course.y_test <= 0)
    errors.plot([step], [here], marker="o", ms=8, **look("FPC"))
    lengths.plot(np.arange(1, MOST_STEPS + 1), course.changes, **look("FPC"))
    lengths.plot([step], [course.changes[step - 1]], marker="o", ms=8, **look("FPC"))
    lengths.axhline(tol, color=QUIET, lw=0.9, ls=(0, (4, 3)))
    lengths.set(xscale="log", yscale="log", title="Squared H-norm of a step (dashed: limits)")
    lengths.set_xlabel("step k", labelpad=0)
    log_percent(errors.yaxis)
    log_numbers(lengths.yaxis, "{:.0e}".format)
    for ax in (errors, lengths):
        ax.axvline(step, color=QUIET, lw=0.7)
        ax.axvline(most_steps, color=QUIET, lw=0.9, ls=(0, (4, 3)))
        plain_log_ticks(ax.xaxis)
    return figure


def describe(course, tol, most_steps):
    """What the picture does not show, in HTML."""
    step, by_tolerance = course.stop(tol, most_steps)
    scores, as_ridge = course.decisions(step)[0], course.decisions(1)[0]
    reason = "the tolerance is reached" if by_tolerance else "no more steps are allowed"
    return (
        f"{step} step{'s' if step > 1 else ''}: {reason}. Test error "
        f"<b>{percent(np.mean(scores * course.y_test <= 0))}</b>; hinge optimum (purple) "
        f"{percent(course.optimum_error)}. FPC (yellow) decides as ridge regression (broad grey) "
        f"on <b>{percent(np.mean(scores * as_ridge > 0))}</b> of the test rows. Mean hinge loss "
        f"<b>{course.losses[step - 1]:.3f}</b>, at its minimum "
        f"{course.optimum.result_.objective:.3f}"
    )


def fpc_stopping():
    """The explorer: tolerance, most steps, and beta."""

    def draw(tol, most_steps, beta):
        course, most_steps = stopping_course(BETAS[beta]), round(most_steps)
        return draw_stopping(course, tol, most_steps), describe(course, tol, most_steps)

    for beta in BETAS.values():
        stopping_course(beta)
    controls = {
        "tol": log_slider("tolerance", 10**-3.3, -5, 0),
        "most_steps": log_slider("most steps", 5.0, 0, float(np.log10(MOST_STEPS)), step=0.05),
        "beta": choice("beta", list(BETAS), "1"),
    }
    controls["most_steps"].readout_format = ".0f"
    return Explorer(draw, controls, "where FPC stops, by tolerance and steps")
