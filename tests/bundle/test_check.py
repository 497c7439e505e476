"""``--check``: every difference as a unified diff, and no write."""

import pytest
from plan_factory import plan, rank, stamps

from sparkc.bundle.check import check_bundle
from sparkc.bundle.file_ops import FileOps
from sparkc.bundle.model import BundleFile
from sparkc.bundle.render import render
from sparkc.diagnostics import Report
from sparkc.errors import SparkcError

FILES = (
    BundleFile("a/text", "one\ntwo\x85still two\nthree\n".encode()),
    BundleFile("b.bin", b"\xff\x00"),
    BundleFile("run.sh", b"x", 0o755),
)


@pytest.fixture
def folder(unpack):
    return unpack(FILES)


def check(folder, files=FILES):
    report = Report()
    before = stamps(folder)
    found = check_bundle(files, folder, report=report)
    assert stamps(folder) == before
    return {difference.path: (difference.kind, difference.diff) for difference in found}, report.diagnostics


def test_no_difference(folder):
    assert check(folder) == ({}, ())


def test_a_changed_line_is_shown_in_its_context(folder):
    (folder / "a/text").write_bytes(b"one\n2\nthree")
    expected = (
        "--- a/demo/a/text\n+++ b/demo/a/text\n@@ -1,3 +1,3 @@\n one\n-2\n-three\n\\ No newline at end of file\n"
        "+two\x85still two\n+three\n"
    )
    assert check(folder)[0] == {"a/text": ("changed", expected)}


def test_missing_and_extra_files_are_whole_diffs(folder):
    (folder / "run.sh").rename(folder / "a/other")
    assert check(folder)[0] == {
        "a/other": ("extra", "--- a/demo/a/other\n+++ /dev/null\n@@ -1 +0,0 @@\n-x\n\\ No newline at end of file\n"),
        "run.sh": (
            "missing",
            "--- /dev/null\n+++ b/demo/run.sh\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n",
        ),
    }


def test_binary_and_empty_files(folder):
    (folder / "b.bin").write_bytes(b"\xfe")
    (folder / "empty").write_bytes(b"")
    found, _ = check(folder)
    assert found["b.bin"] == ("changed", "--- a/demo/b.bin\n+++ b/demo/b.bin\nBinary files differ\n")
    assert found["empty"] == ("extra", "--- a/demo/empty\n+++ /dev/null\n")


def test_a_lost_x_bit_is_a_difference(folder):
    (folder / "run.sh").chmod(0o644)
    assert check(folder)[0] == {"run.sh": ("changed", "demo/run.sh is not executable, compiled it is 0755\n")}


def test_a_symlink_is_a_difference_and_is_not_followed(folder, tmp_path):
    (tmp_path / "same").write_bytes(b"x")
    (folder / "run.sh").unlink()
    (folder / "run.sh").symlink_to(tmp_path / "same")
    (folder / "loop").symlink_to(folder)
    found, _ = check(folder)
    assert found["run.sh"] == ("changed", "demo/run.sh is not a plain file\n")
    assert found["loop"][0] == "extra"


def test_our_temporary_files_are_ignored_and_the_unfinished_mark_is_refused(folder):
    (folder / "a/.sparkc-tmp-0").write_bytes(b"half")
    assert check(folder) == ({}, ())
    (folder / ".sparkc-writing").write_text("{}")
    found, diagnostics = check(folder)
    assert found == {}
    assert [(d.code, d.message) for d in diagnostics] == [
        ("SPK605", "demo is unfinished: a compile was interrupted while it was written")
    ]


def test_a_bundle_that_does_not_exist_is_all_missing(tmp_path):
    files = render(plan(rank()))
    found, _ = check(tmp_path / "demo", files)
    assert {path: kind for path, (kind, _) in found.items()} == {file.path: "missing" for file in files}


def test_an_unreadable_file_is_an_error_with_its_path(folder):
    class Unreadable(FileOps):
        def read(self, path):
            raise PermissionError(13, "Permission denied", str(path))

    with pytest.raises(SparkcError, match=r"cannot read .*demo/a/text: Permission denied"):
        check_bundle(FILES, folder, report=Report(), fs=Unreadable())
