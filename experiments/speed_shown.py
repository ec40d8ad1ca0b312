"""Measurements of `speed.py`, as pictures and as a table."""

import re
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.ticker import NullLocator

from ciabench.findings.looks import STYLE, dress, mark_sizes, scheme_of, shade, style

DPI = 200


def picture(table: pd.DataFrame, path: Path) -> None:
    """Bars from 1, where both are equally fast, by what is measured; our own learners are no peers."""
    shown = table[~table["peer"].isin(["floor", "EM, 20 restarts"])].iloc[::-1]
    with plt.style.context(["default", STYLE]):
        figure, ax = plt.subplots(figsize=(8, 0.3 * len(shown) + 1.1), layout="constrained")
        ax.barh(range(len(shown)), shown["ratio"] - 1, left=1, height=0.62, color=shade(scheme_of(ax), 55))
        for height, ratio in enumerate(shown["ratio"]):
            label = f"{ratio:,.0f}×" if ratio >= 10 else f"{ratio:.1f}×"
            ax.annotate(label, (max(ratio, 1), height), (4, 0), textcoords="offset points", va="center")
        names = [f"{row.what.rstrip(',')}, {_setting(row.setting)}\nagainst {row.peer}" for row in shown.itertuples()]
        ax.set_yticks(range(len(shown)), names, fontsize=7)
        ax.tick_params(axis="y", length=0)
        mark_sizes(ax)
        ax.set_xlim(min(0.8, 0.8 * shown["ratio"].min()), 2 * shown["ratio"].max())
        ax.set(xlabel="times faster than the peer, processor time of one thread", ylim=(-0.6, len(shown) - 0.4))
        ax.set_title("How many times faster than its peers?")
        ax.axvline(1, color=shade(scheme_of(ax), 60), linewidth=0.8)
        dress(ax).spines["left"].set_visible(False)
        figure.savefig(path, dpi=DPI)
        plt.close(figure)


def _setting(setting: str) -> str:
    """(rows, attributes) in words; anything else as it is."""
    numbers = re.fullmatch(r"\((\d+), (\d+)\)", setting)
    return f"{int(numbers[1]):,} rows × {numbers[2]}" if numbers else setting


def picture_growth(table: pd.DataFrame, path: Path) -> None:
    """Time of one evaluation against rows and attributes, on logarithmic axes."""
    with plt.style.context(["default", STYLE]):
        figure, axes = plt.subplots(1, 2, figsize=(7, 3.2), layout="constrained", sharey=True)
        color = style("EM", [], scheme_of(axes[0]))["color"]
        parts = (("size", table[:4], "rows, 75 attributes"), ("n", table[4:], "attributes, 2,000 rows"))
        for ax, (name, part, label) in zip(axes, parts, strict=True):
            ax.plot(part[name], part["seconds"] * 1e3, "o-", color=color)
            first = part.iloc[0]
            proportional = first["seconds"] * part[name] / first[name] * 1e3
            ax.plot(part[name], proportional, linestyle="--", linewidth=0.9, color=shade(scheme_of(ax), 60))
            ax.annotate(
                "slope 1", (part[name].iloc[-1], proportional.iloc[-1]), (-4, 2), textcoords="offset points", ha="right"
            )
            mark_sizes(ax, list(part[name]))
            ax.set(xlabel=label, yscale="log", title=f"slope {slope(part, name):.2f}")
            dress(ax)
        axes[0].set_ylabel("ms")
        axes[0].yaxis.set_major_formatter("{x:g}")
        axes[0].yaxis.set_minor_locator(NullLocator())
        figure.suptitle("Time of one E and M step of EM, 20 restarts", x=0.01, ha="left", fontweight="bold")
        figure.savefig(path, dpi=DPI)
        plt.close(figure)


def slope(part: pd.DataFrame, name: str) -> float:
    """Slope of the line of time against a column on logarithmic axes."""
    return float(np.polyfit(np.log(part[name]), np.log(part["seconds"]), 1)[0])


def markdown(table: pd.DataFrame, remarks: list[str]) -> str:
    lines = ["| what | (s, n) | ours | peer | peer's | ratio | |", "|---|---|---|---|---|---|---|"]
    for row in table.itertuples():
        times = f"{row.ours * 1e3:.2f} ms | {row.peer} | {row.theirs * 1e3:.1f} ms | {row.ratio:.2f}×"
        lines.append(f"| {row.what} | {row.setting} | {times} | {row.note} |")
    return "\n".join([*lines, "", *(f"- {remark}" for remark in remarks)]) + "\n"
