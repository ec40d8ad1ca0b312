"""Which claims are robust to our choices? `python experiments/multiverse.py [--trials 100] [--jobs 2]`.

Every choice that is ours rather than the paper's is varied, one at a time and jointly; each universe has the same
trials, and every claim of the paper is judged in it by estimates and their errors: it *holds* if all estimates lie on
the right side of their margins, *fails* if one of them lies on the wrong side by more than chance (5% for all
statements of the claim together), and is *open* otherwise. All universes share one store, `results/multiverse.db`, so
that only what a universe changes is computed; an interrupted run resumes. Writes `multiverse.csv` and `multiverse.png`
into `results/reference`, with the least favourable statement of every claim.
"""

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.patches import Rectangle
from scipy import stats

from ciabench import COV, EM, CIAFamily, Perceptron, Winnow
from ciabench.arrays import Floats
from ciabench.findings import paper_claims
from ciabench.findings.claims import CLAIMS
from ciabench.findings.evidence import Sample
from ciabench.findings.looks import STYLE
from ciabench.findings.paper import named
from ciabench.findings.selection import Data
from ciabench.findings.statements import Anything, IntervalStatement, Somewhere, Statement
from ciabench.lab.plan.learner import from_estimator
from ciabench.lab.plan.plan import Plan
from ciabench.lab.session import run_plan
from ciabench.world.corpus import has_default
from ciabench.world.spelling import SpellingPair

PAPER_CLAIMS = [identity for identity in CLAIMS if identity.startswith("C")]
RESULTS = Path(__file__).parents[1] / "results"
SEED, ERROR_RATE = 1997, 0.05
SIZES = (10, 20, 50, 100, 200, 500, 1000, 3000, 10000)
MIDDLE, OMITTED = (100, 200, 500, 1000), (10, 50, 100, 200, 500, 1000, 3000)
OTHERS = [(10, k, b) for k in (2, 3, 5) for b in (0.8, 0.95)] + [(75, k, b) for k in (3, 5) for b in (0.8, 0.95)]
COLORS = {"holds": "#2a7f62", "open": "#e3c567", "fails": "#b3413b"}


@dataclass(frozen=True, repr=False)
class UniformFamily(CIAFamily):
    """CIA models whose hidden values are equally likely."""

    use: ClassVar[str] = "UniformCIA"

    @property
    def identity(self) -> dict[str, Any]:
        """Its parameters, and that the weights are uniform."""
        return {"use": self.use, **self.parameters}

    def _draw_parameters(self, rng: np.random.Generator) -> tuple[Floats, Floats]:
        _, probs = super()._draw_parameters(rng)
        return np.full(self.k, 1 / self.k), probs


def as_is(rows: pd.DataFrame) -> pd.DataFrame:
    """T as it is."""
    return rows


def clipped(rows: pd.DataFrame) -> pd.DataFrame:
    """T below −1 counts as −1."""
    return rows.assign(t=rows["t"].clip(lower=-1))


def pooled(rows: pd.DataFrame) -> pd.DataFrame:
    """The gain divided by the mean headroom of the world, whose mean is the pooled ratio."""
    room = (rows["best"] - rows["constant"]).groupby(rows["world"]).transform("mean")
    return rows.assign(t=(rows["success"] - rows["constant"]) / room)


@dataclass(frozen=True)
class Universe:
    """One set of choices: parameters of families, learners and margins, and what is made of T."""

    name: str
    family: Mapping[str, Any] = field(default_factory=dict)
    uniform: bool = False
    em: Mapping[str, Any] = field(default_factory=dict)
    winnow: Mapping[str, Any] = field(default_factory=dict)
    margins: Mapping[str, float] = field(default_factory=dict)
    measure: Callable[[pd.DataFrame], pd.DataFrame] = as_is


