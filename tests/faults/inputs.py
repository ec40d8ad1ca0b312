"""Input that hypothesis makes up, and what must hold for all of it: an answer, or one of our errors, in one line."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from harness import SPEC, answered, asked, refusal
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from matplotlib.figure import Figure

from ciabench import (
    COV,
    EM,
    CIAFamily,
    CIAModel,
    NaiveBayes,
    Perceptron,
    Results,
    Winnow,
    plot_curves,
    plot_difference,
)
from ciabench.errors import CIABenchError
from ciabench.findings.curves import learning_curves
from ciabench.findings.regression import compare
from ciabench.lab.plan.experiment import load, validate
from ciabench.lab.storage.rows import read
from ciabench.lab.storage.view import LABELS, MEASURES

numbers = st.integers(-(2**70), 2**70) | st.floats() | st.sampled_from([0, 1, 2, 10, 0.5, 0.9, 2**63, 10**9])
scalars = numbers | st.booleans() | st.text(max_size=8)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
keys = st.sampled_from([*SPEC, "worlds", "references", "time_limit", "nonsense"]) | st.text(max_size=6)


def as_toml(value):
    """Write a value as TOML; not all that JSON escapes is TOML, which is as well."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{json.dumps(key)} = {as_toml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(as_toml, value)) + "]"
    return json.dumps(value) if isinstance(value, str | bool) else repr(value)


@st.composite
def experiments(draw):
    """Text that is often nearly an experiment file, and sometimes anything."""
    if draw(st.integers(0, 9)) == 0:
        return draw(st.text() | st.integers(1, 3_000).map(lambda depth: "a = " + "[" * depth))
    table = {**SPEC, **draw(st.dictionaries(keys, values, max_size=2))}
    if draw(st.booleans()):
        changes = st.dictionaries(st.sampled_from(["n", "k", "b", "use"]) | st.text(max_size=4), values, max_size=2)
        world = {"n": 5, "k": 2, "b": 0.9, **draw(changes)}
        table[draw(st.sampled_from(["families", "worlds"]))] = [world]
    if draw(st.booleans()):
        table["learners"] = draw(st.lists(values | st.fixed_dictionaries({"use": scalars}), max_size=2))
    if draw(st.booleans()):
        table.pop(draw(st.sampled_from(sorted(table))))
    return "\n".join(f"{json.dumps(key)} = {as_toml(value)}" for key, value in table.items())


def check_experiment(text, folder):
    """An experiment file is read, or refused in one line with exit code 2."""
    path = Path(folder) / "made.toml"
    path.write_text(text, encoding="utf-8")
    try:
        made = load(path)
    except CIABenchError:
        refusal(asked("run", path, "--out", folder))
    else:
        assert validate(json.loads(json.dumps(made.spec())), "again").spec() == made.spec()


COMMANDS = ["run", "status", "export", "figures", "claims", "report", "compare", "schema"]
OPTIONS = [
    "--from",
    "--out",
    "--jobs",
    "--trials",
    "--retry-failed",
    "--backend",
    "--quiet",
    "--to",
    "--json",
    "--exact",
]
OPERANDS = ["made.toml", "faults.db", "-h", "dask", "csv", "1", "-1", "--allow-imports", "/", ".", "", "x" * 300]
words = st.sampled_from(COMMANDS + OPTIONS + OPERANDS)
letters = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=5)
arguments = st.lists(words | letters, min_size=1, max_size=5)


def check_arguments(made):
    """A command with any arguments answers, or refuses with exit code 2; nothing else can come of it."""
    finished = asked(*made)
    assert finished.returncode in (0, 1, 2)
    if finished.returncode == 2:
        refusal(finished)


matrices: Any = arrays.arrays(
    st.sampled_from([np.uint8, np.int64, np.float64, np.bool_, np.complex128, "U2", "O", "M8[s]"]),
    arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=4),
)
learners = st.sampled_from([EM(n_init=1, max_iter=5), COV(), Winnow(), Perceptron(), NaiveBayes()])


def check_arrays(learner, X, y):
    """A learner takes any arrays, or refuses them by our errors or those of scikit-learn."""
    with answered():
        learner.fit(X, y).predict(X)


def check_parameters(n, k, b):
    """A family or a model of anything is one, or is refused by our errors."""
    for make in (lambda: CIAModel(n, k), lambda: CIAFamily(n, k, b)):
        with suppress(CIABenchError):
            make()


COLUMNS = [LABELS[0], "n", "k", "b", *LABELS[1:], *MEASURES]
ROWS = pd.DataFrame(
    [(f"CIA({n}, 2, 0.9)", n, 2, 0.9, trial, size, name, 0.7, 0.8, 0.6, 0.5, 0.0, 0.1)
     for n in (5, 8) for trial in range(3) for size in (10, 30) for name in ("a", "b")],
    columns=COLUMNS,
)  # fmt: skip


@st.composite
def frames(draw):
    """Rows of results of which columns are replaced, dropped or doubled, and rows dealt out anew."""
    rows = ROWS.iloc[draw(st.lists(st.integers(0, len(ROWS) - 1), max_size=len(ROWS)))]
    for column in draw(st.lists(st.sampled_from(COLUMNS), max_size=2)):
        change = draw(st.sampled_from(["replace", "drop", "double"]))
        if change == "replace" and rows.columns.is_unique:
            new = draw(st.lists(scalars | st.none(), min_size=len(rows), max_size=len(rows)))
            rows = rows.assign(
                **{column: pd.Series(new, index=rows.index, dtype=draw(st.sampled_from([None, object])))}
            )
        elif change == "drop":
            rows = rows.drop(columns=column, errors="ignore")
        elif change == "double" and column in rows:
            rows = pd.concat([rows, rows[column]], axis=1)
    return rows


def check_frame(rows):
    """Rows are judged, or refused by our errors."""
    for judge in (
        lambda: Results(rows)._repr_html_(),
        lambda: learning_curves(read(rows).rows),
        lambda: plot_curves(rows, Figure().subplots()),
        lambda: plot_difference(rows, "a", "b", Figure().subplots()),
        lambda: compare(rows, ROWS),
    ):
        with suppress(CIABenchError):
            judge()
