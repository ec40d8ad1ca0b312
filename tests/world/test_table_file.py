import warnings

import numpy as np
import pandas as pd
import pytest

from ciabench import Table
from ciabench.errors import DataError, TableWarning
from ciabench.lab.plan.worlds import make_world
from ciabench.seeds import Seed

ROWS = "age,town,y\n" + "31.5,Bath,a\n,York,b\n44,,c\n" * 5


@pytest.fixture
def written(tmp_path, monkeypatch):
    """Write files in the current folder."""
    monkeypatch.chdir(tmp_path)

    def write(name, content):
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return name

    return write


def test_the_same_content_is_the_same_world_in_any_format(written, tmp_path):
    files = [
        written("my.csv", ROWS),
        written("other name.csv", "\ufeff" + ROWS.replace("\n", "\r\n")),
        written("my.tsv", ROWS.replace(",", "\t")),
        written("semicolons.csv", ROWS.replace(",", ";")),
    ]
    frame = pd.read_csv(tmp_path / "my.csv")
    frame.to_parquet(tmp_path / "my.parquet")
    worlds = [Table.from_file(file, target="y") for file in (*files, "my.parquet", tmp_path / "my.csv")]
    worlds += [Table(frame, target="y"), make_world("Table", {"path": "my.csv", "target": "y"})]
    assert len({str(world.identity) for world in worlds}) == 1
    assert worlds[0].name == "my.csv"
    first = [world.task(Seed((0,))).training(9) for world in worlds]
    for X, y in first:
        pd.testing.assert_frame_equal(X, first[0][0])
        assert y.tolist() == first[0][1].tolist()


def test_between_semicolons_a_number_may_have_a_decimal_comma(written):
    rows = "age;weight;town;y\n31.5;70,5;1,5 km;a\n44.0;;x;b\n50;81;x;a\n50;60,25;x;b\n"
    columns = Table.from_file(written("my.csv", rows), target="y").attributes
    assert columns["weight"].tolist() == pytest.approx([70.5, np.nan, 81, 60.25], nan_ok=True)
    assert columns["age"].tolist() == [31.5, 44, 50, 50]
    assert columns["town"].tolist() == ["1,5 km", "x", "x", "x"]


def test_a_changed_file_is_another_world_of_the_same_name(written):
    before = Table.from_file(written("my.csv", ROWS), target="y")
    after = Table.from_file(written("my.csv", ROWS.replace("44,", "45,", 1)), target="y")
    assert before.name == after.name
    assert before.identity != after.identity


def test_the_name_says_what_is_not_the_default(written):
    written("my.csv", ROWS)
    assert Table.from_file("my.csv", target="y", test_share=0.4).name == "my.csv (test_share=0.4)"
    assert Table.from_file("my.csv", target="y", test_share=0.4, name="mine").name == "mine"


def test_missing_labels_in_a_file_are_left_out_and_whole_numbers_stay_whole(written):
    text = "age,y\n" + "1,0\n2,1\n3,2\n" * 5 + "7,\n"
    with pytest.warns(TableWarning, match=r"^my\.csv: 1 of 16 rows are left out: the target 'y' is missing there\.$"):
        world = Table.from_file(written("my.csv", text), target="y")
    assert world.task(Seed((0,))).classes.tolist() == [0, 1, 2]


BAD = {
    "empty": ("", "bad.csv: is empty."),
    "header only": ("age,y\n", "bad.csv: there are no rows."),
    "one row": ("age,y\n1,a\n", "bad.csv: the target 'y' has one class only, 'a'; two are needed, with two rows each."),
    "one class": ("age,y\n1,a\n2,a\n", "bad.csv: the target 'y' has one class only, 'a'"),
    "no label": ("age,y\n1,\n2,\n", "bad.csv: the target 'y' has no labels."),
    "no such column": ("age,z\n1,a\n", "bad.csv: there is no column 'y'; there are age, z."),
    "only the target": ("y\na\nb\na\nb\na\nb\n", "bad.csv: there is no column beside the target."),
    "binary": (bytes(range(256)), "bad.csv: is not text in UTF-8; a table is a CSV or TSV file in UTF-8, or a Parquet"),
    "UTF-16": ("age,y\n1,a\n".encode("utf-16"), "bad.csv: is not text in UTF-8; a table is"),
    "Latin-1": ("age,y\n1,a\n2,é\n".encode("latin-1"), "bad.csv: is not text in UTF-8, first in line 3; save it as"),
    "ragged": ("age,y\n1,a\n2\n", "bad.csv: line 3 has 1 cells, and line 1 has 2."),
    "too long": ("age,y\n1,a,b\n", "bad.csv: line 2 has 3 cells, and line 1 has 2."),
    "open quote": ('age,y\n1,"a\n', "bad.csv: line 2 is not CSV; unexpected end of data."),
    "twice": ("age,y,age\n1,a,2\n", "bad.csv: has more than one column 'age'; names must be unique."),
    "dates": ("day,y\n" + "2024-01-01,a\n2024-02-01,b\n" * 5, "bad.csv: column 'day' has dates; leave it out"),
    "numbers": ("age,y\n" + "".join(f"1,{k / 7}\n" for k in range(30)), "bad.csv: the target 'y' has 30 different num"),
    "infinite": ("age,y\n" + "inf,a\n1,b\n" * 9, "bad.csv: column 'age' has inf in row 0; numbers must be finite"),
    "no Parquet": (b"PAR1junk", "bad.csv: is not a Parquet file that can be read."),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_no_table_is_refused_in_one_line(written, case):
    content, message = BAD[case]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TableWarning)
        with pytest.raises(DataError) as caught:
            Table.from_file(written("bad.csv", content), target="y")
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("path", "message"), [
    ("none.csv", "none.csv: there is no such file in "),
    ("https://example.org/my.csv", "https://example.org/my.csv: is a URL; download it and give the file."),
    (".", ".: cannot be read; Is a directory."),
    ("", "path must name a CSV, TSV or Parquet file; got ''."),
    (3, "path must name a CSV, TSV or Parquet file; got 3."),
])  # fmt: skip
def test_paths_that_are_no_files_are_refused_in_one_line(written, path, message):
    with pytest.raises(DataError) as caught:
        make_world("Table", {"path": path, "target": "y"})
    assert str(caught.value).startswith(message)


def test_a_file_without_a_target_says_which_columns_there_are(written):
    written("my.csv", ROWS)
    with pytest.raises(DataError, match=r"^my\.csv: target, the column of the labels, is missing; there are age"):
        make_world("Table", {"path": "my.csv"})


def test_a_file_in_many_columns_is_split_by_label(written):
    text = "".join(f"{k},{'ab'[k % 2]}\n" for k in np.arange(100))
    world = Table.from_file(written("my.csv", "n,y\n" + text), target="y", kinds="categorical")
    assert world.task(Seed((0,))).judge.constant == 0.5
