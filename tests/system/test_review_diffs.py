"""A reviewer's eye: a small change of an input changes those files of out/, and those lines, where it matters."""

import difflib
import re

import pytest
from system_tools import RECIPE, inventory

ROOT = {"README.md", "bundle.json"}
_DIGEST = re.compile(r'rank-digest: |"(digest|group_digest|sha256)": ')
RANKS = ("rank-0-spark-1", "rank-1-spark-2")


@pytest.fixture
def demo(demo):
    demo.mod("second")
    return demo


def changes(project, change, **overrides):
    """Return the changed files, and the changed lines of each, without digests: they follow the rest."""
    before = project.compile("recipes/demo.yaml").files
    change()
    after = project.compile("recipes/demo.yaml", **overrides).files
    return {
        path: changed_lines(before.get(path, b""), after.get(path, b""))
        for path in sorted(before.keys() | after.keys())
        if before.get(path) != after.get(path)
    }


def changed_lines(before, after):
    lines = difflib.unified_diff(before.decode().split("\n"), after.decode().split("\n"), n=0, lineterm="")
    return [
        line
        for line in lines
        if not line.startswith(("---", "+++", "@@")) and not _DIGEST.search(line) and line[1:].strip()
    ]


def of_ranks(*names, ranks=RANKS):
    """The files of ranks that change, with compose.yaml, which has the digest, and what is beside the ranks."""
    return ROOT | {f"{rank}/{name}" for rank in ranks for name in (*names, "compose.yaml")}


def edit(project, name, old, new):
    def change():
        text = (project.root / name).read_text()
        assert old in text
        project.write(name, text.replace(old, new))

    return change


@pytest.mark.parametrize("name", ["recipes/demo.yaml", "inventory.yaml"])
@pytest.mark.parametrize(("old", "new"), [("\n", "\n# why\n\n"), ("\n", "  # why\n"), ("\n", "\r\n")])
def test_a_comment_changes_nothing(name, old, new, demo):
    assert changes(demo, edit(demo, name, old, new)) == {}


def test_another_way_to_write_the_same_changes_nothing(demo):
    assert changes(demo, edit(demo, "recipes/demo.yaml", "parallel: {tensor: 2}", "parallel:\n    tensor: 2")) == {}
    assert changes(demo, edit(demo, "recipes/demo.yaml", "NOTE: plain", 'NOTE: "plain"')) == {}


def test_a_flag_changes_one_line_of_each_launch_script(demo):
    found = changes(demo, edit(demo, "recipes/demo.yaml", '"4096"', '"8192"'))
    assert found.keys() == of_ranks("launch.sh")
    for rank in RANKS:
        assert found[f"{rank}/launch.sh"] == ["-  '4096' \\", "+  '8192' \\"]
        assert found[f"{rank}/compose.yaml"] == []
    assert len(found["README.md"]) == 2


def test_a_new_flag_adds_its_lines_alone(demo):
    found = changes(demo, edit(demo, "recipes/demo.yaml", '  - "4096"\n', '  - "4096"\n  - --seed\n  - "7"\n'))
    assert found.keys() == of_ranks("launch.sh")
    assert found[f"{RANKS[0]}/launch.sh"] == ["+  '--seed' \\", "+  '7' \\"]
    assert [line[0] for line in found["README.md"]] == ["+"]


def test_a_variable_changes_one_line_of_each_rank_env(demo):
    found = changes(demo, edit(demo, "recipes/demo.yaml", "NOTE: plain", "NOTE: 'other #$'"))
    assert found.keys() == of_ranks("rank.env")
    assert found[f"{RANKS[1]}/rank.env"] == ["-NOTE=plain", "+NOTE=other #$"]


def test_the_interface_of_one_node_changes_that_rank_alone(demo):
    node = "address: 10.77.0.2"
    found = changes(demo, edit(demo, "inventory.yaml", node, f"{node}, interface: enp1s0f1np1"))
    assert found.keys() == of_ranks("rank.env", ranks=RANKS[1:])
    assert all("enp1s0f" in line for line in found[f"{RANKS[1]}/rank.env"])


def test_the_address_of_a_worker_changes_that_rank_alone(demo):
    found = changes(demo, edit(demo, "inventory.yaml", "10.77.0.2", "10.77.0.22"))
    assert found.keys() == of_ranks("rank.env", ranks=RANKS[1:])


def test_the_address_of_the_head_is_known_to_every_rank(demo):
    found = changes(demo, edit(demo, "inventory.yaml", "10.77.0.1", "10.77.0.11"))
    assert found.keys() == of_ranks("launch.sh") | {f"{RANKS[0]}/rank.env"}


