"""Forecasts beside what came: `python experiments/advice_forecast.py FOLDER [--lcdb FILE]`.

Curves of error rates, cut after a quarter (or half) of their rows, are forecast to their end. They are those of four
learners on the tables of FOLDER (CSV files with a column `target`; 15 splits, a third of the rows held out) and those
of three learners in the learning curve database LCDB (`pip install lcdb`; FILE is its `database-accuracy.csv`, and is
found where it is installed). The constants of the forecast were chosen on curves of LCDB's other learners on its data
sets with odd numbers, which are shown as well.

Curves of tables are kept in STORE (default: results/advice_forecast.db), and a run that was stopped goes on where it
was. `--write` puts what is printed into docs/science/advice.md.
"""

import argparse
import warnings
from collections.abc import Callable, Iterable
from importlib.util import find_spec
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from advice_page import write_part
from ciabench import NaiveBayes, Table, learning_curve
from ciabench.findings.forecast import forecast, forecast_leader

ROOT = Path(__file__).parents[1]
SEED, N_SPLITS, SMALLEST = 2012, 15, 8
LEVEL = 0.8
FEWEST_SIZES = 4
"""Sizes that a curve must have in its first quarter."""

FEWEST_SPLITS = 3
JUDGED = {"BernoulliNB", "LogisticRegression", "Perceptron"}
LEARNERS = {
    "NaiveBayes": NaiveBayes(),
    "LogisticRegression": LogisticRegression(max_iter=1_000),
    "Perceptron": Perceptron(),
    "DecisionTree": DecisionTreeClassifier(min_samples_leaf=3),
}
CALIBRATION = "LCDB, calibration"
LEADERS_PER_DATA_SET = 3


class Curve(NamedTuple):
    """Error rates (splits, sizes) of a learner on a data set."""

    source: str
    data_set: str
    learner: str
    sizes: Any
    errors: Any

    @property
    def means(self) -> Any:
        """Mean error rates (sizes,)."""
        return np.nanmean(self.errors, axis=0)

    def until(self, share: float, most: int | None = None) -> "Curve":
        """The curve up to a share of its rows; of its sizes every second one, and the last `most` of these, if told."""
        chosen = np.flatnonzero(self.sizes <= share * self.sizes[-1])
        if most is not None:
            chosen = chosen[::-2][:most][::-1]
        return self._replace(sizes=self.sizes[chosen], errors=self.errors[:, chosen])


def curves_of_tables(folder: Path, store: Path) -> list[Curve]:
    """Curves of all tables with a target."""
    store.parent.mkdir(parents=True, exist_ok=True)
    found = []
    for path in sorted(folder.glob("*.csv")):
        if "target" in pd.read_csv(path, nrows=1):
            table = Table.from_file(path, target="target", test_share=1 / 3)
            most = table.most_examples
            sizes = [*(int(SMALLEST * 2 ** (step / 2)) for step in range(40)), most]
            sizes = sorted({size for size in sizes if size <= most})
            own = store.with_name(f"{store.stem}-{path.stem}{store.suffix}")
            rows = learning_curve(table, LEARNERS, sizes=sizes, trials=N_SPLITS, random_state=SEED, store=own)
            rows["error"] = 1 - rows["success"]
            for learner, one in rows.groupby("learner", observed=True):
                wide = one.pivot_table(index="trial", columns="size", values="error")
                found.append(Curve("tables", path.stem, str(learner), wide.columns.to_numpy(float), wide.to_numpy()))
    return found


def curves_of_lcdb(file: Path) -> list[Curve]:
    """Curves of the learners that are judged, and of the others on data sets with odd numbers."""
    columns = ["openmlid", "learner", "size_train", "outer_seed", "inner_seed", "score_test"]
    rows = pd.read_csv(file, usecols=columns, dtype={"learner": "category"})
    rows["error"] = 1 - rows["score_test"]
    found = []
    for (number, name), one in rows.groupby(["openmlid", "learner"], observed=True):
        learner = str(name).rpartition(".")[2]
        if learner in JUDGED or number % 2 == 1:
            wide = one.pivot_table(index=["outer_seed", "inner_seed"], columns="size_train", values="error")
            wide = wide.loc[:, wide.notna().sum() >= FEWEST_SPLITS]
            source = "LCDB" if learner in JUDGED else CALIBRATION
            found.append(Curve(source, str(number), learner, wide.columns.to_numpy(float), wide.to_numpy()))
    return found


def is_long(curve: Curve) -> bool:
    """Whether the first quarter has enough sizes."""
    return bool(curve.sizes.size > 0 and curve.until(1 / 4).sizes.size >= FEWEST_SIZES)


CUTS: dict[str, Callable[[Curve], Curve]] = {
    "a quarter": lambda curve: curve.until(1 / 4),
    "a quarter, four sizes": lambda curve: curve.until(1 / 4, most=4),
    "a half": lambda curve: curve.until(1 / 2),
}


def judged(curves: list[Curve]) -> pd.DataFrame:
    """One row per curve and cut: the error rate at the end, the last one seen, the forecast and its interval."""
    rows = []
    for curve in curves:
        for cut, part in CUTS.items():
            seen = part(curve)
            found = forecast(seen.sizes, seen.errors, curve.sizes[-1:], level=LEVEL)
            rows.append((cut, curve.source, curve.learner, curve.means[-1], seen.means[-1],
                         found.median[0], found.low[0], found.high[0]))  # fmt: skip
    return pd.DataFrame(rows, columns=["cut", "source", "learner", "end", "last", "median", "low", "high"])


