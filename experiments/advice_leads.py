"""How often a lead is claimed where there is none, and found where there is one: `python experiments/advice_leads.py`.

Simulated tables of 1,000 rows have a balanced binary target, columns that all learners see, and columns of one learner
only; a column equals the target with a certain probability, independently of the others. Each of eight learners is
naive Bayes on its own view of the table: the shared columns and its own. Where all own columns are equally good, the
learners are exchangeable, and every lead is false. In the other tables some learners have better columns, so that they
are ahead by 5 points on average over training samples; their columns are found by bisection.

Every setting becomes a line of FILE (default: results/advice_leads.jsonl), and a run that was stopped goes on where it
was. `--report` computes nothing and prints the tables; `--write` puts them into docs/science/advice.md. A thousand
tables per setting take some minutes.
"""

import argparse
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

from advice_page import append, lines_of, write_part
from ciabench.findings.leads import Lead, SplitHits, compare_ways
from ciabench.seeds import Seed

ROOT = Path(__file__).parents[1]
SEED, N_ROWS, N_TEST, N_LEARNERS, TRUE_LEAD = 2003, 1_000, 333, 8, 0.05
N_SPLITS = (15, 30)
MARGIN = 0.01


class View(NamedTuple):
    """What learners see: numbers of columns, and probabilities that a column equals the target."""

    n_shared: int
    shared: float
    n_own: int
    own: float


VIEWS = {
    "no shared columns": View(0, 0.5, 5, 0.7),
    "two shared columns": View(2, 0.7, 4, 0.65),
    "four shared columns": View(4, 0.7, 3, 0.65),
}
WAYS = {"1 against 7": 1, "4 against 4": 4}
AHEAD = {"nobody": range(0), "the first": range(1), "the last": range(7, 8), "the first four": range(4)}
SETTINGS = [
    ("nobody", "1 against 7"),
    ("nobody", "4 against 4"),
    ("the first", "1 against 7"),
    ("the last", "1 against 7"),
    ("the first", "4 against 4"),
    ("the first four", "4 against 4"),
]


def columns_of(view: View, learner: int) -> list[int]:
    """Positions of the columns that a learner sees."""
    start = view.n_shared + learner * view.n_own
    return [*range(view.n_shared), *range(start, start + view.n_own)]


def chances(view: View, ahead: range, better: float) -> Any:
    """Probability of every column to equal the target."""
    own = np.full((N_LEARNERS, view.n_own), view.own)
    own[list(ahead)] = better
    return np.concatenate([np.full(view.n_shared, view.shared), own.ravel()])


def sampled(equal: Any, size: int, rng: np.random.Generator) -> tuple[Any, Any]:
    """Columns (size, n) and target of a table, 0 and 1."""
    y = rng.integers(0, 2, size)
    is_equal = rng.random((size, equal.size)) < equal
    return np.where(is_equal, y[:, None], 1 - y[:, None]).astype(np.float32), y


def right(X: Any, y: Any, X_test: Any, y_test: Any, view: View) -> Any:
    """Whether naive Bayes on every view is right on the test rows, (learners, n_test)."""
    ones = np.array([X[y == label].sum(axis=0) for label in (0, 1)]) + 1.0
    counts = np.array([[(y == label).sum()] for label in (0, 1)]) + 2.0
    present, absent = np.log(ones / counts), np.log(1 - ones / counts)
    slopes, constants = np.diff(present - absent, axis=0)[0], np.diff(absent, axis=0)[0]
    masks = np.zeros((slopes.size, N_LEARNERS))
    for learner in range(N_LEARNERS):
        masks[columns_of(view, learner), learner] = 1
    prior = np.log((y == 1).sum() / (y == 0).sum())
    scores = X_test @ (masks * slopes[:, None]).astype(np.float32) + (masks.T @ constants + prior)
    return ((scores > 0) == (y_test[:, None] == 1)).T


def population(view: View, better: float) -> tuple[float, float]:
    """True lead of the first learner over the second, and the share of rows on which their labels differ."""
    equal, hits = chances(view, range(1), better), []
    for index in range(40):
        rng = Seed((SEED, "population", index)).rng(*view)
        both = right(*sampled(equal, N_ROWS - N_TEST, rng), *sampled(equal, 20_000, rng), view)[:2]
        hits.append((both[0].mean() - both[1].mean(), (both[0] != both[1]).mean()))
    lead, differ = np.mean(hits, axis=0)
    return float(lead), float(differ)


