from __future__ import annotations

import os
import shutil
import stat
import zipfile
from pathlib import Path

import pytest

from sparkc import resources
from sparkc.cli.mods_on_disk import find_mod, load_mods, read_mod_entries
from sparkc.diagnostics import Report
from sparkc.errors import SparkcError
from sparkc.planning.mods import COUNT_LIMIT, SIZE_LIMIT, build_mod
from sparkc.reading.source import Source, Span
from sparkc.traced import Traced, from_file, from_flag


def make_mod(folder, description="does it"):
    folder.mkdir(parents=True)
    (folder / "run.sh").write_text("#!/bin/sh\n")
    (folder / "run.sh").chmod(0o755)
    (folder / "mod.yaml").write_text(f"description: {description}\n")
    return folder


def pack(path, *members):
    """Write a zip; mode 0 stands for one that was packed on Windows, which keeps no Unix mode."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, mode, data in members:
            info = zipfile.ZipInfo(name)
            info.external_attr = mode << 16 | 0x20
            archive.writestr(info, data, zipfile.ZIP_DEFLATED)
    return path


def shape(entries):
    return [(e.path, e.kind, e.mode, e.data) for e in entries]


def find(reference, project, recipe_folder=None, *, foreign=False):
    return find_mod(reference, recipe_folder=recipe_folder, project=project, foreign=foreign)


def load(project, *references, recipe_folder=None, foreign=False):
    report = Report()
    mods = load_mods(
        [Traced(r, from_flag(f"--mod {r}")) for r in references],
        recipe_folder=recipe_folder,
        project=project,
        foreign=foreign,
        report=report,
    )
    return mods, report


def test_a_folder_is_read_in_order_with_modes_and_links_unfollowed(tmp_path):
    mod = make_mod(tmp_path / "fix")
    (mod / "sub").mkdir(mode=0o755)
    (mod / "sub" / ".dot").write_bytes(b"\x00")
    (mod / "sub" / ".dot").chmod(0o600)
    (mod / "out").symlink_to("/etc")
    (mod / "Z").symlink_to("run.sh")
    assert shape(read_mod_entries(mod)) == [
        ("Z", "link", 0o777, b""),
        ("mod.yaml", "file", stat.S_IMODE((mod / "mod.yaml").stat().st_mode), b"description: does it\n"),
        ("out", "link", 0o777, b""),
        ("run.sh", "file", 0o755, b"#!/bin/sh\n"),
        ("sub", "directory", 0o755, b""),
        ("sub/.dot", "file", 0o600, b"\x00"),
    ]


def test_a_pipe_is_not_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe", 0o600)
    assert shape(read_mod_entries(tmp_path)) == [("pipe", "other", 0o600, b"")]


def test_by_products_of_git_and_python_are_left_out(tmp_path):
    mod = make_mod(tmp_path / "fix")
    for name in (".git", "__pycache__", "sub/__pycache__"):
        (mod / name).mkdir(parents=True)
        (mod / name / "x").write_text("x")
    (mod / ".DS_Store").write_text("x")
    (mod / ".gitignore").write_text("x")
    assert [e.path for e in read_mod_entries(mod)] == [".gitignore", "mod.yaml", "run.sh", "sub"]


def test_a_zip_reads_like_the_folder_it_was_made_of(tmp_path):
    path = pack(
        tmp_path / "fix.zip",
        ("run.sh", stat.S_IFREG | 0o755, "#!/bin/sh\n"),
        ("./sub/", stat.S_IFDIR | 0o755, ""),
        ("sub/a", 0, "a"),
        ("l", stat.S_IFLNK | 0o777, "/etc/passwd"),
        ("__pycache__/x.pyc", 0, "x"),
    )
    assert shape(read_mod_entries(path)) == [
        ("l", "link", 0o777, b""),
        ("run.sh", "file", 0o755, b"#!/bin/sh\n"),
        ("sub", "directory", 0o755, b""),
        ("sub/a", "file", 0, b"a"),
    ]


@pytest.mark.parametrize("name", ["../x", "/abs", "C:\\x", "a\\..\\b"])
def test_hostile_names_in_a_zip_reach_the_check_as_they_are(tmp_path, name):
    entries = read_mod_entries(pack(tmp_path / "fix.zip", ("run.sh", 0, ""), (name, 0, "x")))
    report = Report()
    assert build_mod("fix", entries, Traced("fix", from_flag("--mod fix")), report) is None
    assert [d.code for d in report.diagnostics if d.code == "SPK501"] == ["SPK501"]


def test_a_zip_bomb_is_read_to_the_limit_only(tmp_path):
    path = pack(tmp_path / "bomb.zip", ("run.sh", 0, ""), ("a", 0, bytes(SIZE_LIMIT * 2)), ("b", 0, b"bbb"))
    assert path.stat().st_size < SIZE_LIMIT / 100
    entries = read_mod_entries(path)
    assert sum(len(e.data) for e in entries) == SIZE_LIMIT + 1
    report = Report()
    build_mod("bomb", entries, Traced("bomb", from_flag("--mod bomb")), report)
    assert "SPK506" in [d.code for d in report.diagnostics]


def test_reading_stops_after_too_many_files(tmp_path):
    path = pack(tmp_path / "many.zip", *((f"f{n}", 0, "") for n in range(COUNT_LIMIT + 50)))
    assert len(read_mod_entries(path)) == COUNT_LIMIT + 1


@pytest.mark.parametrize("data", [b"", b"not a zip", b"PK\x03\x04 broken"])
def test_what_is_no_zip_is_an_error_of_the_world(tmp_path, data):
    (tmp_path / "fix.zip").write_bytes(data)
    with pytest.raises(SparkcError, match=r"cannot read the mod fix\.zip"):
        read_mod_entries(tmp_path / "fix.zip")


def test_a_damaged_member_is_an_error_of_the_world(tmp_path):
    path = pack(tmp_path / "fix.zip", ("run.sh", 0, "x" * 500))
    data = bytearray(path.read_bytes())
    data[45] ^= 0xFF
    path.write_bytes(data)
    with pytest.raises(SparkcError, match=r"cannot read the mod fix\.zip"):
        read_mod_entries(path)


def test_a_file_that_cannot_be_opened_is_named(tmp_path, monkeypatch):
    mod = make_mod(tmp_path / "fix")

    def refuse(path, *_):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", refuse)  # root may read everything, so no mode would do
    with pytest.raises(SparkcError) as caught:
        read_mod_entries(mod)
    assert caught.value.message == f"cannot read {mod}/mod.yaml: Permission denied"


def test_the_recipes_folder_wins_then_the_project_then_ours(tmp_path):
    project, recipes = tmp_path / "p", tmp_path / "r"
    project.mkdir()
    recipes.mkdir()
    assert find("drop-caches", project, recipes) == resources.folder("mods") / "drop-caches"
    in_project = make_mod(project / "mods" / "drop-caches")
    assert find("drop-caches", project, recipes) == in_project
    beside = make_mod(recipes / "drop-caches")
    assert find("drop-caches", project, recipes) == beside
    assert find(str(in_project), project, recipes) == in_project


def test_mods_slash_x_means_x_only_in_foreign_recipes(tmp_path):
    mod = make_mod(tmp_path / "mods" / "fix")
    assert find("mods/fix", tmp_path, foreign=True) == mod
    assert find("mods/fix", tmp_path) == ("fix",)
    assert find("mods/fix", tmp_path, tmp_path) == mod


def test_a_zip_is_found_by_both_names(tmp_path):
    (tmp_path / "mods").mkdir()
    path = pack(tmp_path / "mods" / "fix.zip", ("run.sh", 0, "#!/bin/sh\n"))
    assert find("fix", tmp_path) == find("fix.zip", tmp_path) == path
    mods, report = load(tmp_path, "fix.zip")
    assert [(m.name, [f.path for f in m.files]) for m in mods] == [("fix", ["run.sh"])]
    assert not report.failed


@pytest.mark.parametrize("reference", ["", "nothing-like-it", "a\0b", "x" * 5000])
def test_a_missing_mod_without_near_names(tmp_path, reference):
    assert find(reference, tmp_path) == ()


def test_a_missing_mod_is_reported_with_near_names(tmp_path):
    make_mod(tmp_path / "mods" / "zigzag-0.5")
    mods, report = load(tmp_path, "zigzag-05")
    assert [mod.name for mod in mods] == ["zigzag-05"]
    assert [(d.code, d.message, d.hint) for d in report.diagnostics] == [
        (
            "SPK512",
            "there is no mod 'zigzag-05'",
            "did you mean 'zigzag-0.5'? put its folder, or its zip, into the project's mods/",
        )
    ]


@pytest.mark.parametrize("folder", ["recipes", "recipes/4x-spark"])
@pytest.mark.parametrize("shelf", [True, False])
def test_a_mod_of_the_recipes_own_repository_is_a_command_away(tmp_path, monkeypatch, folder, shelf):
    project = tmp_path / "my project"
    (project / "mods" if shelf else project).mkdir(parents=True)
    make_mod(tmp_path / "svd/mods/fix")
    monkeypatch.chdir(tmp_path)
    _, report = load(project, "mods/fix", recipe_folder=Path("svd") / folder, foreign=True)
    make = "" if shelf else "mkdir -p 'my project/mods' && "
    assert [(d.code, d.hint) for d in report.diagnostics] == [
        ("SPK512", f"{make}cp -r svd/mods/fix 'my project/mods/'"),
    ]


def test_what_is_missing_is_not_said_to_be_twice(tmp_path):
    make_mod(tmp_path / "mods" / "use-official-vllm")
    _, report = load(tmp_path, "gone", "gone/", "drop-caches", "use-official-vllm")
    assert [d.code for d in report.diagnostics] == ["SPK511", "SPK512", "SPK512"]


def test_a_users_mod_that_replaces_ours_is_noted(tmp_path):
    make_mod(tmp_path / "mods" / "drop-caches", "mine")
    mods, report = load(tmp_path, "drop-caches")
    assert [m.description for m in mods] == ["mine"]
    assert [(d.code, d.message) for d in report.diagnostics] == [
        ("SPK513", "mod 'drop-caches' is the one from mods/drop-caches, not sparkc's own")
    ]


def test_mods_keep_their_order_and_the_list_is_checked(tmp_path):
    make_mod(tmp_path / "mods" / "a")
    make_mod(tmp_path / "mods" / "use-official-vllm")
    mods, report = load(tmp_path, "drop-caches", "a", "use-official-vllm")
    assert [m.name for m in mods] == ["drop-caches", "a", "use-official-vllm"]
    assert [d.code for d in report.diagnostics] == ["SPK511"]


def test_the_same_folder_elsewhere_gives_the_same_mod(tmp_path):
    one = make_mod(tmp_path / "one" / "mods" / "fix")
    other = Path(shutil.copytree(one, tmp_path / "other" / "mods" / "fix"))
    span = Span(Source("r.yaml"), 1, 1, 1, 2)
    built = [
        build_mod("fix", read_mod_entries(path), Traced("fix", from_file(span, "mods[0]")), Report())
        for path in (one, other)
    ]
    assert built[0] == built[1]


@pytest.mark.parametrize("name", sorted(path.name for path in resources.folder("mods").iterdir()))
def test_our_own_mods_are_accepted_without_a_word(tmp_path, name):
    (mod,), report = load(tmp_path, name)
    assert report.diagnostics == ()
    assert mod.description
    assert {f.path: f.mode for f in mod.files}["run.sh"] == 0o755


def test_only_the_privileged_loop_asks_for_privilege(tmp_path):
    mods, _ = load(tmp_path, "chat-template-chatml", "drop-caches", "drop-caches-privileged")
    assert [(m.requires, m.every_start) for m in mods] == [((), False), ((), True), (("privileged",), True)]
