"""CSV files as they come: what is wrong with them is told by line, with options that exist."""

import gzip

import pytest


@pytest.fixture
def lake(empty, tmp_path):
    empty("init", "--data-path", str(tmp_path / "files"))
    empty("sql", "CREATE TABLE people (id BIGINT NOT NULL, name VARCHAR, born DATE)")
    return empty


@pytest.fixture
def file(tmp_path):
    def write(text, name="people.csv", encoding="utf-8"):
        path = tmp_path / name
        path.write_bytes(text.encode(encoding))
        return str(path)

    return write


def people(lake):
    found = lake.json("sql", "SELECT id, name, born FROM people ORDER BY id")["rows"]
    return [tuple(row.values()) for row in found]


def test_a_value_that_does_not_fit_is_told_with_its_line(lake, file):
    text = 'id,name,born\n1,"two\nlines",2024-01-01\n\n2,b,\nx,c,2024-01-01\n'
    said = lake("append", "people", file(text), ok=False).stderr
    assert "people.csv, line 6: column 'id': x does not fit BIGINT exactly" in said
    assert people(lake) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("id,name,born\n1,a,\n,b,\n", "line 3: column 'id' may not be null"),
        ("id,name,born\n1,a,\n2,b,soon\n", "line 3: column 'born': soon does not fit DATE"),
        ("born;id\n;1\n;1.5\n", "line 3: column 'id': 1.5 does not fit BIGINT"),
        ("id,name,born\n1,a,\n2,b\n", "line 3: the line has 2 fields, where there should be 3"),
        ("id,name\n1,a\n2,b,c\n", "line 3: the line has 3 fields, where there should be 2"),
        ("", "the file is empty"),
        ("\n\n", "the file is empty"),
    ],
)
def test_what_is_wrong_with_a_file(lake, file, text, said):
    for command in (["append"], ["merge", "--on", "id"]):
        told = lake(command[0], "people", file(text), *command[1:], ok=False).stderr
        assert said in told
        assert "people.csv" in told
        assert told.count("\n") <= 2
    assert people(lake) == []


def test_a_line_that_breaks_the_form_far_down(lake, file):
    lines = "".join(f"{n},x,\n" for n in range(30_000))
    said = lake("append", "people", file(f"id,name,born\n{lines}1\n"), ok=False).stderr
    assert "people.csv, line 30002: the line has 1 fields, where there should be 3" in said
    assert "strict_mode" not in said


def test_the_file_is_named_where_there_are_several(lake, file, tmp_path):
    file("id,name\n1,a\n", "a.csv")
    file("id,name\n2,b\nx,c\n", "b.csv")
    said = lake("append", "people", str(tmp_path / "*.csv"), ok=False).stderr
    assert "b.csv, line 3: column 'id': x does not fit" in said


def test_a_compressed_file_has_lines_too(lake, tmp_path):
    path = tmp_path / "people.csv.gz"
    path.write_bytes(gzip.compress(b"id,name\n1,a\n1.5,b\n"))
    assert "line 3: column 'id'" in lake("append", "people", str(path), ok=False).stderr


def test_other_encodings(lake, file):
    path = file("id,name\n1,caf\u00e9\n", encoding="latin-1")
    said = lake("append", "people", path, ok=False).stderr
    assert "line 2: the text is not UTF-8" in said
    assert "--encoding latin-1" in said
    lake("append", "people", path, "--encoding", "Latin1")
    lake("append", "people", file("id,name\n2,\u2603\n", encoding="utf-16"), "--encoding", "utf-16")
    assert people(lake) == [(1, "caf\u00e9", None), (2, "\u2603", None)]
    refused = lake("append", "people", path, "--encoding", "ebcdic", ok=False).stderr
    assert "latin-1" in refused


def test_other_forms(lake, file):
    lake("append", "people", file("id:name\n1:a\n"), "--delimiter", ":")
    lake("append", "people", file("id\tname\n2\ta,b\n"), "--delimiter", "\\t")
    lake("append", "people", file("id,name,born\n3,NA,NA\n4,,\n"), "--null", "NA")
    lake("append", "people", file("5,e,2024-01-01\n"), "--no-header")
    lake("merge", "people", file("1,z,\n"), "--on", "id", "--no-header")
    assert people(lake) == [
        *[(1, "z", None), (2, "a,b", None), (3, None, None), (4, None, None)],
        (5, "e", "2024-01-01"),
    ]
    two = lake("append", "people", file("1,2\n"), "--no-header", ok=False).stderr
    assert "lines have 2 fields, and the table has 3 columns" in two
    assert "one sign" in lake("append", "people", "x.csv", "--delimiter", "::", ok=False).stderr


@pytest.mark.parametrize("words", [[], ["--no-header"]])
def test_a_table_from_a_file_without_a_header(lake, file, words):
    lake("append", "new", file("1,2\n3,4\n"), "--create", *words)
    rows = lake.json("scan", "new")["rows"]
    assert rows == [{"column0": 1, "column1": 2}, {"column0": 3, "column1": 4}]
    lake("append", "new", file("5,6\n"), "--no-header")
    assert lake.json("count", "new")["rows"] == 3


def test_a_table_from_a_file_in_another_form(lake, file):
    text = "id:caf\u00e9\n1:NA\n"
    words = ["--delimiter", ":", "--encoding", "latin-1", "--null", "NA"]
    lake("append", "new", file(text, encoding="latin-1"), "--create", *words)
    assert lake.json("scan", "new")["rows"] == [{"id": 1, "caf\u00e9": None}]


@pytest.mark.parametrize("text", ["", "id,name,when\n1,a,2024-01-01\n2,b\n3,c,d,e\n"])
def test_no_table_is_made_of_a_broken_file(lake, file, text):
    lake("append", "new", file(text), "--create", ok=False)
    assert [each["name"] for each in lake.json("tables")["tables"]] == ["main.people"]


def test_standard_input_is_called_so(lake):
    said = lake("append", "people", "-", input='{"id": "x"}\n', ok=False).stderr
    assert "main.people from standard input: row 1: column 'id'" in said
    said = lake("append", "people", "-", input="{no json\n", ok=False).stderr
    assert "standard input" in said
    assert "tidelake-scratch" not in said
