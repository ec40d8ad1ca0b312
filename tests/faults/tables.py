"""Tables as attackers make them, and what must hold for each: an answer, or one of our errors."""

import csv
import gzip
import io
import json
import warnings
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow
from harness import answered, asked, refusal
from hypothesis import strategies as st
from hypothesis import target
from pyarrow import parquet

from ciabench import BitEncoder, LatentClass, NaiveBayes, Table
from ciabench.columns import Columns, as_table
from ciabench.errors import CIABenchError
from ciabench.findings.advice_table import as_meant
from ciabench.seeds import Seed
from ciabench.world.table_file import read_table

FORMULAS = ["=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(1)", "=HYPERLINK(1)"]
MARKUP = [
    "<script>alert(1)</script>", "'; DROP TABLE cell; --", '"]]\n[[worlds]]', "$\\frac{", "{{ 7 * 7 }}", "\x1b]0;t\x07",
]  # fmt: skip
NAMES = [
    "a", "b", "id", "y", "", " ", "Unnamed: 0", "ciabench_kinds", "None", "x" * 300, "é", "\ufeff", *MARKUP, *FORMULAS,
]  # fmt: skip
WORDS = [
    "", "0", "1", "yes", "no", "NA", "nan", "None", "inf", "-inf", "1e308", "-1e308", "1e400", "1e-320", "0x1F",
    "1_000", "1,5", "1.5", str(2**63), str(2**64), "9" * 400,
    "True", "false", "2024-01-31", "31.01.24", "1+2j", " 1", "1 ",
    '"', "'", "a\0", "\ud800", "\u202e", "x" * 300, "y\n", *MARKUP, *FORMULAS,
]  # fmt: skip
EXTREMES = [0.0, -0.0, 1.0, 5e-324, 1e-300, 1e16, 1e150, 1.1e150, 1e308, -1e308, np.inf, -np.inf, np.nan]

texts = st.sampled_from(WORDS) | st.text(max_size=5)
floats = st.sampled_from(EXTREMES) | st.floats()
whole = st.integers(-3, 3) | st.integers(-(2**63), 2**63 - 1)
strange = st.sampled_from([
    None, pd.NA, pd.NaT, 10**400, -(2**64), Decimal("NaN"), Decimal("1e400"), Fraction(1, 3), 1j, b"a", [], [1], {},
    (1, 2), frozenset(), np.bool_(True), np.float32(0.1), np.longdouble("1e4000"), np.datetime64("2024-01-31"),
    pd.Timestamp(0), pd.Timedelta(1), pd.Interval(0, 1), pd.Period("2024"), np.array([1, 2]), np.str_("a"), True, 0,
    1.0, "1", "True", int, range(3),
])  # fmt: skip
moments = st.integers(0, 2**31)
CELLS = {
    **dict.fromkeys(["float64", "float32", "float16", "longdouble", "complex128", "Sparse[float64]"], floats),
    **dict.fromkeys(["int64", "Sparse[int64]", "int64[pyarrow]"], whole),
    **dict.fromkeys(["string", "string[pyarrow]"], texts | st.none()),
    **dict.fromkeys(["datetime64[s]", "timedelta64[s]"], moments),
    "uint64": st.integers(0, 2**64 - 1),
    "int8": st.integers(-128, 127),
    "bool": st.booleans(),
    "object": texts | floats | strange,
    "str": texts,
    "Int64": whole | st.none(),
    "boolean": st.booleans() | st.none(),
    "Float64": floats | st.none(),
    "S3": st.binary(max_size=3),
    "period[D]": st.sampled_from(["2024-01-31", None]),
}
"""Types of columns, and what their cells may be."""

labels = st.sampled_from([["no", "yes"], [0, 1], [0.0, 1.0], [False, True], ["a", "a\0"], ["<b>", "=1"], [1, 2.5]])