@cache
def better_columns(view: View) -> float:
    """Probability of the columns with which a learner is ahead by the true lead."""
    low, high = view.own, 0.95
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (low, middle) if population(view, middle)[0] > TRUE_LEAD else (middle, high)
    return (low + high) / 2


def splits_of(equal: Any, view: View, rng: np.random.Generator) -> list[SplitHits]:
    """A table, split into training and test rows as often as the largest number says."""
    X, y = sampled(equal, N_ROWS, rng)
    found = []
    for _ in range(max(N_SPLITS)):
        order = rng.permutation(N_ROWS)
        test, training = order[:N_TEST], order[N_TEST:]
        hits = right(X[training], y[training], X[test], y[test], view)
        found.append(SplitHits(test, {str(learner): one for learner, one in enumerate(hits)}))
    return found


def outcome(lead: Lead, ahead: range, n_first: int) -> str:
    """The answer, or whether the wrong way leads."""
    truly = "first" if any(learner < n_first for learner in ahead) else "second"
    return "wrong lead" if lead.answer == "lead" and ahead and lead.leader != truly else lead.answer


def measured(view: View, who: str, way: str, tables: int) -> dict[str, Any]:
    """Answers and half-widths over simulated tables, by number of splits."""
    ahead, n_first = AHEAD[who], WAYS[way]
    better = better_columns(view) if ahead else view.own
    names = [str(learner) for learner in range(N_LEARNERS)]
    ways = {"first": names[:n_first], "second": names[n_first:]}
    answers: dict[int, list[str]] = {n_splits: [] for n_splits in N_SPLITS}
    widths: dict[int, list[float]] = {n_splits: [] for n_splits in N_SPLITS}
    for index in range(tables):
        splits = splits_of(chances(view, ahead, better), view, Seed((SEED, who, index)).rng(*view))
        for n_splits in N_SPLITS:
            lead = compare_ways(splits[:n_splits], ways, N_ROWS - N_TEST, margin=MARGIN)
            answers[n_splits].append(outcome(lead, ahead, n_first))
            widths[n_splits].append((lead.high - lead.low) / 2)
    true_lead, differ = population(view, better)
    return {"who": who, "way": way, "tables": tables, "true lead": true_lead, "differ": differ,
            "shares": {n: {one: answers[n].count(one) / tables for one in set(answers[n])} for n in N_SPLITS},
            "half-width": {n: float(np.mean(widths[n])) for n in N_SPLITS}}  # fmt: skip


def run(tables: int, out: Path) -> None:
    """Append the settings that are missing."""
    done = {(line["view"], line["who"], line["way"]) for line in lines_of(out) if line["tables"] == tables}
    for name, view in VIEWS.items():
        for who, way in SETTINGS:
            if (name, who, way) not in done:
                append(out, {"view": name, **measured(view, who, way, tables)})


def as_text(lines: list[dict[str, Any]]) -> str:
    """Markdown: a line per setting and number of splits."""
    names = (
        "learners, ahead, views, labels differ, splits, right lead, false or wrong lead, same, undecided, half-width"
    )
    found = [f"| {names.replace(', ', ' | ')} |", "|" + "---|" * 10]
    for line in lines:
        for n_splits, shares in line["shares"].items():
            is_null = line["who"] == "nobody"
            leads = ["–" if is_null else f"{shares.get('lead', 0):.1%}",
                     f"{shares.get('lead' if is_null else 'wrong lead', 0):.1%}"]  # fmt: skip
            rest = [f"{shares.get(one, 0):.1%}" for one in ("same", "undecided")]
            start = [line["way"], line["who"], line["view"], f"{line['differ']:.0%}", n_splits]
            found.append(f"| {' | '.join([*start, *leads, *rest])} | {line['half-width'][n_splits]:.3f} |")
    return "\n".join(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "results" / "advice_leads.jsonl")
    parser.add_argument("--tables", type=int, default=1_000)
    parser.add_argument("--report", action="store_true", help="Compute nothing.")
    parser.add_argument("--write", action="store_true", help="Put the table into the page.")
    options = parser.parse_args()
    if not options.report:
        run(options.tables, options.out)
    order = {one: place for place, one in enumerate(SETTINGS)}
    text = as_text(sorted(lines_of(options.out), key=lambda line: order[line["who"], line["way"]]))
    print(text)
    if options.write:
        write_part("leads", text)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
