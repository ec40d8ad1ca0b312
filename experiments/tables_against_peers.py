"""Tables of any kind against StepMix and scikit-learn: likelihoods, speed, and memory.

    python experiments/tables_against_peers.py likelihoods
    python experiments/tables_against_peers.py speed
    python experiments/tables_against_peers.py memory

Likelihoods: random tables, the best of equally many restarts. Speed: ratios of processor time in one run, one thread,
the same number of restarts and the same tolerance, which both peers apply to the mean over rows. Memory: a million rows
of 20 categorical columns.
"""

import argparse
import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import resource
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.mixture import GaussianMixture
from stepmix.stepmix import StepMix

from ciabench import LatentClass
from ciabench.latent.gaussians import VARIANCE_FLOOR
from ciabench.probability.product import Parameters, draw

RESTARTS = 20


def random_mixture(rng, n_levels, n_numbers, k):
    """Parameters of a random mixture of k classes."""
    tables = tuple(rng.dirichlet(np.full(v, 0.8), k).T for v in n_levels)
    means, variances = rng.normal(0, 2, (n_numbers, k)), rng.uniform(0.5, 1.5, (k, n_numbers))
    return Parameters(rng.dirichlet(np.full(k, 5.0)), tables, means, variances)


def random_table(rng, n_levels, n_numbers, k, size, missing):
    """Codes and numbers as floats, NaN where missing, and the names of the columns."""
    drawn, _ = draw(random_mixture(rng, n_levels, n_numbers, k), size, rng)
    values = np.column_stack([drawn.codes.astype(float), drawn.numbers])
    values[rng.random(values.shape) < missing] = np.nan
    names = [f"c{i}" for i in range(len(n_levels))] + [f"x{i}" for i in range(n_numbers)]
    return pd.DataFrame(values, columns=names), dict.fromkeys(names[: len(n_levels)], "categorical") | dict.fromkeys(
        names[len(n_levels) :], "numeric"
    )


def stepmix(table, kinds, k, n_init, tol):
    """StepMix fitted to a table."""
    suffix = "_nan" if table.isna().to_numpy().any() else ""
    discrete = [name for name, kind in kinds.items() if kind == "categorical"]
    numeric = [name for name, kind in kinds.items() if kind == "numeric"]
    description = {}
    if discrete:
        description["discrete"] = {"model": "categorical" + suffix, "n_columns": len(discrete)}
    if numeric:
        description["numeric"] = {"model": "gaussian_diag" + suffix, "n_columns": len(numeric)}
    model = StepMix(
        n_components=k, measurement=description, n_init=n_init, abs_tol=tol, rel_tol=0.0, max_iter=10_000,
        random_state=0, progress_bar=0,
    )  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(table)
        return model, float(model.score(table)) * len(table)


def as_parameters(model, table, kinds, n_levels):
    """StepMix's solution as a start."""
    found = model.get_parameters()
    weights, measured = np.asarray(found["weights"]), found["measurement"]
    tables, k = [], len(weights)
    if "discrete" in measured:
        flat = np.asarray(measured["discrete"]["pis"])
        most = flat.shape[1] // len(n_levels)
        for i, v in enumerate(n_levels):
            block = np.maximum(flat[:, i * most : i * most + v].T, 1e-15)
            tables.append(block / block.sum(axis=0))
    means = variances = None
    if "numeric" in measured:
        means = np.asarray(measured["numeric"]["means"]).T
        variances = np.asarray(measured["numeric"]["covariances"]).reshape(k, -1)
    if means is None:
        means, variances = np.empty((0, k)), np.empty((k, 0))
    return Parameters(weights, tuple(tables), means, variances)


