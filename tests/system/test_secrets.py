"""No access token reaches a bundle, which is committed to git: wherever it stands, compile refuses it."""

import pytest
from system_tools import RECIPE, inventory

TOKEN = "hf_" + "Abc123Def456Ghi789Jk"
PLACES = {
    "env": RECIPE + f"  HF_TOKEN: {TOKEN}\n",
    "argument": RECIPE.replace("env:", f"  - --token={TOKEN}\nenv:"),
    "description": RECIPE + f"description: use {TOKEN}\n",
    "notes": RECIPE + f"notes: {{token: {TOKEN}}}\n",
    "served name": RECIPE + f"served_model_name: [{TOKEN}]\n",
    "mount": RECIPE + f"mounts: [{{source: /x/{TOKEN}, target: /x}}]\n",
    "image": RECIPE.replace("vllm@sha256", f"{TOKEN}/vllm@sha256"),
    "json": RECIPE + f"json_args: {{--x: {{a: [{TOKEN}]}}}}\n",
    "health": RECIPE + f"health: {{path: /h?{TOKEN}}}\n",
    "default": RECIPE.replace('"4096"', '"{t}"') + f"defaults: {{t: {TOKEN}}}\n",
    "entrypoint": RECIPE + f"entrypoint: [env, X={TOKEN}]\n",
    "derived from": RECIPE + f"derived_from: {{source: 'https://u:{TOKEN}@x'}}\n",
    "deviation": RECIPE + f"deviations: [{{key: a, reason: {TOKEN}}}]\n",
    "option": RECIPE + f"container: {{security_opt: [a={TOKEN}]}}\n",
    "text command": f"""\
recipe_version: "1"
name: x
container: x:1
command: HF_TOKEN={TOKEN} vllm serve m
""",
    "script": f"""\
recipe_version: "1"
name: x
container: x:1
command: |
  export HF_TOKEN={TOKEN}; vllm serve m
""",
    "fork's build args": f"""\
recipe_version: "1"
name: x
container: x:1
build_args: [--token, {TOKEN}]
command: vllm serve m
""",
}


def assert_no_secret(outcome):
    assert outcome.compiled is None
    assert {error.code for error in outcome.errors} == {"SPK370"}
    assert TOKEN not in "".join(error.message + (error.hint or "") for error in outcome.errors)


@pytest.mark.parametrize("place", PLACES)
def test_no_token_of_a_recipe_reaches_a_bundle(place, demo):
    demo.write("recipes/secret.yaml", PLACES[place])
    assert_no_secret(demo.compile("recipes/secret.yaml"))


@pytest.mark.parametrize(
    "overrides",
    [
        {"env": (("X", TOKEN),)},
        {"arguments": ("--x", TOKEN)},
        {"volumes": (f"/{TOKEN}:/x",)},
        {"image": f"x/{TOKEN}:1"},
        {"name": TOKEN},
        {"host": TOKEN},
        {"max_model_len": TOKEN},
    ],
    ids=lambda overrides: next(iter(overrides)),
)
def test_no_token_of_the_command_line_reaches_a_bundle(overrides, demo):
    assert_no_secret(demo.compile("recipes/demo.yaml", **overrides))


def test_no_token_of_an_inventory_reaches_a_bundle(demo):
    for more in (f"env: {{X: {TOKEN}}}", f"home: /home/{TOKEN}", f"caches: {{vllm: /x/{TOKEN}}}"):
        demo.write("inventory.yaml", inventory(2, n2=more))
        assert_no_secret(demo.compile("recipes/demo.yaml"))


def test_no_token_of_a_mod_reaches_a_bundle(demo):
    demo.write("mods/first/config.ini", f"token = {TOKEN}\n")
    assert_no_secret(demo.compile("recipes/demo.yaml"))
    demo.write("mods/first/config.ini", "")
    demo.write("mods/first/mod.yaml", f"description: {TOKEN}\n")
    assert_no_secret(demo.compile("recipes/demo.yaml"))
