"""Size of the bootstrap test, and coverage of the intervals from standard errors, on data with known classes.

    python experiments/class_checks.py blrt --sets 1000 --jobs 2 --out docs/tables/blrt.md
    python experiments/class_checks.py coverage --sets 1000 --jobs 2 --out docs/tables/coverage.md

The test is of 2 against 3 classes on tables of 2 classes, 6 bits, 300 rows, with 99 bootstrap tables and 10 restarts
for the data and each of them. Intervals are 95% ones; all interior parameters of a design are pooled.
"""

import argparse
import warnings
from itertools import permutations
from pathlib import Path

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from ciabench import LatentClass
from ciabench.columns import Column, Columns
from ciabench.errors import BoundaryWarning
from ciabench.latent.bootstrap import bootstrap_test
from ciabench.latent.fit import fit_mixture
from ciabench.learners.class_tables import profiles
from ciabench.probability.product import Parameters, draw


def bits(weights, probs):
    """Mixture of bits with the given weights (k,) and probabilities of a one (a, k)."""
    weights, probs = np.array(weights), np.array(probs)
    return Parameters(
        weights,
        tuple(np.vstack([1 - line, line]) for line in probs),
        np.empty((0, weights.size)),
        np.empty((weights.size, 0)),
    )


TWO = bits([0.6, 0.4], [[0.85, 0.2]] * 3 + [[0.25, 0.8]] * 3)
THREE = bits([0.45, 0.3, 0.25], [[0.85, 0.8, 0.2]] * 4 + [[0.8, 0.2, 0.25]] * 4)
WEAK = bits([0.55, 0.45], [[0.62, 0.38]] * 6)
UNIDENTIFIED = bits([0.5, 0.5], [[0.8, 0.2], [0.8, 0.2]] + [[0.5, 0.5]] * 2)
MIXED = Parameters(
    np.array([0.55, 0.45]),
    tuple(np.array([[0.6, 0.15], [0.25, 0.25], [0.15, 0.6]]) for _ in range(4)),
    np.array([[0.0, 2.0], [10.0, 14.0]]),
    np.array([[1.0, 4.0], [1.5, 9.0]]),
)

DESIGNS = {
    "2 classes, 6 bits, s = 500": (TWO, 500),
    "2 classes, 6 bits, s = 2000": (TWO, 2000),
    "3 classes, 8 bits, s = 500": (THREE, 500),
    "3 classes, 8 bits, s = 2000": (THREE, 2000),
    "2 classes, 4 columns of 3 levels and 2 numbers, s = 1000": (MIXED, 1000),
    "hardly separated (.62/.38), 6 bits, s = 500": (WEAK, 500),
    "not identified (2 of 4 items differ), s = 500": (UNIDENTIFIED, 500),
}


def columns_of(parameters):
    discrete = [Column(f"c{i}", "categorical", tuple(range(len(t)))) for i, t in enumerate(parameters.tables)]
    return Columns((*discrete, *(Column(f"x{d}", "numeric") for d in range(len(parameters.means)))))


def p_value(number):
    rng = np.random.default_rng([29, number])
    table, _ = draw(TWO, 300, rng)
    random = np.random.RandomState(number)

    def fit(rows, counts, k):
        return fit_mixture(rows, counts, k, random=random, n_init=10, tol=1e-6)

    return bootstrap_test(fit, table, np.ones(300), 2, 99, rng).p_value


def covered(name, number):
    """Intervals of a set: how many cover, how many there are; whether the library warned."""
    truth, size = DESIGNS[name]
    drawn, _ = draw(truth, size, np.random.default_rng([5, number]))
    kinds = {c.name: c.kind for c in columns_of(truth).columns}
    frame = columns_of(truth).decoded(drawn)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        lc = LatentClass(n_classes=truth.weights.size, n_init=3, kinds=kinds, init=truth, random_state=0).fit(frame)
        errors = lc.standard_errors()
    order = best_order(lc.parameters_, truth)
    true = profiles(lc.columns_, truth.classes(order))
    keys = list(zip(errors["column"], errors["level"], strict=True))
    values = np.array([true.loc[key, z] for key, z in zip(keys, errors["class"], strict=True)])
    known = errors["low"].notna().to_numpy()
    hits = ((errors["low"] <= values) & (values <= errors["high"])).to_numpy()[known]
    return int(hits.sum()), int(known.sum()), any(issubclass(w.category, BoundaryWarning) for w in caught)


def best_order(found, truth):
    """Order of the true classes in which they are nearest to the fitted ones."""

    def distance(order):
        moved = truth.classes(np.array(order))
        tables = sum(((a - b) ** 2).sum() for a, b in zip(found.tables, moved.tables, strict=True))
        return tables + ((found.means - moved.means) ** 2).sum()

    return np.array(min(permutations(range(truth.weights.size)), key=distance))


def blrt(sets, jobs):
    p = np.array(Parallel(n_jobs=jobs)(delayed(p_value)(i) for i in range(sets)))
    share = (p <= 0.05).mean()
    error = np.sqrt(share * (1 - share) / sets)
    return pd.DataFrame({"null sets": [sets], "rejected at 5%": [f"{share:.1%}"], "standard error": [f"{error:.1%}"]})


def coverage(sets, jobs):
    rows = []
    for name in DESIGNS:
        found = np.array(Parallel(n_jobs=jobs)(delayed(covered)(name, i) for i in range(sets)))
        hits, known, warned = found.sum(axis=0)
        rows.append((name, sets, int(known), f"{hits / known:.1%}", f"{warned / sets:.0%}"))
    names = ["design", "data sets", "intervals", "coverage of 95% intervals", "sets with a warning"]
    return pd.DataFrame(rows, columns=names)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["blrt", "coverage"])
    parser.add_argument("--sets", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    found = {"blrt": blrt, "coverage": coverage}[given.what](given.sets, given.jobs)
    head = "| " + " | ".join(found.columns) + " |\n|" + "---|" * found.shape[1] + "\n"
    text = head + "".join("| " + " | ".join(map(str, row)) + " |\n" for row in found.to_numpy())
    print(text)
    if given.out:
        given.out.parent.mkdir(parents=True, exist_ok=True)
        given.out.write_text(text)


if __name__ == "__main__":
    main()
