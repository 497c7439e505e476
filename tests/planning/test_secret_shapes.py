"""Values that look like access tokens never reach a bundle."""

import pytest

from support.compile_text import compile_text, native, v1

TOKENS = [
    "hf_" + "a" * 34,
    "sk-" + "a1-" * 10,
    "ghp_" + "A" * 36,
    "github_pat_" + "a" * 22,
    "glpat-" + "a" * 20,
    "xoxb-" + "1" * 12,
    "AKIA" + "A1" * 8,
    "nvapi-" + "a" * 30,
]


@pytest.mark.parametrize("token", TOKENS)
def test_every_shape_is_known_and_never_repeated(token):
    compiled = compile_text(native(f"env: {{A: 'x {token}'}}"))
    assert (compiled.plan, compiled.codes) == (None, ["SPK370"])
    (found,) = compiled.report.diagnostics
    assert token not in found.message + found.hint
    assert found.span.line == 7


@pytest.mark.parametrize(
    ("recipe", "overrides", "place"),
    [
        (native(), {"env": (("HF_TOKEN", TOKENS[0]),)}, "HF_TOKEN"),
        (native(), {"env": ((TOKENS[0], "x"),)}, "a name"),
        (native(f"args: [--api-key, {TOKENS[1]}]"), {}, "the command"),
        (v1(f"export A={TOKENS[0]}; vllm serve m"), {}, "the command"),
        (native(f"entrypoint: [env, 'A={TOKENS[0]}']"), {}, "the command"),
        (native(), {"volumes": (f"/x/{TOKENS[0]}:/x",)}, "the mount on /x"),
        (native(), {"image": f"user:{TOKENS[0]}/x"}, "the image"),
    ],
)
def test_wherever_it_stands(recipe, overrides, place):
    compiled = compile_text(recipe, **overrides)
    found = [found.message for found in compiled.report.diagnostics if found.code == "SPK370"]
    assert len(found) == 1
    assert found[0].startswith(f"{place} holds something that looks like an access token")


@pytest.mark.parametrize("value", ["hf_hub", "task-force", "sk-", "xhf_" + "a" * 34, "ghp_short", "AKIA"])
def test_ordinary_values_pass(value):
    assert compile_text(native(f"env: {{A: '{value}'}}")).codes == []