def test_a_node_that_takes_no_part_changes_nothing(demo):
    found = changes(demo, lambda: demo.write("inventory.yaml", inventory(3, n3="home: /srv/x")))
    # How many nodes there were to choose from stands in the notes at most.
    assert found.keys() <= {"README.md"}
    assert not any(path.startswith("rank-") for path in found)


def test_the_image_changes_one_line_of_each_compose_file(demo):
    found = changes(demo, edit(demo, "recipes/demo.yaml", "registry.example/vllm@", "registry.example/other@"))
    assert found.keys() == of_ranks()
    removed, added = found[f"{RANKS[0]}/compose.yaml"]
    assert removed.startswith('-    image: "registry.example/vllm@sha256:')
    assert added == removed.replace("-", "+", 1).replace("/vllm@", "/other@")


def test_a_new_variable_changes_no_other_line(demo):
    found = changes(demo, edit(demo, "recipes/demo.yaml", "  NOTE", "  OTHER: x\n  NOTE"))
    assert found.keys() == of_ranks("rank.env")
    assert found[f"{RANKS[1]}/rank.env"] == ["+OTHER=x"]


def test_a_file_of_a_mod_changes_that_file_and_its_marker(demo):
    found = changes(demo, lambda: demo.mod("first", "#!/bin/sh\necho changed\n"))
    assert found.keys() == of_ranks("launch.sh", "mods/01-first/run.sh") - {"README.md"}
    assert [line[0] for line in found[f"{RANKS[0]}/launch.sh"]] == ["-", "+"]
    assert all(line[1:].startswith("apply_mod '01-first' 'first' ") for line in found[f"{RANKS[0]}/launch.sh"])


def test_a_second_mod_adds_its_folder_and_one_line(demo):
    found = changes(demo, edit(demo, "recipes/demo.yaml", "mods: [first]", "mods: [first, second]"))
    assert found.keys() == of_ranks("launch.sh", "mods/02-second/run.sh")
    assert len(found[f"{RANKS[0]}/launch.sh"]) == 1


def test_a_mod_that_nobody_lists_changes_nothing(demo):
    assert changes(demo, lambda: demo.mod("second", "#!/bin/sh\necho changed\n")) == {}


def test_the_port_changes_the_head_s_probe_and_the_flag(demo):
    found = changes(demo, edit(demo, "recipes/demo.yaml", "port: 8000", "port: 9000"))
    assert found.keys() == of_ranks("launch.sh")
    assert len(found[f"{RANKS[0]}/compose.yaml"]) == 2
    assert found[f"{RANKS[1]}/compose.yaml"] == []


def test_a_description_changes_no_rank(demo):
    found = changes(demo, lambda: demo.write("recipes/demo.yaml", RECIPE + "mods: [first]\ndescription: new\n"))
    assert found.keys() == {"README.md", "bundle.json"}


def test_more_nodes_touch_the_others_only_where_they_count_them(demo):
    found = changes(demo, edit(demo, "recipes/demo.yaml", "tensor: 2", "tensor: 4"))
    added = {path for path in found if path.startswith(("rank-2-spark-3/", "rank-3-spark-4/"))}
    assert found.keys() - added == of_ranks("launch.sh")
    lines = {line[1:].strip(" '\\") for line in found[f"{RANKS[0]}/launch.sh"]}
    assert lines == {"2", "4"}


def test_a_node_of_a_plain_recipe_changes_no_other_rank(demo):
    plain = "sparkc: 1\nname: demo\nengine: plain\nimage: x:1\nnodes: 2\ncommand: [serve]\n"
    demo.write("recipes/demo.yaml", plain)
    found = changes(demo, edit(demo, "recipes/demo.yaml", "nodes: 2", "nodes: 3"))
    assert {path.split("/")[0] for path in found} == {"README.md", "bundle.json", "rank-2-spark-3"}


def test_the_other_order_of_nodes_swaps_the_ranks(demo):
    before = demo.compile("recipes/demo.yaml").files
    after = demo.compile("recipes/demo.yaml", nodes="spark-2,spark-1").files
    assert {path.split("/")[0] for path in after} == {*ROOT, "rank-0-spark-2", "rank-1-spark-1"}
    assert {path.split("/")[0] for path in before} == {*ROOT, *RANKS}


def test_an_override_stands_in_the_record_and_where_it_acts(demo):
    found = changes(demo, lambda: None, env=(("EXTRA", "1"),))
    assert found.keys() == of_ranks("rank.env")
    assert found[f"{RANKS[0]}/rank.env"] == ["+EXTRA=1"]
    assert any('"EXTRA"' in line for line in found["bundle.json"])
