"""A bundle.json that somebody changed is reported, never trusted and never a crash."""

from __future__ import annotations

import json

import pytest


@pytest.mark.parametrize(
    ("key", "value", "code"),
    [
        ("recipe", {}, "SPK701"),
        ("recipe", {"path": "../../etc/passwd"}, "SPK032"),
        ("recipe", {"path": "/etc/passwd"}, "SPK032"),
        ("inventory", {"path": "../inventory.yaml"}, "SPK032"),
        ("overrides", {"nodes": 5}, "SPK709"),
        ("overrides", {"env": [["A"]]}, "SPK709"),
        ("overrides", {"set": {"a": 1}}, "SPK709"),
        ("overrides", {"solo": 1}, "SPK709"),
        ("overrides", {"zzz": True}, "SPK709"),
    ],
)
def test_a_record_that_sparkc_did_not_write(project, key, value, code):
    project.run("compile", "tiny")
    manifest = project.root / "out/tiny/bundle.json"
    manifest.write_text(json.dumps(json.loads(manifest.read_text()) | {key: value}))

    outcome = project.run("compile", "--check")

    assert outcome.code == 1
    assert code in outcome.err
    assert "root:" not in outcome.err


def test_a_missing_bundle_json_is_no_fine_state(project):
    project.run("compile", "tiny")
    (project.root / "out/tiny/bundle.json").unlink()

    outcome = project.run("compile", "--check")

    assert outcome.code == 1
    assert "error[SPK605]: tiny has no bundle.json" in outcome.err


def test_a_secret_must_not_be_a_literal_too(project):
    recipe = project.root / "recipes/tiny.yaml"
    recipe.write_text(recipe.read_text() + "secrets: [API]\n")

    outcome = project.run("compile", "tiny", "-e", "API=value")

    assert outcome.code == 1
    assert "SPK371" in outcome.err
    assert project.run("compile", "tiny").code == 0


def test_no_message_repeats_a_token(project):
    token = "hf_" + "Ab1" * 8
    recipe = project.root / "recipes/tiny.yaml"
    recipe.write_text(recipe.read_text().replace("port: 8000", f"port: {token}\nenv: {{TOKEN: {token}}}"))

    for format_ in ("text", "json", "github"):
        outcome = project.run("compile", "tiny", "--format", format_)
        assert outcome.code == 1
        assert token not in outcome.out + outcome.err


def test_files_of_a_mod_with_names_of_ours_are_refused(project):
    project.write("mods/m/run.sh", "#!/bin/sh\n")
    project.write("mods/m/.sparkc-tmp-x", "")

    outcome = project.run("compile", "tiny", "--mod", "m")

    assert outcome.code == 1
    assert "SPK501" in outcome.err