def group_names(rows: pd.DataFrame) -> list[tuple[str, Any]]:
    """Groups of curves that are summarised: those of each learner judged, and all of each source."""
    lcdb, tables = rows["source"] == "LCDB", rows["source"] == "tables"
    groups = [(f"LCDB, {one}", lcdb & (rows["learner"] == one)) for one in sorted(JUDGED)]
    groups += [("LCDB, all three", lcdb), ("tables", tables), ("LCDB and tables", lcdb | tables)]
    return [*groups, ("calibration", rows["source"] == CALIBRATION)]


def levels_as_text(rows: pd.DataFrame) -> str:
    """Markdown: errors and coverage by cut and group."""
    found = ["| seen | curves | number | error: last value | error: forecast | inside the 80% interval | below | above "
             "| width |", "|" + "---|" * 9]  # fmt: skip
    for cut in CUTS:
        for name, mask in group_names(rows):
            own = rows[mask & (rows["cut"] == cut)]
            if len(own):
                below, above = (own["end"] < own["low"]).mean(), (own["end"] > own["high"]).mean()
                errors = [(own["end"] - own[way]).abs().mean() for way in ("last", "median")]
                cells = [cut, name, f"{len(own):,}", *(f"{one:.4f}" for one in errors), f"{1 - below - above:.1%}"]
                cells += [f"{below:.1%}", f"{above:.1%}", f"{(own['high'] - own['low']).mean():.3f}"]
                found.append(f"| {' | '.join(cells)} |")
    return "\n".join(found)


def leaders(curves: list[Curve]) -> pd.DataFrame:
    """One row per data set: the chance that the lead changes from a quarter of the rows to all, and whether it did.

    Of the learners that calibrate, which are many, three at a time are compared.
    """
    rows = []
    for (source, _), own in groupby(curves, key=lambda curve: (curve.source, curve.data_set)):
        for together in teams(source, list(own)):
            sizes = sorted(set.intersection(*(set(one.sizes) for one in together)))
            same = [one._replace(sizes=np.array(sizes), errors=one.errors[:, np.isin(one.sizes, sizes)])
                    for one in together]  # fmt: skip
            if len(same) > 1 and all(map(is_long, same)):
                seen = [one.until(1 / 4) for one in same]
                errors = {one.learner: one.errors for one in seen}
                found = forecast_leader(seen[0].sizes, errors, same[0].sizes[-1:])
                last = same[int(np.argmin([one.means[-1] for one in same]))].learner
                rows.append((source, found.chance_of_change[0], last != found.leader))
    return pd.DataFrame(rows, columns=["source", "chance", "changed"])


def teams(source: str, curves: list[Curve]) -> Iterable[list[Curve]]:
    """Learners of one data set that are compared."""
    if source != CALIBRATION:
        return [curves]
    step = LEADERS_PER_DATA_SET
    return [curves[start : start + step] for start in range(0, len(curves) - step + 1, step)]


def leaders_as_text(rows: pd.DataFrame) -> str:
    """Markdown: how often the lead changed, by the chance that was given."""
    bounds = [0, 0.05, 0.2, 0.4, 0.6, 1.001]
    names = ["below 5%", "5 to 20%", "20 to 40%", "40 to 60%", "60% or more"]
    found = ["| data sets | chance given | number | mean chance | lead changed |", "|" + "---|" * 5]
    for source, own in [("LCDB and tables", rows[rows["source"] != CALIBRATION]),
                        ("calibration", rows[rows["source"] == CALIBRATION])]:  # fmt: skip
        places = pd.cut(own["chance"], bounds, right=False, labels=names)
        for name in [*names, "all"]:
            part = own if name == "all" else own[places == name]
            if len(part):
                found.append(f"| {source} | {name} | {len(part):,} | {part['chance'].mean():.1%} "
                             f"| {part['changed'].mean():.1%} |")  # fmt: skip
        brier = [((own["changed"] - one) ** 2).mean() for one in (own["chance"], 0.0, own["changed"].mean())]
        found.append(f"| {source} | Brier score {brier[0]:.3f}; of \"it stays\" {brier[1]:.3f}; of the mean "
                     f"{brier[2]:.3f} | | | |")  # fmt: skip
    return "\n".join(found)


def installed_lcdb() -> Path | None:
    """The database, if it is installed; its package is not imported."""
    spec = find_spec("lcdb")
    places = spec.submodule_search_locations if spec else None
    return Path(places[0]) / "database-accuracy.csv" if places else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--lcdb", type=Path, default=installed_lcdb())
    parser.add_argument("--store", type=Path, default=ROOT / "results" / "advice_forecast.db")
    parser.add_argument("--write", action="store_true", help="Put the tables into the page.")
    options = parser.parse_args()
    warnings.filterwarnings("ignore")
    curves = [*curves_of_tables(options.folder, options.store), *(curves_of_lcdb(options.lcdb) if options.lcdb else [])]
    curves = [curve for curve in curves if is_long(curve)]
    text = f"{levels_as_text(judged(curves))}\n\n{leaders_as_text(leaders(curves))}"
    print(text)
    if options.write:
        write_part("forecasts", text)


if __name__ == "__main__":
    with threadpool_limits(1):
        main()
