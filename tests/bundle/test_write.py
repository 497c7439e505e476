"""Writing a bundle: whole or not at all, stopped after any step, and never over somebody's own work."""

import json
import os
import stat
from dataclasses import replace

import pytest
from plan_factory import mod, node, plan, rank, stamps

from sparkc.bundle.check import check_bundle
from sparkc.bundle.file_ops import FileOps
from sparkc.bundle.model import BundleFile
from sparkc.bundle.render import render
from sparkc.bundle.write import JOURNAL, write_bundle
from sparkc.diagnostics import Report
from sparkc.errors import SparkcError

OLD = render(plan(rank(0, world=2), rank(1, world=2), mods=(mod("gone"), mod("kept"))))
NEW = render(plan(rank(0, argv=("vllm", "serve", "other")), mods=(mod("kept"),)))
THIRD = render(plan(rank(0, world=2), rank(1, world=2, node=node(3))))


def write(files, directory, *, force=False, fs=None):
    report = Report()
    result = write_bundle(files, directory, force=force, report=report, fs=fs)
    assert (result is None) == report.failed
    return result, [diagnostic.message for diagnostic in report.diagnostics]


def differences(files, directory):
    report = Report()
    found = check_bundle(files, directory, report=report)
    return [(d.kind, d.path) for d in found] + [d.code for d in report.diagnostics]


def tree(directory):
    return {
        str(path.relative_to(directory)): (path.read_bytes(), stat.S_IMODE(path.stat().st_mode))
        for path in directory.rglob("*")
        if path.is_file()
    }


def as_tree(files):
    return {file.path: (file.data, file.mode) for file in files}