def ours(table, kinds, k, n_init, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return LatentClass(n_classes=k, kinds=kinds, n_init=n_init, random_state=0, **options).fit(table)


def likelihoods(n_init=10):
    """Compare likelihoods on 60 random tables, and on 20 Gaussian ones."""
    no_worse = from_theirs = total = 0
    for kind in ("categorical", "mixed"):
        for missing in (0.0, 0.1, 0.4):
            for k in (2, 3):
                for seed in range(5):
                    rng = np.random.default_rng([total, seed])
                    n_levels, n_numbers = ([3, 2, 4, 3, 2], 0) if kind == "categorical" else ([3, 2, 4], 2)
                    table, kinds = random_table(rng, n_levels, n_numbers, k, 300, missing)
                    model, theirs = stepmix(table, kinds, k, n_init, 1e-9)
                    lc = ours(table, kinds, k, n_init)
                    start = as_parameters(model, table, kinds, n_levels)
                    continued = ours(table, kinds, k, 1, init=start)
                    no_worse += lc.log_likelihood_ >= theirs - 1e-6
                    from_theirs += continued.log_likelihood_ >= theirs - 1e-6
                    total += 1
                    if lc.log_likelihood_ < theirs - 1e-6 or continued.log_likelihood_ < theirs - 1e-6:
                        print(kind, missing, k, seed, lc.log_likelihood_, theirs, continued.log_likelihood_)
    print(f"against StepMix: not below in {no_worse} of {total}; started from its solution: {from_theirs} of {total}")
    for initial in ("kmeans", "random_from_data"):
        gaussian_likelihoods(n_init, initial)


def gaussian_likelihoods(n_init, initial):
    """Compare likelihoods on 20 Gaussian tables with scikit-learn's, from its default starts or from random rows."""
    good = compared = 0
    for covariance in ("diag", "full"):
        for seed in range(10):
            rng = np.random.default_rng([7, seed])
            k, m = (2, 2) if seed % 2 else (3, 3)
            parameters = random_mixture(rng, [], m, k)
            X = draw(parameters, 400, rng)[0].numbers @ (rng.normal(size=(m, m)) if covariance == "full" else np.eye(m))
            theirs = GaussianMixture(
                k, covariance_type=covariance, n_init=n_init, tol=1e-10, max_iter=10_000, random_state=0,
                init_params=initial,
            ).fit(X)  # fmt: skip
            lc = ours(X, "numeric", k, n_init, covariance=covariance)
            least = np.linalg.eigvalsh(theirs.covariances_).min() if covariance == "full" else theirs.covariances_.min()
            if least < 10 * VARIANCE_FLOOR * X.var(axis=0).min():
                print("a winner of scikit-learn is at its floor; not compared")
                continue
            compared += 1
            value = theirs.score(X) * len(X)
            good += lc.log_likelihood_ >= value - 1e-6 * abs(value)
            if lc.log_likelihood_ < value - 1e-6 * abs(value):
                smallest = f"the smallest class has {theirs.weights_.min():.1%} of the rows"
                print(covariance, seed, lc.log_likelihood_, value, smallest)
    print(f"against GaussianMixture from {initial}: not below in {good} of {compared}")


def timed(function):
    started = time.process_time()
    found = function()
    return time.process_time() - started, found


def best_of(function, repeats=3):
    return min((timed(function) for _ in range(repeats)), key=lambda pair: pair[0])


class Contest(NamedTuple):
    """A table, and what both sides fit to it; `value` is the log-likelihood of the peer's fit."""

    name: str
    peer: str
    ours: Callable[[], Any]
    theirs: Callable[[], Any]
    value: Callable[[Any], float]


def contests():
    """Iterate over the tables on which times are compared; our kernels are compiled before."""
    rng = np.random.default_rng(0)
    cases = {
        "categorical 1202 × 4, k = 3": ([2, 3, 2, 3], 1202, 0.0),
        "categorical 1785 × 12, 5% missing, k = 3": ([4] * 12, 1785, 0.05),
    }
    for name, (n_levels, size, missing) in cases.items():
        table, kinds = random_table(rng, n_levels, 0, 3, size, missing)
        ours(table.iloc[:50], kinds, 3, 1)
        yield Contest(
            name,
            "StepMix",
            partial(ours, table, kinds, 3, RESTARTS, tol=1e-8 * len(table)),
            partial(stepmix, table, kinds, 3, RESTARTS, 1e-8),
            lambda fitted: fitted[1],
        )
    for covariance in ("diag", "full"):
        for size, m, k in ((1000, 2, 3), (10_000, 10, 5)):
            X = draw(random_mixture(rng, [], m, k), size, rng)[0].numbers
            ours(X[:50], "numeric", 2, 1, covariance=covariance)
            peer = GaussianMixture(
                k, covariance_type=covariance, n_init=RESTARTS, tol=1e-8, max_iter=10_000, random_state=0
            )
            yield Contest(
                f"Gaussian {covariance} ({size}, {m}), k = {k}",
                "GaussianMixture",
                partial(ours, X, "numeric", k, RESTARTS, covariance=covariance, tol=1e-8 * len(X)),
                partial(peer.fit, X),
                lambda fitted, X=X: fitted.score(X) * len(X),
            )


def speed():
    """Ratios of the times of peers to ours."""
    for name, peer, mine, theirs, value in contests():
        seconds, lc = best_of(mine)
        slow, fitted = timed(theirs)
        report(name, peer, slow, seconds, lc.log_likelihood_, value(fitted))


def report(name, peer, slow, seconds, ours_value, theirs_value):
    print(
        f"{name}: {peer} {slow:.2f} s, ours {seconds:.3f} s, ratio {slow / seconds:.0f}; "
        f"log-likelihood {ours_value:.4f} against {theirs_value:.4f}",
        flush=True,
    )


def memory():
    """Peak memory of a fit to a million rows, above what the process had with the table in memory."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, (1_000_000, 20), dtype=np.uint8)
    ours(codes[:100], "categorical", 5, 1)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    lc = LatentClass(n_classes=5, n_init=1, max_iter=20, kinds="categorical", random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        lc.fit(codes)
    added = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    print(f"codes {codes.nbytes / 1e6:.0f} MB; peak above them {added / 1e6:.0f} MB = {added / codes.nbytes:.1f} times")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["likelihoods", "speed", "memory"])
    {"likelihoods": likelihoods, "speed": speed, "memory": memory}[parser.parse_args().what]()
