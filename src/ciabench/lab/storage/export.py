"""Results as tables for other programs, each with what is needed to make it again."""

import csv
import gzip
import hashlib
import io
import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any, Literal

from ciabench.errors import StoreError
from ciabench.lab.spec import Spec
from ciabench.lab.storage.results import columns_of
from ciabench.lab.storage.store import Store
from ciabench.seeds import digest

Format = Literal["csv", "json", "parquet"]


def export(store: Store, form: Format, path: Path, timings: bool = True) -> None:
    """Write a table, whole or not at all, compressed if its name ends in `.gz`.

    What made it goes into `<path>.json`, or into the table if that is JSON.
    """
    unfinished = path.with_name(f".{path.name}.unfinished")
    try:
        if form == "parquet":
            _write_parquet(store, unfinished, timings)
        else:
            with _opened(unfinished, compress=path.suffix == ".gz") as stream:
                write(store, form, stream, timings)
        if form != "json":
            _write_beside(store, path, unfinished)
        os.replace(unfinished, path)
    except OSError as error:
        raise StoreError(f"{path}: can not be written; {error.strerror or error}.") from error
    finally:
        unfinished.unlink(missing_ok=True)


def _write_beside(store: Store, path: Path, unfinished: Path) -> None:
    """Write what made a table, and its digest, so that a reader sees damage."""
    with unfinished.open("rb") as file:
        told = {**store.provenance(), "sha256": hashlib.file_digest(file, "sha256").hexdigest()}
    path.with_name(f"{path.name}.json").write_text(json.dumps(told, indent=2), encoding="utf-8")


@contextmanager
def _opened(path: Path, *, compress: bool) -> Iterator[IO[str]]:
    """Open a text file for writing; compressed, equal rows give equal bytes as well."""
    with path.open("wb") as file, ExitStack() as stack:
        plain: Any = stack.enter_context(gzip.GzipFile("", "wb", fileobj=file, mtime=0)) if compress else file
        yield stack.enter_context(io.TextIOWrapper(plain, encoding="utf-8", newline=""))


def write(store: Store, form: Format, stream: IO[str], timings: bool = True) -> None:
    """Write CSV or JSON to a stream; floats keep their last bit."""
    rows, columns = _rows(store, timings), _columns(store, timings)
    if form == "csv":
        csv.writer(stream, lineterminator="\n").writerow(columns)
        csv.writer(stream, lineterminator="\n").writerows(rows)
        return
    stream.write(f'{{"provenance": {json.dumps(store.provenance(), indent=2)},\n"rows": [')
    for position, row in enumerate(rows):
        stream.write(",\n" if position else "\n")
        stream.write(json.dumps(dict(zip(columns, row, strict=True))))
    stream.write("\n]}\n")


def _write_parquet(store: Store, path: Path, timings: bool) -> None:
    import pandas as pd

    try:
        pd.DataFrame(_rows(store, timings), columns=_columns(store, timings)).to_parquet(path)
    except ImportError:
        raise StoreError("--to parquet needs pyarrow: pip install pyarrow.") from None


def _columns(store: Store, timings: bool) -> list[str]:
    columns = columns_of(store)
    return columns if timings else columns[:-1]


def _rows(store: Store, timings: bool) -> Iterator[tuple[Any, ...]]:
    return (row if timings else row[:-1] for row in store.rows())


def spec_of(path: Path) -> Spec:
    """Read the experiment that a store, or what lies beside an export, was made by."""
    if path.suffix != ".json":
        with Store(path) as store:
            return store.spec()
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
        told = told.get("provenance", told)
        spec: Spec = told["experiment"]
    except OSError as error:
        raise StoreError(f"{path}: can not be read; {error.strerror}.") from error
    except (ValueError, AttributeError, KeyError, TypeError, RecursionError) as error:
        raise StoreError(f"{path}: does not tell what experiment it comes from.") from error
    if "hash" in told and told["hash"] != digest([spec, told.get("result_version")]):
        raise StoreError(f"{path}: its experiment is not the one that it was written with; its hash differs.")
    return spec
