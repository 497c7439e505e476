"""When two nodes have the same image, whatever their image stores call it."""

import json

import pytest

from sparkc.runner.images import fits_machine, grouped, pinned_digest, repository_digests, same_image, short
from sparkc.runner.parse_docker import parse_image
from support.node_facts import DIGEST, image

OTHER = "sha256:" + "2" * 64
LAYERS = ["sha256:" + "a" * 64, "sha256:" + "b" * 64]

# `docker image inspect` of one image: pulled into Docker's own store, pulled into a containerd store, and loaded from
# an archive into each. The fields that matter, as the engines give them.
PULLED = {
    "Id": "sha256:" + "5" * 64,
    "RepoTags": ["registry.example/vllm:1"],
    "RepoDigests": [f"registry.example/vllm@{DIGEST}"],
    "Architecture": "arm64",
    "Os": "linux",
    "Config": {"Env": ["PATH=/usr/bin"], "Entrypoint": None},
    "RootFS": {"Type": "layers", "Layers": LAYERS},
    "GraphDriver": {"Name": "overlay2", "Data": {}},
}
CONTAINERD = PULLED | {
    "Id": DIGEST,
    "Descriptor": {"mediaType": "application/vnd.oci.image.index.v1+json", "digest": DIGEST, "size": 1609},
}
LOADED = PULLED | {"RepoDigests": []}
LOADED_CONTAINERD = CONTAINERD | {"Id": OTHER, "RepoDigests": [f"registry.example/vllm@{OTHER}"]}


def inspected(data):
    found = parse_image(json.dumps([data]))
    assert found is not None
    return found


@pytest.mark.parametrize("a", [PULLED, CONTAINERD, LOADED, LOADED_CONTAINERD])
@pytest.mark.parametrize("b", [PULLED, CONTAINERD, LOADED, LOADED_CONTAINERD])
def test_the_same_content_is_the_same_image_in_every_store(a, b):
    assert same_image(inspected(a), inspected(b))


@pytest.mark.parametrize(
    "change",
    [
        {"RootFS": {"Type": "layers", "Layers": [*LAYERS, "sha256:" + "c" * 64]}},
        {"Config": {"Env": ["PATH=/usr/bin", "NCCL_NET=Socket"]}},
        {"Architecture": "amd64"},
    ],
)
def test_other_content_under_one_name_is_another_image(change):
    rebuilt = inspected(LOADED | change)
    assert not same_image(inspected(LOADED), rebuilt)
    assert not same_image(inspected(PULLED), rebuilt)


def test_equal_ids_prove_nothing_and_unequal_ones_neither():
    assert not same_image(image(digests=(), layers=("x",)), image(digests=(), layers=("y",)))
    assert same_image(image(id="a"), image(id="b"))


def test_images_without_layers_are_never_taken_for_equal():
    assert not same_image(image(digests=(), layers=()), image(digests=(), layers=()))


def test_nodes_are_grouped_by_image():
    found = {0: image(), 1: image(digests=(), layers=("other",)), 2: image(digests=())}
    assert grouped(found) == [[0, 2], [1]]


def test_what_is_missing_in_the_answer_is_empty():
    assert parse_image("") is None
    assert parse_image("[]") is None
    assert parse_image('{"Id": "x"}') is None
    bare = parse_image('[{"Id": "x", "Config": null, "RootFS": {}, "RepoDigests": null}]')
    assert (bare.id, bare.digests, bare.layers, bare.environment) == ("x", (), (), ())


def test_names_and_digests():
    assert pinned_digest(f"registry.example:5000/a/b@{DIGEST}") == DIGEST
    assert pinned_digest(f"a:tag@{DIGEST}") == DIGEST
    assert pinned_digest("registry.example:5000/a/b:1") is None
    assert repository_digests(image(digests=(f"a@{DIGEST}", f"b@{DIGEST}", "none"))) == {DIGEST}
    assert short(image()) == DIGEST[:19]
    assert short(image(digests=())) == "no digest, layers aaaaaa bbbbbb"


@pytest.mark.parametrize(
    ("architecture", "machine", "fits"),
    [("arm64", "aarch64", True), ("amd64", "x86_64", True), ("amd64", "aarch64", False), ("", "aarch64", True)],
)
def test_an_image_is_made_for_a_machine(architecture, machine, fits):
    assert fits_machine(image(architecture=architecture), machine) is fits
