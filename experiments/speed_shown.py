"""Measurements of `speed.py`, as pictures and as a table."""

from pathlib import Path

import matplotlib.pyplot as plt
import pandas as pd


def picture(table: pd.DataFrame, path: Path) -> None:
    shown = table[table["peer"] != "floor"].iloc[::-1]
    _, ax = plt.subplots(figsize=(9, 0.32 * len(shown) + 1), layout="constrained")
    bars = ax.barh(shown["what"] + " " + shown["setting"] + " / " + shown["peer"], shown["ratio"], color="#0072B2")
    ax.bar_label(bars, fmt=lambda ratio: f"{ratio:,.0f}×" if ratio >= 10 else f"{ratio:.1f}×", padding=3)
    ax.set(xscale="log", xlabel="times faster than the peer (processor time)")
    ax.xaxis.set_major_formatter("{x:,g}")
    ax.axvline(1, color="0.6")
    ax.spines[["top", "right"]].set_visible(False)
    plt.savefig(path, dpi=150)


def picture_growth(table: pd.DataFrame, path: Path) -> None:
    _, axes = plt.subplots(1, 2, figsize=(7, 3), layout="constrained", sharey=True)
    for ax, name, part in ((axes[0], "size", table[:4]), (axes[1], "n", table[4:])):
        ax.loglog(part[name], part["seconds"] * 1e3, "o-", color="#0072B2")
        ax.set(xlabel={"size": "rows (n = 75)", "n": "attributes (2,000 rows)"}[name], ylabel="ms per evaluation")
        ax.set_xticks(part[name], [f"{value:,}" for value in part[name]])
        ax.yaxis.set_major_formatter("{x:g}")
        ax.minorticks_off()
    plt.savefig(path, dpi=150)


def markdown(table: pd.DataFrame, remarks: list[str]) -> str:
    lines = ["| what | (s, n) | ours | peer | peer's | ratio | |", "|---|---|---|---|---|---|---|"]
    for row in table.itertuples():
        times = f"{row.ours * 1e3:.2f} ms | {row.peer} | {row.theirs * 1e3:.1f} ms | {row.ratio:.2f}×"
        lines.append(f"| {row.what} | {row.setting} | {times} | {row.note} |")
    return "\n".join([*lines, "", *(f"- {remark}" for remark in remarks)]) + "\n"