@st.composite
def columns(draw, size):
    """A column of any type; few of its cells are different, so that there are levels."""
    kind = "object" if draw(st.booleans()) else draw(st.sampled_from(sorted(CELLS)))
    cells = draw(st.lists(CELLS[kind], min_size=1, max_size=4))
    chosen = draw(st.lists(st.integers(0, len(cells) - 1), min_size=size, max_size=size))
    try:
        column = pd.Series([cells[place] for place in chosen], dtype=np.longdouble if kind == "longdouble" else kind)
        return column.astype("category") if draw(st.integers(0, 3)) == 0 else column
    except (ValueError, TypeError, OverflowError, NotImplementedError, pyarrow.ArrowException):
        return pd.Series(chosen)


@st.composite
def tables(draw):
    """A DataFrame with columns of any type and name, most often with a column of labels."""
    size = draw(st.integers(0, 12))
    found = draw(st.lists(columns(size), min_size=0, max_size=4))
    if draw(st.integers(0, 9)):
        own = draw(labels)
        found.append(pd.Series([own[row % 2] for row in range(size)], dtype=object))
    table = pd.concat(found, axis=1) if found else pd.DataFrame(index=range(size))
    names = st.sampled_from(NAMES) | st.text(max_size=3) | st.sampled_from([0, 1, True, None, np.nan, (1, 2), 1.5])
    made = draw(
        st.lists(names, min_size=table.shape[1], max_size=table.shape[1], unique_by=draw(st.sampled_from([str, id])))
    )
    table.columns = pd.Index([*made[:-1], "y"] if found else made, dtype=object)
    if draw(st.integers(0, 9)) == 0:
        table.index = pd.Index([0] * size)
    if draw(st.integers(0, 9)) == 0:
        table.attrs["ciabench_kinds"] = draw(st.sampled_from([5, [1], {"a": "odd"}, {"a": "numeric"}, {"y": []}]))
    return table


def separated(rows, delimiter, quoting, end):
    """Text of a CSV file, by the rules or joined without any."""
    if quoting is None:
        return end.join(delimiter.join(row) for row in rows) + end
    stream = io.StringIO()
    csv.writer(stream, delimiter=delimiter, quoting=quoting, lineterminator=end).writerows(rows)
    return stream.getvalue()


@st.composite
def texts_of_tables(draw):
    """Bytes of a CSV file: ragged, quoted or not, in any encoding, perhaps cut off, changed or compressed."""
    names = [*draw(st.lists(st.sampled_from(NAMES) | texts, max_size=4)), "y"]
    pools = [draw(st.lists(texts, min_size=1, max_size=4)) for _ in names[:-1]]
    rows = [
        [*(draw(st.sampled_from(pool)) for pool in pools), ["no", "yes"][row % 2]]
        for row in range(draw(st.integers(0, 12)))
    ]
    if rows and draw(st.integers(0, 7)) == 0:
        rows[draw(st.integers(0, len(rows) - 1))] = draw(st.lists(texts, max_size=6))
    quoting = draw(st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC, None]))
    text = separated(
        [names, *rows], draw(st.sampled_from(",;\t|")), quoting, draw(st.sampled_from(["\n", "\r\n", "\r"]))
    )
    encoding = draw(
        st.sampled_from(["utf-8"] * 6 + ["utf-8-sig", "utf-16", "utf-32", "latin-1", "cp1252", "shift-jis", "utf-7"])
    )
    content = text.encode(encoding, "replace")
    change = draw(st.integers(0, 15))
    if change == 0:
        return gzip.compress(content)
    place = draw(st.integers(0, len(content)))
    return {1: content[:place], 2: content[:place] + draw(st.binary(max_size=3)) + content[place:]}.get(change, content)


