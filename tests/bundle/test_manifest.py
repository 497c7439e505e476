"""bundle.json: what it records, and which changes reach which digest."""

import json
from dataclasses import replace

import pytest
from plan_factory import flag, inventory_value, mod, node, plan, plans, rank, recipe_value

from sparkc import prepared
from sparkc.bundle.load import load_manifest, parse_manifest
from sparkc.bundle.manifest import to_bytes
from sparkc.bundle.render import render
from sparkc.diagnostics import Report


def manifest(made):
    data = next(file.data for file in render(made) if file.path == "bundle.json")
    report = Report()
    parsed = parse_manifest("demo/bundle.json", data, report)
    assert report.diagnostics == ()
    return parsed


def digests(made):
    found = manifest(made)
    return [entry.digest for entry in found.ranks], found.group_digest


@pytest.mark.parametrize("name", plans())
def test_what_is_written_can_be_read_back(name):
    made = plans()[name]
    data = next(file.data for file in render(made) if file.path == "bundle.json")
    assert to_bytes(manifest(made)) == data
    assert data.endswith(b"}\n")


def test_hostile_text_is_exact_for_json_and_for_our_reader():
    nasty = 'a\x85b\u2028\ufeff\x7f"\\\n\t😀${X}\x1b'
    made = manifest(plan(overrides={"env": [nasty], nasty: {"1": [1, True, None]}}))
    assert made.overrides == {"env": [nasty], nasty: {"1": [1, True, None]}}


def test_every_file_is_listed_with_hash_and_mode():
    files = render(plan(mods=(mod(),)))
    listed = json.loads(next(file.data for file in files if file.path == "bundle.json"))["files"]
    assert [entry["path"] for entry in listed] == [file.path for file in files if file.path != "bundle.json"]
    assert {entry["mode"] for entry in listed} == {"0644", "0755"}


@pytest.mark.parametrize(
    ("changes", "recipe", "inventory"),
    [
        ({}, {"path": "recipes/demo.yaml"}, {"path": "inventory.yaml"}),
        (
            {"recipe_path": "/home/me/demo.yaml", "recipe_sha256": "0" * 64, "inventory_path": None},
            {"name": "demo.yaml", "sha256": "0" * 64},
            {"name": "inventory.yaml", "sha256": "d56d443693c352c1fd38f20b2733d23f0733ae61b8b56c5e108bc74162fd276b"},
        ),
    ],
)
def test_no_path_outside_the_project_is_recorded(changes, recipe, inventory):
    data = json.loads(next(f.data for f in render(plan(**changes)) if f.path == "bundle.json"))
    assert (data["recipe"], data["inventory"]) == (recipe, inventory)
    assert "/home/me" not in b"".join(f.data for f in render(plan(**changes))).decode()


@pytest.mark.parametrize(("kind", "record"), [("example", {"builtin": "lab"}), ("ad-hoc", {"ad-hoc": "lab"})])
def test_an_inventory_without_a_file_is_recorded_by_kind(kind, record):
    made = plan(inventory_path=None)
    made = replace(made, inventory=replace(made.inventory, kind=kind))
    assert manifest(made).inventory == record


def test_waves_are_in_starting_order():
    ranks = (rank(0, world=3), rank(1, world=3), rank(2, world=3))
    assert manifest(plan(*ranks)).waves == ((1, 2), (0,))


def test_what_does_not_run_changes_no_digest():
    base = digests(plan())
    assert digests(plan(recipe_changes={"description": "other", "notes": {"a": "b"}})) == base
    assert digests(plan(overrides={"port": 8000}, endpoints=())) == base
    moved = rank(environment=rank().environment | {"NCCL_DEBUG": flag("WARN", "-e NCCL_DEBUG=WARN")})
    assert digests(plan(moved)) == base


@pytest.mark.parametrize(
    "changed",
    [
        plan(rank(argv=("vllm", "serve", "other"))),
        plan(rank(environment={"A": recipe_value("b")})),
        plan(rank(probe=None)),
        plan(mods=(mod(),)),
        plan(name="other"),
    ],
)
def test_what_runs_changes_the_digest(changed):
    base, changed = digests(plan()), digests(changed)
    assert base[0] != changed[0]
    assert base[1] != changed[1]


