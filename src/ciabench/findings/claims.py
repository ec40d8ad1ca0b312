"""The paper's claims, and those beyond it, as statistical tests on paired trials.

Each claim is one function from rows to the statements that it makes; to add a claim, add a function to `paper_claims`
or `beyond_claims`, and the worlds that it is about. It is shown for results that hold at least one of them. Levels are
applied by `tester`, once the statements are counted.
"""

import pandas as pd

from ciabench.findings import beyond_claims, paper_claims
from ciabench.findings.selection import Data
from ciabench.findings.tester import CLAIMS, Finding, findings_of, reference_verdicts

__all__ = ["CLAIMS", "Finding", "beyond_claims", "check_claims", "paper_claims"]


def check_claims(rows: pd.DataFrame, *, beside_reference: bool = True) -> list[Finding]:
    """Test the claims on the rows of one or more experiments.

    Parameters
    ----------
    rows : DataFrame
        As of `learning_curve`, a store or a table.
    beside_reference : bool
        Whether to add the verdicts of the committed reference.

    Returns
    -------
    list of Finding
        Of the claims of which at least one world is among the rows; claims that need no rows stand only beside others.

    Examples
    --------
    >>> check_claims(pd.DataFrame({"world": ["my own"], "trial": 0, "size": 10, "learner": "EM", "t": 0.5}))
    []
    """
    return findings_of(CLAIMS, Data(rows), reference_verdicts() if beside_reference else {})