UNIVERSES = (
    Universe("ours"),
    Universe("headroom ≥ 0.01", {"min_headroom": 0.01}),
    Universe("headroom ≥ 0.05", {"min_headroom": 0.05}),
    Universe("no cut, pooled ratio", {"min_headroom": 0}, measure=pooled),
    Universe("headroom ≥ 0.02, pooled ratio", measure=pooled),
    Universe("T clipped at −1", measure=clipped),
    Universe("|B − b| ≤ 0.005", {"tolerance": 0.005}),
    Universe("|B − b| ≤ 0.03", {"tolerance": 0.03}),
    Universe("uniform weights", uniform=True),
    Universe("EM: 5 restarts", em={"n_init": 5}),
    Universe("EM: 100 restarts", em={"n_init": 100}),
    Universe("Winnow: promotion 1.02", winnow={"promotion": 1.02}),
    Universe("Winnow: promotion 1.1", winnow={"promotion": 1.1}),
    Universe("Winnow: margin 0.05", winnow={"margin": 0.05}),
    Universe("Winnow: margin 0.2", winnow={"margin": 0.2}),
    Universe("Winnow: 3 passes", winnow={"n_passes": 3}),
    Universe("Winnow: 3 passes, promotion 1.02", winnow={"n_passes": 3, "promotion": 1.02}),
    Universe("Winnow: 5 members", winnow={"n_members": 5}),
    Universe("Winnow: 20 members", winnow={"n_members": 20}),
    Universe("Winnow: half subsamples", winnow={"subsample": 0.5}),
    Universe("similar: ±0.05", margins={"SIMILAR": 0.05}),
    Universe("similar: ±0.2", margins={"SIMILAR": 0.2}),
    Universe("dismal: T < 0.05", margins={"DISMAL": 0.05}),
    Universe("dismal: T < 0.25", margins={"DISMAL": 0.25}),
    Universe("headroom ≥ 0.05, uniform weights", {"min_headroom": 0.05}, uniform=True),
    Universe("headroom ≥ 0.05, T clipped", {"min_headroom": 0.05}, measure=clipped),
    Universe("uniform weights, pooled ratio", uniform=True, measure=pooled),
    Universe("promotion 1.02, 20 members, EM: 100", em={"n_init": 100}, winnow={"promotion": 1.02, "n_members": 20}),
    Universe("3 passes, T clipped, similar: ±0.2", winnow={"n_passes": 3}, margins={"SIMILAR": 0.2}, measure=clipped),
)


def rows_of(universe: Universe, trials: int, jobs: int) -> pd.DataFrame:
    """All rows that the paper's claims need, under the names of the worlds of the paper."""
    em, winnow = EM(**universe.em), Winnow(**universe.winnow)
    first = {"EM": em, "COV": COV(), "Winnow": winnow}
    basic = {"basic Winnow": Winnow(**{**universe.winnow, "margin": 0.0, "n_members": 1}), "Perceptron": Perceptron()}
    six = [(n, k, 0.9) for n in (10, 75) for k in (2, 3, 5)]
    parts = [
        measured(universe, six, first, SIZES, trials, jobs),
        measured(universe, six, basic, MIDDLE, trials, jobs),
        measured(universe, OTHERS, {"EM": em, "Winnow": winnow}, OMITTED, trials, jobs),
    ]
    rows = universe.measure(pd.concat(parts, ignore_index=True))
    return pd.concat([rows, on_text(universe, jobs)], ignore_index=True) if has_default() else rows


def measured(
    universe: Universe,
    families: Sequence[tuple[int, int, float]],
    learners: Mapping[str, Any],
    sizes: Sequence[int],
    trials: int,
    jobs: int,
) -> pd.DataFrame:
    """Rows of learners on families."""
    kind = UniformFamily if universe.uniform else CIAFamily
    worlds = tuple(kind(*family, **universe.family) for family in families)
    entrants = tuple(from_estimator(name, learner) for name, learner in learners.items())
    plan = Plan(SEED, trials, tuple(sizes), worlds, entrants)
    names = {world.name: named(*family) for world, family in zip(worlds, families, strict=True)}
    rows = run_plan(plan, RESULTS / "multiverse.db", jobs)
    return rows.assign(world=rows["world"].map(names))


def on_text(universe: Universe, jobs: int) -> pd.DataFrame:
    """Rows of the paper's pair of words."""
    winnow = Winnow(**{"n_passes": 20, "margin": 0.01, **universe.winnow})
    learners = {"EM": EM(**universe.em), "Winnow": winnow}
    entrants = tuple(from_estimator(name, learner) for name, learner in learners.items())
    plan = Plan(SEED, 5, (10_000,), (SpellingPair(paper_claims.PAPER_PAIR),), entrants)
    return run_plan(plan, RESULTS / "multiverse.db", jobs)