def test_a_file_mode_of_a_mod_counts():
    plain = mod()
    executable = replace(plain, files=(*plain.files[:1], replace(plain.files[1], mode=0o755), *plain.files[2:]))
    assert digests(plan(mods=(plain,))) != digests(plan(mods=(executable,)))


def test_a_change_of_one_rank_leaves_the_other_ranks_digest():
    ranks = (rank(0, world=2), rank(1, world=2))
    moved = replace(ranks[1], environment={"A": recipe_value("b")})
    before, after = digests(plan(*ranks)), digests(plan(ranks[0], moved))
    assert before[0][0] == after[0][0]
    assert before[0][1] != after[0][1]


def test_the_digest_is_in_the_label_and_leaves_itself_out():
    files = {file.path: file.data.decode() for file in render(plan())}
    digest = digests(plan())[0][0]
    assert f'sparkc.rank-digest: "{digest}"' in files["rank-0-spark-1/compose.yaml"]
    assert files["rank-0-spark-1/compose.yaml"].count(digest) == 1


def test_the_runner_finds_what_it_needs():
    entry = manifest(plan(rank(node=node(transfer=inventory_value("10.0.0.9"))))).ranks[0]
    assert (entry.ssh, entry.user, entry.home, entry.transfer) == ("spark-1.lan", "spark", "/home/spark", "10.0.0.9")
    assert entry.hcas == ("rocep1s0f0", "roceP2p1s0f0")
    assert entry.mounts[0] == {
        "source": "/home/spark/.cache/huggingface",
        "target": "/root/.cache/huggingface",
        "create": True,
    }
    assert (entry.health, entry.deep_probe) == (True, "/v1/completions")


@pytest.mark.parametrize("path", ["", "/etc/passwd", "../x", "a/../../x", "a/..", "a\n/../x", "a\0", "\ud800"])
def test_a_file_list_cannot_leave_the_bundle(path):
    data = next(file.data for file in render(plan()) if file.path == "bundle.json")
    report = Report()
    assert parse_manifest("demo/bundle.json", data.replace(b'"README.md"', json.dumps(path).encode()), report) is None
    assert report.failed


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"<<<<<<< ours\n{}\n", b"sparkc_bundle: 1\n", b"\xff", b'{"sparkc_bundle": 2}']
)
def test_a_damaged_manifest_is_a_located_error(tmp_path, data):
    (tmp_path / "bundle.json").write_bytes(data)
    report = Report()
    assert load_manifest(tmp_path, report) is None
    assert report.failed
    assert all(d.span.source.name == f"{tmp_path.name}/bundle.json" for d in report.diagnostics)


def test_yaml_that_is_no_json_is_an_error():
    data = next(file.data for file in render(plan()) if file.path == "bundle.json")
    report = Report()
    assert parse_manifest("demo/bundle.json", data.replace(b'"name": "demo"', b'"name": demo', 1), report) is None
    assert [(d.code, str(d.span)) for d in report.diagnostics] == [("SPK601", "demo/bundle.json:3:11")]


@pytest.mark.parametrize("prepared_validator", [None, lambda value: None])
def test_a_prepared_validator_only_makes_it_faster(monkeypatch, prepared_validator):
    monkeypatch.setattr(prepared, "validator", lambda kind, schema: prepared_validator if kind == "bundle" else None)
    assert manifest(plan(mods=(mod(),))).files[0].path == "README.md"


def test_what_a_prepared_validator_refuses_is_explained_from_the_schema(monkeypatch):
    def refuse(value):
        raise prepared.Invalid

    monkeypatch.setattr(prepared, "validator", lambda kind, schema: refuse)
    report = Report()
    assert parse_manifest("demo/bundle.json", b'{"sparkc_bundle": 2}', report) is None
    assert "demo/bundle.json:1:19" in {str(diagnostic.span) for diagnostic in report.diagnostics}


def test_no_manifest_is_no_error(tmp_path):
    report = Report()
    assert load_manifest(tmp_path / "none", report) is None
    assert report.diagnostics == ()
