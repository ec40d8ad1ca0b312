"""What EM makes of missing cells: `python experiments/network_missing.py` (about two minutes).

Rows of the network alarm, of which a fifth of the cells is missing. The mean absolute error of all tables, against
those that the rows were drawn from, when EM infers what is missing, and when every table is counted in the rows that
observe its variable and all parents. Distributions without any row are uniform in both.
"""

import sys
import tempfile

import numpy as np
import pandas as pd

from ciabench import BeliefNetwork
from ciabench.probability.inference import see
from ciabench.probability.network import normalised
from network_speed import bif_file, with_missing

SIZE, SHARE, SEEDS = 20_000, 0.2, 5


def counted(network: BeliefNetwork, rows: pd.DataFrame) -> np.ndarray:
    """Shares in the rows that observe a whole family."""
    inside, states = network._asked(rows)
    counts = see(inside, states).counts
    sums = np.repeat(np.add.reduceat(counts, inside.groups[:-1]), np.diff(inside.groups))
    return normalised(inside, np.where(sums > 0, counts, 1.0))


def main() -> None:
    size = int(sys.argv[1]) if len(sys.argv) > 1 else SIZE
    with tempfile.TemporaryDirectory() as folder:
        truth = BeliefNetwork.from_bif(bif_file("alarm", folder))
    lines = []
    for seed in range(SEEDS):
        rows = with_missing(truth.sample(size, random_state=seed), SHARE, seed)
        fitted = BeliefNetwork(truth.edges, states=truth.states, n_init=1, random_state=seed).fit(rows)
        errors = [np.abs(theta - truth._theta).mean() for theta in (fitted._theta, counted(truth, rows))]
        lines.append({"seed": seed, "EM": errors[0], "counted": errors[1], "E steps": fitted.n_iter_})
        print(f"seed {seed}: EM {errors[0]:.5f}, counted {errors[1]:.5f}, {fitted.n_iter_} E steps", flush=True)
    table = pd.DataFrame(lines)
    lead = table["counted"] - table["EM"]
    print(f"mean: EM {table['EM'].mean():.5f}, counted {table['counted'].mean():.5f}; ", end="")
    print(f"EM is {lead.mean():.5f} ± {lead.sem():.5f} lower, in {(lead > 0).sum()} of {SEEDS} samples")


if __name__ == "__main__":
    main()
