"""What a terminal or a CI runner would obey is never printed as it stands in a file."""

from __future__ import annotations


def test_diffs_hold_no_escape_and_no_workflow_command(project):
    recipe = project.root / "recipes/tiny.yaml"
    recipe.write_text(recipe.read_text() + 'description: "::warning::pwned"\nenv: {X: "\\e]0;owned"}\n')
    project.run("compile", "tiny")
    readme = project.root / "out/tiny/README.md"
    readme.write_text("changed\n" + readme.read_text())
    env = project.root / "out/tiny/rank-0-spark-a/rank.env"
    env.write_text(env.read_text() + "MORE=1\n")

    outcome = project.run("compile", "--check")

    assert outcome.code == 1
    assert "MORE=1" in outcome.out
    assert "pwned" in outcome.out
    assert not any(line.lstrip(" +-").startswith("::") for line in outcome.out.splitlines())
    assert "\x1b" not in project.run("show", "tiny").out + outcome.out + outcome.err
