"""Nothing outside out/<name> is written, whatever names and mods say; what cannot be written is said."""

import os
import shutil
import stat
import subprocess
import time
import zipfile
from pathlib import Path

import pytest
from system_tools import NOBODY, RECIPE, ProjectFolder, as_nobody, compiled, inventory, tree

from sparkc.errors import SparkcError


@pytest.mark.parametrize("name", ["../../x", "/etc/x", "a/../../b", "~root", "x\ny", "$(id)", "-rf"])
def test_a_name_stays_one_folder_below_out(name, demo):
    before = tree(demo.root)
    done = demo.sparkc("compile", "demo", f"--name={name}")
    created = tree(demo.root).keys() - before.keys()
    assert done.returncode == 0
    assert {path.split("/")[0] for path in created} == {"out"}
    folders = [path.name for path in demo.out.iterdir() if path.is_dir()]
    assert len(folders) == 1
    assert all(char.isalnum() or char in "-_" for char in folders[0])
    assert not folders[0].startswith("-")


@pytest.mark.parametrize("name", ["", ".", "..", "/", "--"])
def test_a_name_without_a_letter_or_digit_is_refused(name, demo):
    before = tree(demo.root)
    done = demo.sparkc("compile", "demo", f"--name={name}")
    assert (done.returncode, tree(demo.root)) == (2, before)


@pytest.mark.parametrize("name", ["../../x", "..", "a/b", "x y", "'$(id)'", "", "é"])
def test_a_recipe_s_name_is_one_plain_word(name, demo):
    demo.write("recipes/bad.yaml", RECIPE.replace("name: demo", f"name: {name or chr(39) * 2}"))
    done = demo.sparkc("compile", "bad")
    assert done.returncode == 1
    assert "recipes/bad.yaml:2:7: error[SPK032]" in done.stderr
    assert not demo.out.exists()


@pytest.mark.parametrize("name", ["../x", "a/b", ".", "..", "'a b'", "$(id)", "", "-x", "é", "'a\\nb'"])
def test_a_node_s_name_is_one_plain_word(name, demo):
    demo.write("inventory.yaml", inventory(2).replace("name: spark-2", f"name: {name or chr(39) * 2}"))
    errors = demo.compile("recipes/demo.yaml").errors
    assert errors
    assert all(error.span.source.name == "inventory.yaml" and error.span.line == 7 for error in errors)


def test_node_names_that_differ_by_case_share_no_folder(demo):
    text = inventory(2).replace("name: spark-2", "name: Spark-1")
    demo.write("inventory.yaml", text)
    assert [error.code for error in demo.compile("recipes/demo.yaml").errors] == ["SPK204"]


def test_a_linked_bundle_folder_or_file_is_not_followed(demo, tmp_path):
    compiled(demo)
    target = tmp_path / "precious"
    target.mkdir()
    (target / "launch.sh").write_text("mine\n")
    shutil.rmtree(demo.out / "demo/rank-0-spark-1")
    (demo.out / "demo/rank-0-spark-1").symlink_to(target)
    for force in ((), ("--force",)):
        done = demo.sparkc("compile", "demo", *force)
        assert (done.returncode, "SPK603" in done.stderr) == (1, True)
        assert "demo/rank-0-spark-1 is a symlink" in done.stderr
        assert tree(target) == {"launch.sh": b"mine\n"}
    (demo.out / "demo/rank-0-spark-1").unlink()
    compiled(demo)
    (demo.out / "demo/README.md").unlink()
    (demo.out / "demo/README.md").symlink_to(target / "launch.sh")
    assert demo.sparkc("compile", "demo").returncode == 1
    shutil.rmtree(demo.out / "demo")
    (demo.out / "demo").symlink_to(target)
    assert demo.sparkc("compile", "demo", "--force").returncode == 1
    assert tree(target) == {"launch.sh": b"mine\n"}


