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
    rule,
)

from sparkc.bundle.render import render
from sparkc.diagnostics import Report
from sparkc.planning.model import Endpoint, Exec, Mount
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


def test_what_is_done_first_is_told_once_for_nodes_that_need_the_same():
    def mounted(number, home):
        mounts = (Mount(inventory_value(f"{home}/cache dir"), default("/c"), False, True), rank().mounts[1])
        return rank(number, world=3, mounts=mounts)

    text = readme(plan(mounted(0, "/home/a"), mounted(1, "/home/a"), mounted(2, "/srv/b")))
    assert re.findall(r"On (.*):\n\n```sh\n(mkdir .*)\n(.*)\n```", text) == [
        ("spark-1, spark-2", "mkdir -p '/home/a/cache dir'", "docker pull registry.example/vllm:1.0"),
        ("spark-3", "mkdir -p '/srv/b/cache dir'", "docker pull registry.example/vllm:1.0"),
    ]
    assert "Must be there already on spark-1, spark-2: `/srv/templates`." in text


def test_by_hand_workers_go_first_and_ports_of_ssh_are_kept():
    head = rank(0, world=2, node=node(1, ssh=inventory_value("root@head.lan:2222")))
    worker = rank(1, world=2, node=node(2, ssh=inventory_value("fd00::2")))
    commands = readme(plan(head, worker)).split("```sh\n")[-1].split("```")[0].splitlines()
    assert commands == [
        "rsync -a --delete rank-1-spark-2 'spark@[fd00::2]:demo/'",
        "rsync -a --delete -e 'ssh -p 2222' rank-0-spark-1 root@head.lan:demo/",
        "ssh spark@fd00::2 'cd demo/rank-1-spark-2 && docker compose up -d'",
        "ssh -p 2222 root@head.lan 'cd demo/rank-0-spark-1 && docker compose up -d'",
    ]


def test_by_hand_an_ipv6_address_has_brackets_for_rsync_only():
    made = plan(rank(node=node(ssh=inventory_value("joe@[fd00::5]:2222"))))
    commands = readme(made).split("```sh\n")[-1].split("```")[0].splitlines()
    assert commands == [
        "rsync -a --delete -e 'ssh -p 2222' rank-0-spark-1 'joe@[fd00::5]:demo/'",
        "ssh -p 2222 joe@fd00::5 'cd demo/rank-0-spark-1 && docker compose up -d'",
    ]


def first_steps(*ranks, **changes):
    return re.findall(r"On [^\n]*:\n\n```sh\n(.*?)```", readme(plan(*ranks, **changes)), re.DOTALL)[0].splitlines()[1:]


def test_models_are_downloaded_into_the_cache_that_is_mounted():
    pinned = {"revision": recipe_value("0" * 40)}
    drafts = (recipe_value("org/model-a"), recipe_value("org/draft"), recipe_value("/models/local"))
    assert first_steps(recipe_changes=pinned, models=drafts) == [
        "docker pull registry.example/vllm:1.0",
        f"hf download org/model-a --revision {'0' * 40}",
        "hf download org/draft",
    ]
    elsewhere = Mount(inventory_value("/mnt/hf cache"), default("/root/.cache/huggingface"), False, True)
    assert first_steps(rank(mounts=(elsewhere,)))[1:] == ["HF_HOME='/mnt/hf cache' hf download org/model-a"]


@pytest.mark.parametrize(
    "changes",
    [
        {"engine": "llama-cpp"},
        {"ranks": (rank(mounts=()),)},
        {"recipe_changes": {"parent_model": recipe_value("org/parent"), "model": recipe_value("/models/m")}},
    ],
)
def test_no_download_is_told_that_the_rank_would_not_read(changes):
    changes = dict(changes)
    assert "hf download" not in readme(plan(*changes.pop("ranks", ()), **changes))


def test_an_image_without_a_registry_is_not_pulled():
    text = readme(plan(rank(container=replace(rank().container, image=recipe_value("vllm-node")))))
    assert "docker pull" not in text
    assert "Nothing says which registry has `vllm-node`: build or load it on each node." in text


def test_every_api_has_its_url_and_one_on_loopback_its_node():
    near = (Endpoint("spark-1", "http://a:8000", local=False), Endpoint("spark-2", "http://127.0.0.1:8000", local=True))
    text = readme(plan(endpoints=near))
    assert "- Clients use: `http://a:8000`\n" in text
    assert "- Clients use: `http://127.0.0.1:8000`, **on spark-2 only**\n" in text
    assert "Clients use" not in readme(plan(endpoints=()))


def test_links_are_whole_urls():
    links = {"status": "/v1/status", "dashboard": "https://example.org/d"}
    text = readme(plan(recipe_changes={"links": links}))
    assert "- status: `http://spark-1.lan:8000/v1/status`\n- dashboard: `https://example.org/d`\n" in text


def test_a_reason_that_rows_share_is_told_once_below_their_table():
    environment = {
        "A": rule("1", "rule a", "they share it"),
        "B": rule("2", "rule b", "they share it").over(default("3", "its own")),
        "C": rule("4", "rule c", "nobody else has it"),
    }
    section = readme(plan(rank(environment=environment))).split("## Environment")[1].split("## Container")[0]
    assert "| `A` | `1` | rule a, note 1 |" in section
    assert "| `B` | `2` | rule b, note 1, instead of 3 from built-in value (its own) |" in section
    assert "| `C` | `4` | rule c (nobody else has it) |" in section
    assert section.endswith("Notes:\n\n1. they share it\n\n")


def test_one_node_has_no_fabric_and_no_other_ranks():
    alone, pair = readme(plan()), readme(plan(rank(0, world=2), rank(1, world=2)))
    assert "## Ports\n\n| Port |" in alone
    assert "Stop it with `docker compose down` in the same folder.\n" in alone
    for told in ("## Fabric and ports", "HCAs |", "leaves the others waiting"):
        assert told in pair
        assert told not in alone


def test_what_a_hint_has_in_backticks_is_code():
    report = Report()
    report.note("SPK399", "no `x|y` *here*", hint="run `sparkc init`, then ``` or `")
    text = readme(plan(diagnostics=report.diagnostics))
    assert "SPK399: no `x\\|y` \\*here\\*. run `sparkc init`, then \\`\\`\\` or \\`\n" in text


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
