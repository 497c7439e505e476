"""Finding a bundle, and refusing one that is not what was compiled."""

from __future__ import annotations

import hashlib
import json

import pytest

from sparkc.cli.main import run
from sparkc.errors import SparkcError
from sparkc.runner.bundle_folder import bundle_names, check_deployable, load_bundle

INVENTORY = """\
sparkc_inventory: 1
name: lab
topology: switch
defaults: {user: spark, interface: enp1s0f0np0, hcas: [rocep1s0f0]}
nodes:
  - {name: spark-a, ssh: spark-a.lan, address: 10.0.0.1}
  - {name: spark-b, ssh: spark-b.lan, address: 10.0.0.2}
"""
RECIPE = """\
sparkc: 1
name: tiny
engine: vllm
image: img@sha256:{digest}
model: org/model
revision: {revision}
port: 8000
parallel: {{tensor: 2}}
""".format(digest="a" * 64, revision="b" * 40)


@pytest.fixture
def project(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recipes").mkdir()
    (tmp_path / "recipes/tiny.yaml").write_text(RECIPE)
    (tmp_path / "inventory.yaml").write_text(INVENTORY)
    assert run(["compile", "tiny"]) == 0
    return tmp_path


@pytest.fixture
def out(project):
    return project / "out"


def refusal(out, argument="tiny"):
    with pytest.raises(SparkcError) as caught:
        check_deployable(load_bundle(out, argument))
    return caught.value


@pytest.mark.parametrize("argument", ["tiny", "out/tiny", "out/tiny/", "./out/tiny", "{out}/tiny"])
def test_a_name_and_a_path_lead_to_it(out, argument):
    found = load_bundle(out, argument.format(out=out))

    assert found.manifest.name == "tiny"
    assert found.folder.samefile(out / "tiny")
    check_deployable(found)


def test_the_current_folder_is_a_path(out, monkeypatch):
    monkeypatch.chdir(out / "tiny")

    assert load_bundle(out, ".").manifest.name == "tiny"


@pytest.mark.parametrize(
    ("argument", "hint"),
    [
        ("tinny", "did you mean 'tiny'?"),
        ("out/tinny/", "did you mean 'tiny'?"),
        ("zzzzzz", "there are: tiny"),
        ("", "there are: tiny"),
    ],
)
def test_another_name_is_answered_with_those_that_there_are(out, argument, hint):
    error = refusal(out, argument)

    assert error.message == f"there is no bundle {argument!r} here or under out/"
    assert error.hint == hint


def test_without_any_bundle_the_way_to_one_is_named(tmp_path):
    assert refusal(tmp_path / "out").hint == "sparkc compile RECIPE makes one"
    assert bundle_names(tmp_path / "out") == []


@pytest.mark.parametrize("part", ["bundle.json", "rank-0-spark-a", "rank-0-spark-a/compose.yaml"])
def test_a_part_of_a_bundle_is_answered_with_the_whole(out, part):
    error = refusal(out, f"out/tiny/{part}")

    assert error.message == f"out/tiny/{part} is a part of a bundle"
    assert error.hint.endswith("out/tiny")


def test_a_damaged_bundle_json_is_told_with_its_place(out):
    (out / "tiny/bundle.json").write_text('{"sparkc_bundle": 1,\n "name": 3}\n')

    error = refusal(out)

    assert error.message.endswith("tiny/bundle.json cannot be used")
    assert "tiny/bundle.json:2" in error.output


@pytest.mark.parametrize("first", [True, False])
def test_an_unfinished_bundle_is_refused(out, first):
    (out / "tiny/.sparkc-writing").write_text("{}\n")
    if first:  # a first compile writes bundle.json last
        (out / "tiny/bundle.json").unlink()

    error = refusal(out)

    assert error.message == "tiny is unfinished: a compile was interrupted while it was written"
    assert "compile it again" in error.hint


def test_every_file_that_is_not_as_compiled_is_named(out):
    (out / "tiny/rank-0-spark-a/rank.env").write_text("A=1\n")
    (out / "tiny/rank-1-spark-b/launch.sh").unlink()
    (out / "tiny/rank-1-spark-b/.env").write_text("COMPOSE_FILE=other.yaml\n")
    compose = out / "tiny/rank-1-spark-b/compose.yaml"
    compose.rename(out / "compose.yaml")
    compose.symlink_to(out / "compose.yaml")

    assert refusal(out).output.splitlines() == [
        "rank-0-spark-a/rank.env was changed",
        "rank-1-spark-b/compose.yaml was changed",
        "rank-1-spark-b/launch.sh is missing",
        "rank-1-spark-b/.env does not belong there",
    ]


def test_a_name_that_a_terminal_would_obey_is_escaped(out):
    (out / "tiny/\x1b[2J").write_text("x")

    assert refusal(out).output == "\\x1b[2J does not belong there"


def test_file_modes_do_not_matter(out):
    """What arrives on a node has the modes of bundle.json, whatever git or an archive made of them."""
    for path in (out / "tiny").rglob("*"):
        if path.is_file():
            path.chmod(0o600)

    check_deployable(load_bundle(out, "tiny"))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda data: data["ranks"][1].update(digest="0" * 64), ["bundle.json has another digest for rank-1-spark-b"]),
        (lambda data: data.update(group_digest="0" * 64), ["bundle.json has another group digest than its ranks"]),
    ],
)
def test_a_digest_is_that_of_the_files(out, change, told):
    path = out / "tiny/bundle.json"
    data = json.loads(path.read_text())
    change(data)
    path.write_text(json.dumps(data))

    lines = refusal(out).output.splitlines()

    assert lines[0].startswith(told[0])


def test_an_edit_with_its_hash_does_not_pass_as_the_compiled_file(out):
    edited = out / "tiny/rank-0-spark-a/rank.env"
    edited.write_text("A=1\n")
    path = out / "tiny/bundle.json"
    data = json.loads(path.read_text())
    for entry in data["files"]:
        if entry["path"] == "rank-0-spark-a/rank.env":
            entry["sha256"] = hashlib.sha256(edited.read_bytes()).hexdigest()
    path.write_text(json.dumps(data))

    assert refusal(out).output == "bundle.json has another digest for rank-0-spark-a than its files"


def test_the_example_inventory_is_for_looking_only(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "recipes").mkdir()
    (tmp_path / "recipes/tiny.yaml").write_text(RECIPE)
    assert run(["compile", "tiny"]) == 0

    error = refusal(tmp_path / "out")

    assert "built-in example inventory" in error.message
    assert error.hint.startswith("sparkc init")