@contextmanager
def margins(changed: Mapping[str, float]) -> Iterator[None]:
    """Judge by other margins."""
    kept = {name: getattr(paper_claims, name) for name in changed}
    try:
        vars(paper_claims).update(changed)
        yield
    finally:
        vars(paper_claims).update(kept)


def clearness(statement: Anything) -> float:
    """Distance from the margin in standard errors; negative on the wrong side."""
    if isinstance(statement, IntervalStatement):
        sign = 1 if statement.direction == "above" else -1
        return float(sign * np.copysign(np.inf, statement.estimate - statement.bound))
    if isinstance(statement, Somewhere):
        return max(min(one.clearness for one in parts) for parts in statement.places.values())
    return statement.clearness


def critical(statements: Sequence[Anything]) -> float:
    """Standard errors beyond which one of all statements of a claim lies on the wrong side by more than chance."""
    level, means = ERROR_RATE / len(statements), [one.estimate for one in statements if isinstance(one, Statement)]
    freedom = [mean.freedom for mean in means if isinstance(mean, Sample)]
    return float(stats.t.ppf(1 - level, min(freedom)) if freedom else stats.norm.ppf(1 - level))


def judged(universe: Universe, rows: pd.DataFrame) -> Iterator[dict[str, Any]]:
    """Verdict on each of the paper's claims that these rows allow, with its least favourable statement."""
    data = Data(rows)
    with margins(universe.margins):
        for identity in PAPER_CLAIMS:
            if identity == "C12" and not has_default():
                continue
            statements = CLAIMS[identity].test(data)
            worst = min(statements, key=clearness)
            lowest = clearness(worst)
            verdict = "holds" if lowest > 0 else "fails" if lowest < -critical(statements) else "open"
            yield {
                "universe": universe.name,
                "id": identity,
                "verdict": verdict,
                "clearness": round(float(np.clip(lowest, -99, 99)), 2),
                "statement": worst.text,
            }


def draw(table: pd.DataFrame, trials: int, path: Path) -> None:
    """Claims × universes, coloured by verdict."""
    universes, ids = list(table["universe"].unique()), list(table["id"].unique())
    wide = table.pivot(index="universe", columns="id")
    with plt.style.context(["default", STYLE]):
        figure, ax = plt.subplots(figsize=(2.8 + 0.62 * len(ids), 1.2 + 0.3 * len(universes)), layout="constrained")
        for row, universe in enumerate(universes):
            for column, identity in enumerate(ids):
                verdict = wide["verdict"].loc[universe, identity]
                ax.add_patch(Rectangle((column, row), 0.94, 0.9, color=COLORS[verdict]))
                shown = f"{wide['clearness'].loc[universe, identity]:+.1f}".replace("-", "−")
                light = "black" if verdict == "open" else "white"
                ax.text(
                    column + 0.47,
                    row + 0.45,
                    shown.replace("+99.0", "exact"),
                    ha="center",
                    va="center",
                    color=light,
                    fontsize=7,
                )
        ax.set(xlim=(0, len(ids)), ylim=(len(universes), 0))
        ax.set_xticks(np.arange(len(ids)) + 0.47, ids)
        ax.set_yticks(np.arange(len(universes)) + 0.45, universes)
        ax.xaxis.tick_top()
        ax.tick_params(length=0)
        for spine in ax.spines.values():
            spine.set_visible(False)
        handles = [Rectangle((0, 0), 1, 1, color=color) for color in COLORS.values()]
        figure.legend(handles, COLORS, loc="outside lower right", ncols=3, frameon=False)
        words = (
            f"Numbers: distance of the least favourable estimate from its margin, in standard errors; {trials} trials."
        )
        figure.supxlabel(words, x=0.01, ha="left", fontsize="small")
        figure.savefig(path, dpi=160, metadata={"Software": None})
        plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=RESULTS / "reference")
    options = parser.parse_args()
    found = []
    for universe in UNIVERSES:
        found += list(judged(universe, rows_of(universe, options.trials, options.jobs)))
        print(universe.name, *(f"{one['id']} {one['verdict']}" for one in found if one["universe"] == universe.name))
    table = pd.DataFrame(found)
    table.to_csv(options.out / "multiverse.csv", index=False)
    draw(table, options.trials, options.out / "multiverse.png")
    counts = table.groupby(["id", "verdict"], sort=False).size().unstack(fill_value=0)
    print(counts.to_string())


if __name__ == "__main__":
    main()
