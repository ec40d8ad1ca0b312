"""Tables in files: CSV, TSV and Parquet; what is no table is refused in one sentence."""

import csv
import io
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import pandas as pd

from ciabench.errors import DataError
from ciabench.world.table import Table
from ciabench.world.table_parts import shown_names

DELIMITERS = ",\t;|"
"""Characters that may separate cells; the commonest one in the first line does."""

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
    return f"{Path(path).name} ({shown})" if shown else Path(path).name


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
        content = Path(path).read_bytes()
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
        frame = pd.read_parquet(io.BytesIO(content))
    except ImportError:
        raise DataError(f"{path}: Parquet needs an extra: pip install 'ciabench[parquet]'.") from None
    except (OSError, ValueError) as error:
        raise DataError(f"{path}: is not a Parquet file that can be read.") from error
    return frame.reset_index(drop=frame.index.names == [None])


def _text(path: str | Path, content: bytes) -> str:
    """Content of a text file in UTF-8."""
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
    twice = next((name for name in header if header.count(name) > 1), None)
    if twice is not None:
        raise DataError(f"{path}: has more than one column {twice!r}; names must be unique.")
    return _values(text, delimiter)


def _values(text: str, delimiter: str) -> pd.DataFrame:
    """Values of the cells; where semicolons separate them, numbers may have a decimal comma."""

    def read(mark: str) -> pd.DataFrame:
        return pd.read_csv(io.StringIO(text), sep=delimiter, low_memory=False, index_col=False, decimal=mark)

    frame = read(".")
    texts = frame.columns[~frame.dtypes.map(pd.api.types.is_numeric_dtype)]
    if delimiter == ";" and len(texts):
        frame[texts] = read(",")[texts]
    return frame
