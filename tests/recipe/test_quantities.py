import pytest

from sparkc.diagnostics import Report
from sparkc.reading.fields import Fields
from sparkc.reading.read import read_document
from sparkc.recipe.quantities import read_duration, read_size


def read(reader, text):
    report = Report()
    document = read_document("recipe.yaml", f"key: {text}\n".encode(), report)
    value = reader(Fields(document.root, "", report), "key")
    return value.value if value is not None else None, [d.code for d in report.diagnostics]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("900", 900),
        ('"900"', 900),
        ("90s", 90),
        ("30m", 1800),
        ("1h30m", 5400),
        ("0.5h", 1800),
        ("1d", 86400),
        ("1d2h3m4s", 93784),
    ],
)
def test_times(text, seconds):
    assert read(read_duration, text) == (seconds, [])


@pytest.mark.parametrize(
    "text", ["0", "0s", "0.2s", "-5", "PT5M", "30 m", "30M", "m", "''", "5m1h", "1e3", "12345678", "30m\n\n"]
)
def test_what_is_no_time(text):
    value, codes = read(read_duration, text if text != "30m\n\n" else '"30m\\n"')
    assert (value, codes) == (None, ["SPK154"])


@pytest.mark.parametrize("text", ["64gb", "108G", "1.5g", "512mb", "100k", "4096b", "115964116992"])
def test_sizes_stay_as_typed(text):
    assert read(read_size, text) == (text, [])


@pytest.mark.parametrize("text", ["1e9", "64 gb", "64gib", "64tb", "-1", "0", "gb", "''", "64gb;"])
def test_what_is_no_size(text):
    assert read(read_size, text) == (None, ["SPK155"])


def test_absent_is_no_error():
    assert read(read_duration, "") == (None, [])
    assert read(read_size, "null") == (None, [])
