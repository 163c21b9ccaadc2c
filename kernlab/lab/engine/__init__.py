"""The engine: a study's grid becomes rows, the rows a tidy table.

How a study is written
----------------------
A study answers one question about one figure, table or statement. It is a function of what a reader
may turn that gives the points to measure, and stands in the package of its paper beside its figures
(``kernlab/lab/papers/lasn`` is the example). What is done with the points is put on the functions
that do it; called, the first gives a `Study`::

    from kernlab.lab.engine import Cell, Choice, catalogued, product

    @catalogued("lasn-t3", "Table 3: three linear solvers on the same features")
    def solvers(datasets=Choice(FEW, ALL), C=10.0, repeats=Choice(1, 5, 10), seed=0):
        \"\"\"Is semismooth Newton faster than LIBLINEAR's two solvers, as accurate?\"\"\"
        return product(datasets, SOLVERS, repeats=repeats, C=C, n_landmarks=landmarks_of)

    @solvers.measure(timing=True, measured=[
        Cell("{method} solve time", "solve_seconds", Tolerance(relative=0.5, better="lower")),
        Cell("{method} accuracy", "test_accuracy", ACCURACY, scale=100),
    ])
    def measure_solver(point, seed):
        data = load_dataset(point.dataset, paper="lasn")
        model = KernelMachine("nystrom", SOLVERS[point.method], C=point["C"], random_state=seed)
        return fitted_row(model, data)

    @solvers.key_figures("{dataset}, {method}")
    def _seconds(rows):
        return f"{rows['solve_seconds'].mean():.2g} s"

1.  **Parameters.** None is the profile's choice ("quick", "standard", "paper"), which the default
    says as a `Choice`; a function that must know more takes the name of the `profile` first. What
    each may be is known by its name (`parameters.KNOWN`: datasets, landmarks, C, costs, gamma, h,
    sigma, repeats, seed, ...); a name of the study's own is annotated with a kind:
    ``group: one_of("large", "small") = "small"``, ``steps: several(Count) = None``. They come from
    Python, from ``-p landmarks=10,20`` or from a notebook's lists, and are converted and checked
    with a sentence. Data sets may be paths of files: `load_dataset` takes both. The first paragraph
    of the docstring is the question of the study.
2.  **Ids.** ``@catalogued(id, title)``; once more for each id where a function serves several, with
    the arguments that are that id's own (``@catalogued("lasn-f2", "...", group="large")``). With
    any other argument the study has a key of its own, "lasn-f3@1a2b3c", and stays off the scorecard
    and the record.
3.  **Points.** `product(datasets, methods, variants, repeats, **params)`; a parameter is a value,
    several, or a function of the data set. Lists of points add up. A point holds all that `measure`
    needs: nothing is closed over.
4.  **measure(point, seed)** stands at the top level of a module and calls what users call:
    `fitted_row(model, data)` gives the columns that all studies share, `sweep(...)` a DataFrame
    whose rows are the point's. `NotRun("why")` is an outcome. The seed is that of (study, data set,
    repeat): methods see the same rows.
5.  **What is said of the table.** `key_figures`: `means("test_accuracy")` by default, with another
    column or groups, a function of the table, or of the rows of each group. `measured`: a list of
    `Cell` (published column, measured column, tolerance with its reason), or a function of the
    table where the paper prints something else; then tolerances by label, {places} allowed. Such
    functions get further parameters of the study by name.
6.  **Registering.** The package's ``__init__`` imports its study functions, and
    ``kernlab/lab/catalogue.py`` names the package; its figures stand in ``figures.py``.
"""

from kernlab.lab.engine.errors import NotRun, ParameterError, StudyError, UnknownStudy
from kernlab.lab.engine.parameters import Choice, Count, Positive, Share, one_of, several
from kernlab.lab.engine.study import (
    Cell,
    Point,
    Study,
    Tolerance,
    catalogued,
    figures_by,
    means,
    per_cent,
    product,
    spread_cell,
)