@st.composite
def parquets(draw):
    """Bytes of a Parquet file: of a DataFrame or of nested columns, its metadata odd, perhaps damaged."""
    frame = draw(tables())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            arrow = pyarrow.Table.from_pandas(frame.set_axis([str(name) for name in frame.columns], axis=1))
        except (ValueError, TypeError, OverflowError, KeyError, NotImplementedError, pyarrow.ArrowException):
            arrow = pyarrow.table({"a": [[1], None, [2, 3]] * 4, "s": [{"t": 1}] * 12, "y": ["no", "yes"] * 6})
    metadata = dict(arrow.schema.metadata or {})
    known = json.loads(metadata.get(b"pandas", b"{}"))
    if known and draw(st.integers(0, 2)) == 0:
        known[draw(st.sampled_from(sorted(known)))] = draw(
            st.sampled_from([None, [], {}, 1, "a", [{}], [{"kind": "range"}]])
        )
        metadata[b"pandas"] = json.dumps(known).encode()
    metadata.update(
        draw(
            st.sampled_from(
                [{}, {}, {b"pandas": b"{"}, {b"ARROW:schema": b"odd"}, {b"PANDAS_ATTRS": b'{"ciabench_kinds": 5}'}]
            )
        )
    )
    stream = io.BytesIO()
    try:
        parquet.write_table(arrow.replace_schema_metadata(metadata), stream)
    except pyarrow.ArrowException:  # a type that Parquet lacks
        parquet.write_table(pyarrow.table({"y": ["no", "yes"] * 6}).replace_schema_metadata(metadata), stream)
    content = stream.getvalue()
    return content[: draw(st.integers(4, len(content)))] if draw(st.integers(0, 7)) == 0 else content


def check_table(table):
    """What a column is, codes, bits, fits, a world and its splits: each is there, or refused by our errors."""
    with answered():
        columns = Columns.of(as_table(table))
        target(float(sum(len(column.levels) for column in columns.columns)))
        if len(columns.columns):
            check_codes(columns, table)
    with answered():
        bits = BitEncoder().fit(table).transform(table)
        assert bits.max(initial=0) <= 1
    with answered():
        chances = LatentClass(n_classes=2, n_init=1, max_iter=5, random_state=0).fit(table).predict_proba(table)
        assert np.allclose(chances.sum(axis=1), 1)
    if "y" in table.columns and table.columns.is_unique:
        with answered():
            chances = NaiveBayes().fit(table.drop(columns="y"), table["y"]).predict_proba(table.drop(columns="y"))
            assert np.allclose(chances.sum(axis=1), 1)
        with answered():
            world = Table(table, target="y")
            assert len(world.identity["digest"]) == 64
            world.task(Seed(("any", 0))).training(5)
    with answered():
        as_meant(table, "y").frame  # noqa: B018 - made when it is asked for


def check_codes(columns, table):
    """Codes are levels or missing, numbers finite or missing; a table that is decoded has the same codes."""
    coded = columns.coded(table)
    assert (coded.codes <= coded.n_levels).all()
    assert not np.isinf(coded.numbers).any()
    again = columns.coded(columns.decoded(coded))
    assert np.array_equal(again.codes, coded.codes)
    assert np.array_equal(again.numbers, coded.numbers, equal_nan=True)
    fixed = columns.fixed(table)
    present = [place for place in range(table.shape[1]) if table.iloc[:, place].notna().any()]
    kinds, kinds_of_fixed = (list(one.kinds.values()) for one in (columns, Columns.of(fixed)))
    assert [kinds[place] for place in present] == [kinds_of_fixed[place] for place in present]


def check_table_file(content, suffix, folder):
    """A file is read and is a table as above, or is refused in one line."""
    path = Path(folder) / f"made{suffix}"
    path.write_bytes(content)
    try:
        table = read_table(path)
    except CIABenchError:
        refusal(asked("advise", path, "--target", "y", "--out", folder))
    else:
        check_table(table)


suffixes = st.sampled_from([".csv", ".tsv", ".parquet", ".csv.gz", ""])


def check_advice(content, folder):
    """The command answers with a page, or refuses in one line; nothing from the table is part of the page's code."""
    path, page = Path(folder) / "advised.csv", Path(folder) / "advised.html"
    path.write_bytes(content)
    finished = asked("advise", path, "--target", "y", "--budget", "0", "--jobs", "1", "--out", folder, "--page", page)
    if finished.returncode != 0:
        refusal(finished)
    else:
        assert "<script>alert" not in page.read_text(encoding="utf-8")
    assert "\x1b]0;" not in finished.stdout + finished.stderr
