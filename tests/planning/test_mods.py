from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparkc.diagnostics import Report
from sparkc.planning.mods import COUNT_LIMIT, SIZE_LIMIT, ModEntry, build_mod, check_mod_list, mod_name
from sparkc.reading.source import Source, Span
from sparkc.traced import Traced, from_file, from_flag

RECIPE = Source("recipes/r.yaml", "mods: [fix, other, fix]\n")
REFERENCE = Traced("fix", from_file(Span(RECIPE, 1, 8, 1, 11), "mods[0]"))
RUN = ModEntry("run.sh", "file", 0o644, b"#!/bin/sh\n")
YAML = ModEntry("mod.yaml", "file", 0o644, b"description: fixes it\n")


def file(path, data=b"", mode=0o644):
    return ModEntry(path, "file", mode, data)


def build(*entries, name="fix", reference=REFERENCE):
    report = Report()
    return build_mod(name, entries, reference, report), report


def complaints(report):
    return [(d.code, d.severity.value, d.message) for d in report.diagnostics]


def test_a_plain_mod_keeps_its_files_in_order_with_two_modes():
    mod, report = build(
        file("tool", b"\x00\xff", 0o710),
        file(".hidden", b"h", 0o600),
        RUN,
        YAML,
        ModEntry("d", "directory", 0o755, b""),
    )
    assert [(f.path, f.data, f.mode) for f in mod.files] == [
        (".hidden", b"h", 0o644),
        ("run.sh", b"#!/bin/sh\n", 0o755),
        ("tool", b"\x00\xff", 0o755),
    ]
    assert (mod.name, mod.reference, mod.description, mod.requires) == ("fix", REFERENCE, "fixes it", ())
    assert not mod.every_start
    assert complaints(report) == []


def test_mod_yaml_says_what_the_mod_needs():
    mod, report = build(
        RUN, file("mod.yaml", b"requires: [privileged, git]\nruns: every-start\nsupports: vLLM 0.32 and 0.33\n")
    )
    assert mod.requires == ("privileged", "git")
    assert mod.every_start
    assert complaints(report) == [("SPK509", "note", "mod 'fix' was tried with vLLM 0.32 and 0.33")]


def test_a_mod_without_mod_yaml_is_fine_and_noted():
    mod, report = build(RUN)
    assert [f.path for f in mod.files] == ["run.sh"]
    assert complaints(report) == [
        ("SPK507", "note", "mod 'fix' has no mod.yaml: nothing is known about what it does or needs")
    ]
    assert str(report.diagnostics[0].span) == "recipes/r.yaml:1:8"


def test_a_retired_mod_runs_nothing_and_needs_no_run_sh():
    mod, report = build(file("mod.yaml", b'native_since: "0.26"\n'), file("old.patch", b"x"))
    assert (mod.files, mod.native_since) == ((), "0.26")
    assert complaints(report) == [
        ("SPK508", "note", "mod 'fix' has nothing to do: the engine needs it no longer since 0.26")
    ]


@pytest.mark.parametrize(
    ("text", "code", "place"),
    [
        (b"decription: x\n", "SPK020", "mods/fix/mod.yaml:1:1"),
        (b"runs: always\n", "SPK031", "mods/fix/mod.yaml:1:7"),
        (b"requires: [root]\n", "SPK031", "mods/fix/mod.yaml:1:12"),
        (b"a: 1\na: 2\n", "SPK006", "mods/fix/mod.yaml:2:1"),
    ],
)
def test_an_invalid_mod_yaml_is_located_in_that_file(text, code, place):
    mod, report = build(RUN, file("mod.yaml", text))
    assert mod is None
    assert [(d.code, str(d.span)) for d in report.diagnostics] == [(code, place)]


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("/etc/passwd", "an absolute file name"),
        ("C:evil", "an absolute file name"),
        ("../x", "a file name that leaves the mod"),
        ("a/../../x", "a file name that leaves the mod"),
        ("a\\..\\x", "a file name with a backslash, which is a folder separator elsewhere"),
        ("a\nb", "a file name with a control character, or not UTF-8"),
        ("a\x7fb", "a file name with a control character, or not UTF-8"),
        ("a\udcffb", "a file name with a control character, or not UTF-8"),
        ("a//b", "a file name with an empty part"),
        ("./a", "a file name with an empty part"),
        ("", "a file name with an empty part"),
    ],
)
def test_unsafe_names_are_refused(path, problem):
    mod, report = build(RUN, YAML, file(path))
    assert mod is None
    assert complaints(report) == [("SPK501", "error", f"mod 'fix': {problem}: {path!r}")]


def test_links_and_special_files_are_refused():
    mod, report = build(RUN, YAML, ModEntry("l", "link", 0o777, b""), ModEntry("p", "other", 0o644, b""))
    assert mod is None
    assert complaints(report) == [
        ("SPK502", "error", "mod 'fix': 'l' is a link, and its target may lie outside the mod"),
        ("SPK502", "error", "mod 'fix': 'p' is neither a file nor a folder"),
    ]


