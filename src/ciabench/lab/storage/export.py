"""Results as tables for other programs, each with what is needed to reproduce it."""

import csv
import gzip
import hashlib
import io
import json
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, Literal

from ciabench.errors import StoreError
from ciabench.files import written_whole
from ciabench.lab.storage.store import Store
from ciabench.lab.storage.view import View

Format = Literal["csv", "json", "parquet"]


def is_table(path: Path) -> bool:
    """Whether a path names an exported table that can be read, rather than a store."""
    return path.name.endswith((".csv", ".csv.gz"))


def export(store: Store, form: Format, path: Path, timings: bool = True, view: View | None = None) -> None:
    """Write a table, completely or not at all, compressed if its name ends in `.gz`.

    Its provenance is written to `<path>.json`, or into the table itself if that is JSON. Of two tables, the earlier and
    the new one, none is ever beside the provenance of the other.
    """
    beside = path.with_name(f"{path.name}.json")
    with ExitStack() as stack:
        described = None if form == "json" else stack.enter_context(written_whole(beside))
        unfinished = stack.enter_context(written_whole(path))
        if form == "parquet":
            _write_parquet(store, unfinished, timings, view)
        else:
            with _opened(unfinished, compress=path.suffix == ".gz") as stream:
                write(store, form, stream, timings, view)
        if described is not None:
            describe(described, unfinished.read_bytes(), store.provenance())
            beside.unlink(missing_ok=True)


def describe(unfinished: Path, content: bytes, provenance: dict[str, Any]) -> None:
    """Write the provenance of a table and its digest, so that readers can detect damage."""
    described = {**provenance, "sha256": hashlib.sha256(content).hexdigest()}
    unfinished.write_text(json.dumps(described, indent=2), encoding="utf-8")


@contextmanager
def _opened(unfinished: Path, *, compress: bool) -> Iterator[IO[str]]:
    """Open a text file for writing; equal rows give equal bytes, also when compressed."""
    with unfinished.open("wb") as file, ExitStack() as stack:
        plain: Any = stack.enter_context(gzip.GzipFile("", "wb", fileobj=file, mtime=0)) if compress else file
        yield stack.enter_context(io.TextIOWrapper(plain, encoding="utf-8", newline=""))


def write(store: Store, form: Format, stream: IO[str], timings: bool = True, view: View | None = None) -> None:
    """Write CSV or JSON to a stream; floats keep their last bit."""
    columns, rows = _table(store, timings, view)
    if form == "csv":
        csv.writer(stream, lineterminator="\n").writerow(columns)
        csv.writer(stream, lineterminator="\n").writerows(rows)
        return
    stream.write(f'{{"provenance": {json.dumps(store.provenance(), indent=2)},\n"rows": [')
    for position, row in enumerate(rows):
        stream.write(",\n" if position else "\n")
        stream.write(json.dumps(dict(zip(columns, row, strict=True))))
    stream.write("\n]}\n")


def _write_parquet(store: Store, unfinished: Path, timings: bool, view: View | None) -> None:
    import pandas as pd

    columns, rows = _table(store, timings, view)
    try:
        pd.DataFrame(rows, columns=columns).to_parquet(unfinished)
    except ImportError:
        raise StoreError("--to parquet needs an extra: pip install 'ciabench[parquet]'.") from None


def _table(store: Store, timings: bool, view: View | None) -> tuple[list[str], Iterator[tuple[Any, ...]]]:
    """Columns and rows; timings, the last column, may be left out."""
    view = view or store.view()
    end = None if timings else -1
    return view.columns[:end], (row[:end] for row in store.rows(view))
