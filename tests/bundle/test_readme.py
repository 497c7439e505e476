"""README.md: complete, readable, and free of what would make a diff without a change."""

import re
from dataclasses import replace

import pytest
from plan_factory import (
    INVENTORY,
    default,
    findings,
    flag,
    inventory_value,
    mod,
    node,
    plan,
    plans,
    rank,
    recipe_value,
)

from sparkc.bundle.render import render
from sparkc.planning.model import Exec, Mount
from sparkc.reading.source import Source, Span
from sparkc.traced import Traced, from_file


def readme(made):
    return next(file.data.decode() for file in render(made) if file.path == "README.md")


def test_origins_name_key_paths_and_what_was_replaced():
    made = plan(rank(environment={"A": flag("2", "-e A=2").over(recipe_value("1", "env.A"))}))
    assert "| `A` | `2` | -e A=2, instead of 1 from recipe: env.A |" in readme(made)


@pytest.mark.parametrize("name", plans())
def test_nothing_moves_with_lines_or_with_the_checkout(name):
    text = readme(plans()[name])
    assert not re.search(r"ya?ml:\d+", text)
    assert "3:1" not in text


def test_a_file_outside_the_project_is_named_without_its_folder():
    outside = Source("/home/me/secret-folder/mod.yaml")
    value = Traced("x", from_file(Span(outside, 1, 1, 1, 2), "requires"))
    made = plan(rank(environment={"A": value}), recipe_path="/home/me/secret-folder/r.yaml", recipe_sha256="0" * 64)
    text = readme(made)
    assert "mod.yaml: requires" in text
    assert "Compiled by sparkc from `r.yaml`" in text
    assert "secret-folder" not in text


def test_what_differs_between_ranks_is_told_apart():
    ranks = [
        rank(n, world=3, environment={"SAME": default("x"), "IF": inventory_value("a" if n < 2 else "b")})
        for n in range(3)
    ]
    common, differing = (
        readme(plan(*ranks)).split("## Environment")[1].split("## Container")[0].split("Not the same on every rank")
    )
    assert "`SAME`" in common
    assert "`IF`" not in common
    assert "| `IF` | 0, 1 | `a` |" in differing
    assert "| `IF` | 2 | `b` |" in differing


def test_the_command_is_shown_by_flag_with_the_origin_of_each_part():
    argv = (
        recipe_value("vllm", "engine"),
        recipe_value("serve", "engine"),
        recipe_value("--port", "args[0]"),
        flag("9000", "--port 9000").over(recipe_value("8000", "port")),
        recipe_value("--lora", "args[1]"),
        recipe_value("a b", "args[2]"),
        recipe_value("--lora", "args[3]"),
    )
    workers = tuple(recipe_value(text, "args") for text in ("vllm", "serve", "--headless"))
    made = plan(rank(0, world=2, process=Exec(argv)), rank(1, world=2, process=Exec(workers)))
    section = readme(made).split("## Command")[1].split("## Environment")[0]
    assert "| `--port` | 0 | `9000` | recipe: args; --port 9000, instead of 8000 from recipe: port |" in section
    assert "| `--lora` | 0 | `'a b'` | recipe: args |" in section
    assert "| `--lora (2)` | 0 | | recipe: args |" in section
    assert "| `--headless` | 1 | | recipe: args |" in section


def test_a_script_is_named_in_place_of_a_command():
    assert "| `/bin/bash script.sh` | | recipe: command |" in readme(plans()["script"])


def test_unpinned_image_and_model_are_loud_and_pinned_ones_are_not():
    assert "**not pinned by digest: the tag can move**" in readme(plan())
    assert "**revision not pinned**" in readme(plan())
    pinned = rank(container=replace(rank().container, image=recipe_value("eugr/vllm@sha256:" + "0" * 64)))
    text = readme(plan(pinned, recipe_changes={"revision": recipe_value("0" * 40)}))
    assert "pinned by digest" in text
    assert "not pinned" not in text
    assert f"revision `{'0' * 40}`" in text


