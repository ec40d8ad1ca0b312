"""Tables in files: CSV, TSV and Parquet; what is no table is refused in one sentence."""

import csv
import io
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd

from ciabench.errors import DataError
from ciabench.files import content_of
from ciabench.world.table import Table
from ciabench.world.table_parts import shown_names

DELIMITERS = ",\t;|"
"""Characters that may separate cells; the commonest one in the first line does."""

MOST_CELLS = 2**27
"""Most cells of a Parquet file."""

MOST_TEXT = 2**30
"""Most bytes of text in a column of a Parquet file."""

GZIP = b"\x1f\x8b"
"""How compressed files begin."""

ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


class TableFile(Table):
    """A table in a file, as an experiment file names it.

    Parameters
    ----------
    path : str
        CSV or TSV file in UTF-8, or Parquet file (.parquet), relative to the current folder.
    target : str
        Column of the labels.
    groups, time, leave_out, kinds, name, test_share
        As for `Table`; the name is that of the file unless one is given.
    """

    use: ClassVar[str] = "Table"

    def __init__(
        self,
        path: str | Path | None = None,
        target: str | None = None,
        *,
        groups: str | None = None,
        time: str | None = None,
        leave_out: str | Sequence[str] = (),
        kinds: Any = None,
        name: str | None = None,
        test_share: float = 0.2,
    ) -> None:
        if not isinstance(path, str | Path) or not str(path):
            raise DataError(f"path must name a CSV, TSV or Parquet file; got {path!r}.")
        frame = read_table(path)
        if target is None:
            raise DataError(f"{path}: target, the column of the labels, is missing; there are {shown_names(frame)}.")
        options: dict[str, Any] = {"groups": groups, "time": time, "test_share": test_share}
        try:
            super().__init__(
                frame, target=target, leave_out=leave_out, kinds=kinds, name=name or _name(path, options), **options
            )
        except DataError as error:
            raise type(error)(f"{path}: {error}") from error


def _name(path: str | Path, options: dict[str, Any]) -> str:
    """Name of the file, with the options that are not the default."""
    default = {"groups": None, "time": None, "test_share": 0.2}
    shown = ", ".join(f"{key}={value}" for key, value in options.items() if value != default[key])
    return f"{file_name(path)} ({shown})" if shown else file_name(path)


def file_name(path: str | Path) -> str:
    """Name of a file as text, in which ? stands for what is not UTF-8."""
    return Path(path).name.encode(errors="replace").decode()


def read_table(path: str | Path) -> pd.DataFrame:
    r"""Read a CSV, TSV or Parquet file.

    Empty cells, and those that pandas takes for missing (NA, NaN, null, None, …), are missing.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     file = Path(folder) / "my.csv"
    ...     _ = file.write_text("age;paid\n31;yes\n;no\n")
    ...     read_table(file)["age"].tolist()
    [31.0, nan]
    """
    if ADDRESS.match(str(path)):
        raise DataError(f"{path}: is a URL; download it and give the file.")
    try:
        content = content_of(path)
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file in {Path.cwd()}.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"{path}: cannot be read; {reason}.") from error
    if content[:4] == b"PAR1" or Path(path).suffix == ".parquet":
        return _parquet(path, content)
    return _separated(path, _text(path, content))


def _parquet(path: str | Path, content: bytes) -> pd.DataFrame:
    try:
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise DataError(f"{path}: Parquet needs an extra: pip install 'ciabench[parquet]'.") from None
    try:
        described = ParquetFile(io.BytesIO(content))
        _refuse_large(path, described)
        texts = ParquetFile(io.BytesIO(content), read_dictionary=described.schema_arrow.names)
        _refuse_long(path, texts.read())
        frame = pd.read_parquet(io.BytesIO(content))
        frame = frame.reset_index(drop=frame.index.names == [None])
    except (DataError, MemoryError):
        raise
    except Exception as error:  # of any type, if what the file says of itself is odd
        raise DataError(f"{path}: is not a Parquet file that can be read.") from error
    frame.columns = pd.Index(list(map(str, frame.columns)))
    twice = frame.columns[frame.columns.duplicated()]
    if twice.size:
        raise DataError(f"{path}: has more than one column {twice[0]!r}; names must be unique.")
    return frame


def _refuse_large(path: str | Path, file: Any) -> None:
    """Raise if a table has too many cells, which a small file can have, or cells that are no text or numbers."""
    from pyarrow import types

    n_rows, n_columns = file.metadata.num_rows, file.metadata.num_columns
    if n_rows * n_columns > MOST_CELLS:
        raise DataError(f"{path}: has {n_rows} rows and {n_columns} columns, more than {MOST_CELLS} cells in all.")
    for field in file.schema_arrow:
        if types.is_nested(field.type) or types.is_fixed_size_binary(field.type):
            raise DataError(f"{path}: column {field.name!r} has the type {field.type}; cells must be text or numbers.")


def _refuse_long(path: str | Path, table: Any) -> None:
    """Raise if the texts of a table, each of which its file may hold once for many rows, take too much memory."""
    from pyarrow import compute, types

    for name, column in zip(table.column_names, table.columns, strict=True):
        if types.is_dictionary(column.type) and not types.is_primitive(column.type.value_type):
            lengths = [compute.binary_length(one.dictionary).take(one.indices) for one in column.chunks]
            size = sum(compute.sum(one).as_py() or 0 for one in lengths)
            if size > MOST_TEXT:
                raise DataError(
                    f"{path}: column {name!r} has {size} bytes of text, more than the limit of {MOST_TEXT}."
                )


def _text(path: str | Path, content: bytes) -> str:
    """Content of a text file in UTF-8."""
    if content.startswith(GZIP):
        raise DataError(f"{path}: is compressed; unpack it first, for example with gunzip.")
    if b"\0" in content:
        raise DataError(f"{path}: is not text in UTF-8; a table is a CSV or TSV file in UTF-8, or a Parquet file.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise DataError(f"{path}: is not text in UTF-8, first in line {line}; save it as CSV in UTF-8.") from None
    if not text.strip():
        raise DataError(f"{path}: is empty.")
    return text


def _separated(path: str | Path, text: str) -> pd.DataFrame:
    """Rows of a CSV or TSV file, all of the length of its first line."""
    first = text.lstrip("\r\n").partition("\n")[0]
    delimiter = max(DELIMITERS, key=first.count)
    try:
        lines = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
        header = next(line for line in lines if line)
        for cells in lines:
            if cells and len(cells) != len(header):
                raise DataError(f"{path}: line {lines.line_num} has {len(cells)} cells, and line 1 has {len(header)}.")
    except csv.Error as error:
        raise DataError(f"{path}: line {lines.line_num} is not CSV; {error}.") from error
    twice = next((name for name, count in Counter(header).items() if count > 1), None)
    if twice is not None:
        raise DataError(f"{path}: has more than one column {twice!r}; names must be unique.")
    try:
        return _values(text, delimiter)
    except (ValueError, OverflowError) as error:
        raise DataError(f"{path}: is not CSV; {error}") from error


def _values(text: str, delimiter: str) -> pd.DataFrame:
    """Values of the cells; where semicolons separate them, numbers may have a decimal comma."""

    def read(mark: str) -> pd.DataFrame:
        return pd.read_csv(io.StringIO(text), sep=delimiter, low_memory=False, index_col=False, decimal=mark)

    frame = read(".")
    texts = frame.columns[~frame.dtypes.map(pd.api.types.is_numeric_dtype)]
    if delimiter == ";" and len(texts):
        frame[texts] = read(",")[texts]
    return frame