@pytest.mark.parametrize(
    ("one", "other", "said"),
    [
        ("a", "a", "'a' stands twice"),
        ("A.txt", "a.txt", "'A.txt' and 'a.txt' are one name where case does not count"),
        ("Lib/x", "lib/y", "'Lib' and 'lib' are one name where case does not count"),
        ("caf\u00e9", "cafe\u0301", "'cafe\u0301' and 'caf\u00e9' are one name where case does not count"),
        ("a", "a/b", "'a' stands twice"),
    ],
)
def test_names_that_some_file_system_takes_for_one_are_refused(one, other, said):
    mod, report = build(RUN, YAML, file(one), file(other))
    assert mod is None
    assert complaints(report) == [("SPK503", "error", f"mod 'fix': {said}")]


def test_a_folder_and_the_files_in_it_do_not_collide():
    mod, _ = build(RUN, YAML, ModEntry("d", "directory", 0o755, b""), file("d/a"), file("d/b"))
    assert [f.path for f in mod.files] == ["d/a", "d/b", "run.sh"]


def test_run_sh_must_stand_at_the_top():
    mod, report = build(YAML, file("fix/run.sh"))
    assert mod is None
    assert complaints(report) == [("SPK504", "error", "mod 'fix' has no run.sh at its top")]
    assert report.diagnostics[0].hint == "there is a 'fix/run.sh': take the content of that folder"


def test_crlf_in_run_sh_is_refused_but_fine_elsewhere():
    mod, report = build(YAML, file("run.sh", b"#!/bin/sh\r\n"), file("data.txt", b"a\r\n"))
    assert mod is None
    assert [d.code for d in report.diagnostics] == ["SPK505"]


def test_a_mod_beyond_the_limits_is_refused():
    _, report = build(RUN, YAML, file("a", bytes(SIZE_LIMIT)))
    assert complaints(report) == [("SPK506", "error", "mod 'fix' is larger than 64 MiB or 2000 files")]
    _, report = build(RUN, YAML, *(file(f"f{n}") for n in range(COUNT_LIMIT)))
    assert [d.code for d in report.diagnostics] == ["SPK506"]


@pytest.mark.parametrize("name", ["", ".x", "-x", "a b", "a/b", "a\nb", "ü"])
def test_names_that_make_no_good_folder_are_refused(name):
    mod, report = build(RUN, YAML, name=name)
    assert mod is None
    assert "SPK500" in [d.code for d in report.diagnostics]


def test_all_problems_come_in_one_run_even_after_earlier_errors():
    report = Report()
    report.error("SPK031", "something else")
    assert build_mod("fix", [RUN, YAML], REFERENCE, report) is not None
    assert build_mod("-fix", [file("../x")], Traced("-fix", from_flag("--mod -fix")), report) is None
    assert [d.code for d in report.diagnostics] == ["SPK031", "SPK500", "SPK501", "SPK507", "SPK504"]


def test_two_mods_of_one_name_are_refused_with_both_places():
    report = Report()
    again = Traced("elsewhere/fix.zip", from_file(Span(RECIPE, 1, 20, 1, 23), "mods[2]"))
    check_mod_list([REFERENCE, Traced("other", from_flag("--mod other")), again], report)
    (diagnostic,) = report.diagnostics
    assert (diagnostic.code, str(diagnostic.span)) == ("SPK510", "recipes/r.yaml:1:20")
    assert diagnostic.message == "mod 'fix' is listed twice: both would be copied to /workspace/mods/fix"
    assert [str(r.span) for r in diagnostic.related] == ["recipes/r.yaml:1:8"]


def test_the_tools_mod_comes_first():
    tools = Traced("mods/use-official-vllm", from_flag("--mod mods/use-official-vllm"))
    report = Report()
    check_mod_list([tools, REFERENCE], report)
    assert not report.diagnostics
    check_mod_list([REFERENCE, tools], report)
    assert [(d.code, d.hint) for d in report.diagnostics] == [
        ("SPK511", "list 'mods/use-official-vllm' first under `mods:` in the recipe")
    ]


@pytest.mark.parametrize(
    ("reference", "name"), [("fix", "fix"), ("mods/fix/", "fix"), ("/a/fix.zip", "fix"), ("../fix-1.2", "fix-1.2")]
)
def test_mod_name(reference, name):
    assert mod_name(reference) == name


@given(st.lists(st.builds(ModEntry, st.text(max_size=8), st.sampled_from(["file", "link", "directory", "other"]),
                          st.integers(0, 0o7777), st.binary(max_size=4)), max_size=6))  # fmt: skip
def test_what_is_accepted_is_safe_to_write(entries):
    report = Report()
    mod = build_mod("fix", [RUN, YAML, *entries], REFERENCE, report)
    assert (mod is None) == report.failed
    for written in mod.files if mod else ():
        parts = written.path.split("/")
        assert written.path.isprintable()
        assert not {"", ".", ".."} & set(parts)
        assert "\\" not in written.path
        assert written.mode in (0o644, 0o755)