def test_out_may_be_a_link_that_its_owner_made(demo, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    demo.out.symlink_to(tmp_path / "elsewhere")
    assert "demo/bundle.json" in compiled(demo)
    assert demo.sparkc("compile", "--check").returncode == 0


def test_an_out_that_cannot_be_written_is_said_and_nothing_is_lost(demo):
    demo.write("out", "a file\n")
    done = demo.sparkc("compile", "demo")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("cannot write")
    assert (demo.root / "out").read_text() == "a file\n"


def test_another_user_s_out_is_said():
    found = as_nobody()
    if found is None:
        pytest.skip("not root, or no Python here that user nobody can run")
    python, env = found
    root = Path(f"/tmp/sparkc-safety-{os.getpid()}-{time.monotonic_ns()}")  # pytest's own folders are private
    try:
        project = ProjectFolder(root)
        project.write("inventory.yaml", inventory())
        project.write("recipes/demo.yaml", RECIPE)
        before = compiled(project)
        project.write("recipes/demo.yaml", RECIPE.replace("4096", "8192"))
        done = subprocess.run(
            [python, "-m", "sparkc", "compile", "demo"],
            cwd=root,
            env=env,
            user=NOBODY,
            capture_output=True,
            check=False,
        )
        assert (done.returncode, done.stdout) == (1, b"")
        assert b"Permission denied" in done.stderr
        assert b"help: " in done.stderr
        assert tree(project.out) == before
    finally:
        shutil.rmtree(root, ignore_errors=True)


def zipped(path, entries):
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, mode in entries:
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16
            archive.writestr(info, "#!/bin/sh\n" if name == "run.sh" else "target")


@pytest.mark.parametrize(
    ("entry", "mode", "code"),
    [
        ("../evil", 0o100644, "SPK501"),
        ("a/../../evil", 0o100644, "SPK501"),
        ("/evil", 0o100644, "SPK501"),
        ("a\\..\\evil", 0o100644, "SPK501"),
        ("a\nb", 0o100644, "SPK501"),
        ("link", stat.S_IFLNK | 0o777, "SPK502"),
        ("device", stat.S_IFCHR | 0o600, "SPK502"),
        ("RUN.sh", 0o100755, "SPK503"),
    ],
)
def test_a_zip_mod_cannot_leave_its_folder(entry, mode, code, demo):
    shutil.rmtree(demo.root / "mods/first")
    zipped(demo.root / "mods/first.zip", [("run.sh", 0o100755), (entry, mode)])
    before = tree(demo.root)
    outcome = demo.compile("recipes/demo.yaml")
    assert code in [error.code for error in outcome.errors]
    assert demo.sparkc("compile", "demo").returncode == 1
    assert tree(demo.root) == before


def test_a_folder_mod_with_a_link_is_refused(demo):
    (demo.root / "mods/first/passwd").symlink_to("/etc/passwd")
    assert [error.code for error in demo.compile("recipes/demo.yaml").errors] == ["SPK502"]


def test_two_volumes_on_one_target_are_refused(demo):
    for volumes in (("/a:/x", "/b:/x"), ("/a:/x", "/b:/x/"), ("/a:/x", "/b:/./x:ro")):
        assert [error.code for error in demo.compile("recipes/demo.yaml", volumes=volumes).errors] == ["SPK341"]


def test_refusals_are_errors_of_one_kind(demo):
    with pytest.raises(SparkcError):
        demo.compile("recipes/none.yaml")


NOT_UTF8 = os.fsdecode(b"\xff")


@pytest.mark.parametrize(
    "arguments",
    [("-e", f"X={NOT_UTF8}"), ("-v", f"/{NOT_UTF8}:/x"), ("--image", f"x{NOT_UTF8}"), ("--", NOT_UTF8)],
    ids=lambda arguments: arguments[0],
)
def test_an_argument_that_is_not_utf_8_is_refused(arguments, demo):
    assert demo.sparkc("compile", "demo", *arguments).returncode in (1, 2)


def test_a_file_name_that_is_not_utf_8_is_refused(demo):
    demo.write(f"recipes/{NOT_UTF8}.yaml", RECIPE)
    assert demo.sparkc("compile", f"recipes/{NOT_UTF8}.yaml").returncode == 2
    assert demo.sparkc("check", "recipes").returncode == 1
    assert demo.sparkc("list").returncode == 0


def test_equal_items_do_not_make_a_file_that_compose_refuses(demo):
    demo.write("recipes/twice.yaml", RECIPE + "container: {security_opt: [a=b, a=b]}\n")
    if not demo.compile("recipes/twice.yaml").errors:
        assert demo.sparkc("compile", "twice", "--verify").returncode == 0
