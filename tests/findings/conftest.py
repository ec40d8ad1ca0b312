import matplotlib
import numpy as np
import pandas as pd
import pytest

matplotlib.use("agg")


def rows_of(means, trials=200, spread=0.2, seed=0, family=(10, 2, 0.9)):
    """Rows with T around `means[learner][size]`; trials share half of their noise."""
    rng = np.random.default_rng(seed)
    n, k, b = family
    shared, rows = rng.normal(0, spread, trials), []
    for learner, by_size in means.items():
        for size, mean in by_size.items():
            t = mean + shared + rng.normal(0, spread, trials)
            rows.append(pd.DataFrame({"trial": range(trials), "size": size, "learner": learner, "t": t}))
    frame = pd.concat(rows, ignore_index=True).assign(n=n, k=k, b=b, constant=0.6, t_error=0.0)
    frame["best"] = 0.7 + 0.1 * (frame["trial"] % 3)
    frame["success"] = frame["constant"] + frame["t"] * (frame["best"] - frame["constant"])
    return frame


@pytest.fixture(scope="session")
def made_rows():
    return rows_of