def test_one_mkdir_line_for_each_distinct_home():
    def mounted(number, home):
        mounts = (Mount(inventory_value(f"{home}/cache dir"), default("/c"), False, True), rank().mounts[1])
        return rank(number, world=3, mounts=mounts)

    text = readme(plan(mounted(0, "/home/a"), mounted(1, "/home/a"), mounted(2, "/srv/b")))
    assert re.findall(r"On (.*):\n\n```sh\n(mkdir .*)\n```", text) == [
        ("spark-1, spark-2", "mkdir -p '/home/a/cache dir'"),
        ("spark-3", "mkdir -p '/srv/b/cache dir'"),
    ]
    assert "Must be there already on spark-1, spark-2: `/srv/templates`." in text


def test_by_hand_workers_go_first_and_ports_of_ssh_are_kept():
    head = rank(0, world=2, node=node(1, ssh=inventory_value("root@head.lan:2222")))
    worker = rank(1, world=2, node=node(2, ssh=inventory_value("fe80::2")))
    commands = readme(plan(head, worker)).split("```sh\n")[-1].split("```")[0].splitlines()
    assert commands == [
        "rsync -a rank-1-spark-2 spark@fe80::2:demo/",
        "rsync -a -e 'ssh -p 2222' rank-0-spark-1 root@head.lan:demo/",
        "ssh spark@fe80::2 'cd demo/rank-1-spark-2 && docker compose up -d'",
        "ssh -p 2222 root@head.lan 'cd demo/rank-0-spark-1 && docker compose up -d'",
    ]


def test_findings_of_the_compile_are_listed_with_their_hint():
    text = readme(plan(diagnostics=findings("image is a tag")))
    assert "- **warning** SPK399: image is a tag. pin it by digest\n" in text


def test_a_retired_mod_is_named_as_not_run():
    made = plan(
        mods=(mod("old", files=(), native_since="0.26"), mod("loop", every_start=True, requires=("privileged",)))
    )
    assert "- Mod `old` (recipe: mods): **not run**, the engine does this itself since 0.26\n" in readme(made)
    assert "- Mod `loop` (recipe: mods), runs at every start, needs privileged\n" in readme(made)


def test_long_values_are_cut_and_their_length_told():
    text = readme(plan(rank(environment={"LONG": recipe_value("x" * 5000)})))
    assert f"| `LONG` | `{'x' * 120}` … (5000 characters) |" in text


def test_hostile_text_breaks_no_table_fence_or_heading():
    nasty = "x|y\n```\n# heading\n<script>`` | [a](b) \u202e"
    inventory = replace(plan().inventory, name=nasty, source=INVENTORY)
    made = plan(
        rank(
            environment={"A": recipe_value(nasty, nasty)},
            mounts=(Mount(recipe_value(f"/{nasty}"), recipe_value(f"/{nasty}"), False, True),),
            node=node(name=inventory_value(nasty), ssh=inventory_value(nasty)),
        ),
        inventory=inventory,
        mods=(mod(nasty, description=nasty),),
        recipe_changes={"description": nasty, "notes": {nasty: nasty}, "image_notes": nasty, "links": {nasty: nasty}},
        diagnostics=findings(nasty),
    )
    text, plain = readme(made), readme(plan(mods=(mod(),), diagnostics=findings("x")))
    assert [line for line in text.splitlines() if line.startswith("# ")] == ["# demo"]
    assert text.count("\n```") == plain.count("\n```")
    unfenced = re.sub(r"```sh\n.*?\n```\n", "", text, flags=re.DOTALL)
    outside_code = re.sub(r"(?<![\\`])(`+)(?!`).*?(?<!`)\1(?!`)", "", unfenced)
    assert not re.search(r"(?<!\\)<script>", outside_code)
    assert "](b)" not in outside_code.replace("\\](b)", "")
    cells = [len(re.split(r"(?<!\\)\|", line)) for line in text.splitlines() if line.startswith("| ")]
    assert set(cells) <= {5, 6, 7}
    assert "\u202e" not in text