@pytest.fixture(autouse=True)
def no_disk_waits(monkeypatch):
    """Power cuts are not simulated here, and waiting for the disk some 10,000 times takes half a minute."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out/demo"


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_a_new_bundle_is_written_with_its_modes_whatever_the_umask(out, umask):
    before = os.umask(umask)
    try:
        result, messages = write(OLD, out)
    finally:
        os.umask(before)
    assert (tree(out), messages) == (as_tree(OLD), [])
    assert result.changed == tuple(file.path for file in OLD)
    assert (out.parent / ".gitattributes").read_bytes() == b"* -text\n"


def test_an_unchanged_bundle_is_not_touched(out):
    write(OLD, out)
    before = stamps(out)
    result, _ = write(OLD, out)
    assert (result.changed, result.removed, result.unchanged) == ((), (), tuple(file.path for file in OLD))
    assert stamps(out) == before


def test_only_what_changed_is_written_and_what_is_gone_is_pruned_with_its_folders(out):
    write(OLD, out)
    kept = stamps(out)[out / "rank-0-spark-1/rank.env"]
    result, _ = write(NEW, out)
    assert tree(out) == as_tree(NEW)
    assert not (out / "rank-1-spark-2").exists()
    assert stamps(out)[out / "rank-0-spark-1/rank.env"] == kept
    assert "rank-0-spark-1/rank.env" in result.unchanged
    assert "rank-1-spark-2/launch.sh" in result.removed
    assert "bundle.json" in result.changed


def test_foreign_files_are_left_alone_and_told_by_check(out):
    write(OLD, out)
    (out / "rank-1-spark-2/notes.txt").write_text("mine")
    (out / "rank-0-spark-1/.sparkc-secrets.env").write_text("TOKEN=x")
    _, messages = write(NEW, out)
    assert messages == []
    assert (out / "rank-1-spark-2/notes.txt").read_text() == "mine"
    assert (out / "rank-0-spark-1/.sparkc-secrets.env").exists()
    assert differences(NEW, out) == [("extra", "rank-1-spark-2/notes.txt")]


def test_existing_git_attributes_stay(out):
    out.parent.mkdir()
    (out.parent / ".gitattributes").write_text("mine\n")
    write(OLD, out)
    assert (out.parent / ".gitattributes").read_text() == "mine\n"


def test_hand_edits_are_all_named_and_nothing_is_touched(out):
    write(OLD, out)
    edited = ["rank-0-spark-1/launch.sh", "rank-1-spark-2/rank.env", "README.md"]
    for path in edited:
        (out / path).write_text("edited\n")
    before = tree(out)
    result, messages = write(NEW, out)
    assert result is None
    assert {message.split()[0] for message in messages} == {f"demo/{path}" for path in edited}
    assert tree(out) == before
    write(NEW, out, force=True)
    assert tree(out) == as_tree(NEW)


def test_an_edit_that_equals_the_new_text_is_no_conflict(out):
    write(OLD, out)
    for file in NEW:
        (out / file.path).parent.mkdir(parents=True, exist_ok=True)
        (out / file.path).write_bytes(file.data)
    assert write(NEW, out)[1] == []


def test_a_file_that_sparkc_did_not_write_is_not_overwritten(out):
    (out / "rank-0-spark-1").mkdir(parents=True)
    (out / "rank-0-spark-1/launch.sh").write_text("mine")
    assert write(OLD, out) == (None, ["demo/rank-0-spark-1/launch.sh was not written by sparkc"])


def test_a_lost_x_bit_is_restored_and_a_umask_of_git_is_not_a_change(out):
    write(OLD, out)
    (out / "rank-0-spark-1/launch.sh").chmod(0o600)
    (out / "rank-0-spark-1/rank.env").chmod(0o664)
    assert differences(OLD, out) == [("changed", "rank-0-spark-1/launch.sh")]
    assert write(OLD, out)[0].changed == ("rank-0-spark-1/launch.sh",)
    assert differences(OLD, out) == []


def test_a_damaged_manifest_is_refused_alone_and_replaced_by_force(out):
    write(OLD, out)
    (out / "bundle.json").write_text("<<<<<<< ours\n")
    report = Report()
    assert write_bundle(NEW, out, force=False, report=report) is None
    assert {diagnostic.span.source.name for diagnostic in report.diagnostics} == {"demo/bundle.json"}
    assert not any("launch.sh" in diagnostic.message for diagnostic in report.diagnostics)
    write(OLD, out, force=True)
    assert tree(out) == as_tree(OLD)


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"recipe_path": "recipes/other.yaml"}, "recipe recipes/demo.yaml, not from recipes/other.yaml"),
        ({"inventory_path": "lab2.yaml"}, "inventory inventory.yaml, not from lab2.yaml"),
    ],
)
def test_a_bundle_of_another_source_is_refused(out, changes, what):
    write(render(plan()), out)
    other = render(plan(**changes))
    assert write(other, out) == (None, [f"demo was made from the {what}"])
    assert write(other, out, force=True)[0] is not None


def test_an_edited_recipe_from_outside_and_a_first_inventory_are_the_same_source(out):
    outside = plan(recipe_path="demo.yaml", recipe_sha256="0" * 64, inventory_path=None)
    outside = replace(outside, inventory=replace(outside.inventory, kind="example"))
    write(render(outside), out)
    assert write(render(replace(outside, recipe_sha256="1" * 64, inventory_path="inventory.yaml")), out)[1] == []


@pytest.mark.parametrize("where", ["rank-0-spark-1", "rank-0-spark-1/launch.sh", "bundle.json", "."])
@pytest.mark.parametrize("force", [False, True])
def test_a_symlink_in_the_way_is_refused_and_not_followed(out, tmp_path, where, force):
    target = tmp_path / "elsewhere"
    target.mkdir()
    (out if where != "." else out.parent).mkdir(parents=True)
    (out / where).parent.mkdir(exist_ok=True)
    (out / where).symlink_to(target)
    result, messages = write(OLD, out, force=force)
    assert result is None
    assert "is a symlink or a special file where the bundle has a" in messages[0]
    assert list(target.iterdir()) == []


def test_a_symlinked_folder_is_not_pruned_through(out, tmp_path):
    write(OLD, out)
    (out / "rank-1-spark-2").rename(tmp_path / "elsewhere")
    (out / "rank-1-spark-2").symlink_to(tmp_path / "elsewhere")
    result, messages = write(NEW, out, force=True)
    assert result is None
    assert messages[0].startswith("demo/rank-1-spark-2 is a symlink")
    assert (tmp_path / "elsewhere/launch.sh").exists()


@pytest.mark.parametrize("where", ["rank-0-spark-1/launch.sh", "bundle.json"])
def test_a_folder_where_a_file_should_be_is_refused(out, where):
    (out / where).mkdir(parents=True)
    assert write(OLD, out, force=True) == (None, [f"demo/{where} is a directory where the bundle has a file"])


def test_a_file_where_a_folder_should_be_is_refused(out):
    out.parent.mkdir()
    out.write_text("x")
    assert write(OLD, out, force=True) == (None, ["demo is a file where the bundle has a directory"])


class Failing(FileOps):
    """The real file system, except that one kind of step fails as on a full or read-only disk."""

    def replace(self, source, target):
        raise OSError(28, "No space left on device", str(source), None, str(target))


def test_a_failing_disk_is_an_error_with_path_and_hint_and_no_traceback(out):
    with pytest.raises(SparkcError, match="No space left on device") as caught:
        write(OLD, out, fs=Failing())
    assert str(out.parent / ".gitattributes") in str(caught.value)
    assert "compile again" in str(caught.value)


def test_a_read_only_folder_is_an_error_with_path_and_hint(out):
    if os.geteuid() == 0:
        pytest.skip("root may write anywhere")
    out.parent.mkdir()
    out.parent.chmod(0o555)
    with pytest.raises(SparkcError, match="Permission denied"):
        write(OLD, out)


class Killed(BaseException):
    """The process is gone: nothing may run after it but the operating system."""


class Mortal(FileOps):
    """The real file system, until the process dies: after ``steps`` changes, the last one perhaps half done."""

    def __init__(self, steps, *, torn=False):
        self.left = steps
        self.torn = torn

    def _step(self):
        if self.left == 0:
            raise Killed
        self.left -= 1

    def make_directory(self, path):
        self._step()
        super().make_directory(path)

    def write_new(self, path, data, mode):
        if self.left == 0 and self.torn:
            path.write_bytes(data[: len(data) // 2])
        self._step()
        super().write_new(path, data, mode)

    def replace(self, source, target):
        self._step()
        super().replace(source, target)

    def set_mode(self, path, mode):
        self._step()
        super().set_mode(path, mode)

    def remove(self, path):
        self._step()
        super().remove(path)

    def remove_directory(self, path):
        self._step()
        super().remove_directory(path)

    def sync_directory(self, path):
        self._step()


def killed(files, directory, steps, *, torn=False):
    """Write until the process dies; return whether it did."""
    try:
        write(files, directory, fs=Mortal(steps, torn=torn))
    except Killed:
        return True
    return False


def assert_old_new_or_marked(directory, old, new):
    if (directory / JOURNAL).exists():
        assert "SPK605" in differences(new, directory)
        assert "SPK605" in differences(old, directory)
        return "unfinished"
    whole = {path: content for path, content in tree(directory).items() if not path.startswith(".sparkc-")}
    assert whole in (as_tree(old), as_tree(new))
    return "old" if whole == as_tree(old) else "new"


@pytest.mark.parametrize("torn", [False, True])
def test_killed_at_any_step_leaves_old_new_or_marked_and_the_next_write_finishes(tmp_path, torn):
    seen = []
    for steps in range(1000):
        out = tmp_path / f"{steps}/out/demo"
        write(OLD, out)
        died = killed(NEW, out, steps, torn=torn)
        seen.append(assert_old_new_or_marked(out, OLD, NEW))
        assert write(NEW, out)[1] == []
        assert tree(out) == as_tree(NEW)
        assert sorted(path.name for path in out.parent.iterdir()) == [".gitattributes", "demo"]
        if not died:
            break
    assert not died
    # Every outcome was met, in the only order that makes sense.
    assert list(dict.fromkeys(seen)) == ["old", "unfinished", "new"]


def test_killed_while_writing_the_first_bundle(tmp_path):
    for steps in range(1000):
        out = tmp_path / f"{steps}/out/demo"
        died = killed(OLD, out, steps, torn=True)
        # The journal is there before anything else, and until everything else is there.
        assert (out / JOURNAL).exists() or all(path.startswith(".sparkc-tmp-") for path in tree(out)) or not died
        assert write(OLD, out)[1] == []
        assert tree(out) == as_tree(OLD)
        if not died:
            break
    assert not died


def test_killed_twice_with_different_inputs_needs_no_force(tmp_path):
    """Files of the first interrupted write are still known as ours after the second one."""
    for first in range(2, 50, 8):
        for second in range(2, 50, 8):
            out = tmp_path / f"{first}-{second}/out/demo"
            write(OLD, out)
            killed(NEW, out, first)
            killed(THIRD, out, second)
            for final in (NEW, OLD):
                assert write(final, out)[1] == []
                assert tree(out) == as_tree(final)


def test_a_hand_edit_in_an_unfinished_bundle_is_still_refused(out):
    write(OLD, out)
    assert killed(NEW, out, 12)
    assert (out / JOURNAL).exists()
    (out / "rank-0-spark-1/launch.sh").write_text("edited\n")
    assert write(NEW, out) == (None, ["demo/rank-0-spark-1/launch.sh was edited by hand"])


@pytest.mark.parametrize(
    "journal",
    [
        "",
        "{",
        "[]",
        "[" * 100_000,
        '{"../../victim": ["x"]}',
        '{".": ["x"]}',
        r'{"a\u0000": ["x"]}',
        r'{"a\ud800": ["x"]}',
        '{"README.md": 1}',
        '{"README.md": [["x"]]}',
    ],
)
def test_a_damaged_journal_vouches_for_nothing_and_is_finished(out, journal):
    write(OLD, out)
    victim = out.parent.parent / "victim"
    victim.write_text("x")
    (out / JOURNAL).write_text(journal)
    assert "SPK605" in differences(OLD, out)
    assert write(OLD, out, force=True)[1] == []
    assert tree(out) == as_tree(OLD)
    assert victim.exists()


def test_the_journal_announces_old_and_new_hashes_before_anything_changes(out):
    write(OLD, out)
    before = as_tree(OLD)
    for steps in range(20):
        if killed(NEW, out, steps) and (out / JOURNAL).exists():
            break
    announced = json.loads((out / JOURNAL).read_bytes())
    assert {file.path for file in (*OLD, *NEW)} == announced.keys()
    assert {path: content for path, content in tree(out).items() if path != JOURNAL} == before


def test_two_files_with_equal_names_and_bytes_are_both_written(out):
    twins = tuple(sorted((*OLD, BundleFile("rank-0-spark-1/mods/rank.env", b"x")), key=lambda file: file.path))
    write(twins, out)
    assert tree(out) == as_tree(twins)
