import pytest

from sparkc.flags.dumps import RECORDED
from sparkc.flags.versions import numbers, pick_version, release_of
from sparkc.traced import Traced, from_flag

VLLM = RECORDED["vllm"]


def pick(declared, image):
    return pick_version("vllm", Traced(declared, from_flag("x")) if declared else None, image, VLLM)


@pytest.mark.parametrize(
    ("image", "found"),
    [
        ("vllm/vllm-openai:v0.33.0", ("vllm", "0.33.0")),
        ("docker.io/vllm/vllm-openai:v0.27.1-aarch64", ("vllm", "0.27.1")),
        (f"vllm/vllm-openai:v0.33.0@sha256:{'0' * 64}", ("vllm", "0.33.0")),
        ("lmsysorg/sglang:v0.5.11.post1-cu130", ("sglang", "0.5.11")),
        ("vllm/vllm-openai:latest", None),
        ("vllm/vllm-openai:nightly-0.33.0", None),
        (f"vllm/vllm-openai@sha256:{'0' * 64}", None),
        ("lmsysorg/sglang:qwen38-27b", None),
        ("nvcr.io/nvidia/vllm:26.06-py3", None),
        ("registry.lan:5000/vllm/vllm-openai:v0.33.0", None),
        ("vllm-node", None),
    ],
)
def test_a_release_is_known_by_its_own_tags_only(image, found):
    assert release_of(image) == found


def test_what_the_recipe_says_comes_before_the_tag():
    basis = pick("0.32.0", "vllm/vllm-openai:v0.33.0")
    assert (basis.known, basis.how, basis.release, basis.guess) == ("0.32.0", "engine_version", True, False)


def test_a_version_between_two_recorded_ones_uses_the_older_and_remembers_the_newer():
    basis = pick(None, "vllm/vllm-openai:v0.27.1")
    assert (basis.known, basis.following, basis.stated) == ("0.26.0", "0.29.0", "0.27.1")


@pytest.mark.parametrize(("declared", "known", "following"), [("0.33", "0.33.0", None), ("0.13.1", "0.13.0", "0.15.1")])
def test_a_series_means_its_recorded_release(declared, known, following):
    basis = pick(declared, "mine/vllm:1")
    assert (basis.known, basis.following, basis.release) == (known, following, False)


def test_nothing_says_the_version():
    basis = pick(None, "vllm-node:latest")
    assert (basis.known, basis.guess, basis.how) == ("0.33.0", True, "guess")


def test_older_than_everything_recorded_is_a_guess_too():
    basis = pick("0.8.5", "vllm/vllm-openai:v0.8.5")
    assert (basis.known, basis.guess) == ("0.11.0", True)


def test_newer_than_everything_recorded_is_not_complete():
    basis = pick("0.40.0", "vllm/vllm-openai:v0.40.0")
    assert (basis.known, basis.release, basis.guess) == ("0.33.0", False, False)


def test_versions_are_compared_as_numbers():
    assert numbers("v0.9.2") < numbers("0.11") == (0, 11, 0)


def test_a_series_counts_as_its_last_release():
    assert pick("0.11", "mine/vllm:1").version > (0, 11, 1) > pick("0.11.0", "mine/vllm:1").version
