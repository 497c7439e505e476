"""Looking recipes up: by path, by name, and never another file of the same base name."""

from __future__ import annotations

import pytest

from sparkc.cli.project import all_recipes, find_project, find_recipe, recipe_name
from sparkc.errors import SparkcError


@pytest.fixture
def recipes(empty):
    for name in (
        "recipes/one.yaml",
        "recipes/4x/one.yaml",
        "recipes/4x/two.toml",
        "recipes/dots-3.5.yaml",
        "elsewhere/three.yaml",
    ):
        empty.write(name, "sparkc: 1\n")
    return find_project(empty.root)


@pytest.mark.parametrize(
    ("argument", "name"),
    [
        ("one", "recipes/one.yaml"),
        ("one.yaml", "recipes/one.yaml"),
        ("4x/one", "recipes/4x/one.yaml"),
        ("two", "recipes/4x/two.toml"),
        ("dots-3.5", "recipes/dots-3.5.yaml"),
        ("elsewhere/three.yaml", "elsewhere/three.yaml"),
        ("recipes/4x/one.yaml", "recipes/4x/one.yaml"),
        ("gpt-oss-120b", "sparkc:gpt-oss-120b.yaml"),
        ("sparkc:gpt-oss-120b", "sparkc:gpt-oss-120b.yaml"),
    ],
)
def test_a_recipe_is_found(recipes, argument, name):
    assert find_recipe(recipes, argument).name == name


@pytest.mark.parametrize("argument", ["3x/one", "three", "4x", "..", "../recipes/nope", "", "x/one", "ne"])
def test_a_name_never_falls_back_to_another_file(recipes, argument):
    with pytest.raises(SparkcError) as error:
        find_recipe(recipes, argument)

    assert f"there is no file and no recipe {argument!r}" in str(error.value)


def test_several_matches_are_listed(empty):
    empty.write("recipes/a/same.yaml", "")
    empty.write("recipes/b/same.yaml", "")

    with pytest.raises(SparkcError) as error:
        find_recipe(find_project(empty.root), "same")

    assert "'same' means several recipes: a/same.yaml, b/same.yaml" in str(error.value)


def test_a_near_name_is_suggested(recipes):
    with pytest.raises(SparkcError) as error:
        find_recipe(recipes, "gpt-os-120b")

    assert "did you mean 'gpt-oss-120b'?" in str(error.value)


def test_a_recipe_of_the_project_hides_ours(empty):
    empty.write("recipes/gpt-oss-120b.yaml", "sparkc: 1\n")
    project = find_project(empty.root)

    assert find_recipe(project, "gpt-oss-120b").name == "recipes/gpt-oss-120b.yaml"
    assert find_recipe(project, "sparkc:gpt-oss-120b").name == "sparkc:gpt-oss-120b.yaml"
    assert [file.name for file in all_recipes(project) if recipe_name(file) == "gpt-oss-120b"] == [
        "recipes/gpt-oss-120b.yaml"
    ]


def test_the_nearest_folder_with_an_inventory_is_the_project(empty):
    empty.write("a/inventory.toml", "")
    (empty.root / "a/b/c").mkdir(parents=True)

    assert find_project(empty.root / "a/b/c").root == empty.root / "a"
    assert find_project(empty.root).inventory is None


def test_two_inventories_in_one_folder_are_refused(empty):
    empty.write("inventory.yaml", "")
    empty.write("inventory.toml", "")

    with pytest.raises(SparkcError, match="which is the inventory"):
        find_project(empty.root)
