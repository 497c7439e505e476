"""SparkRing's published files of each rank against what sparkc makes of an inventory and a recipe for the same.

Needs the published files: SPARKC_CORPUS=/path pytest …, with sparkring/<profile>/compose/ below it. The recipes and
inventories beside this file say the same in our own words; every difference that remains is listed with its reason.
"""

import os
from collections import Counter
from pathlib import Path

import pytest
import yaml
from system_tools import ProjectFolder, unpack

CORPUS = Path(os.environ.get("SPARKC_CORPUS", "/nonexistent")) / "sparkring"
OURS = Path(__file__).parent / "sparkring"
pytestmark = pytest.mark.skipif(
    not CORPUS.is_dir(), reason="SPARKC_CORPUS names no folder with SparkRing's published files"
)

PROFILES = {
    "mimo-v26-flash-mopd-tp4": ("mimo-tp4.yaml", "inventory-ring.yaml"),
    "mimo-v26-flash-mopd-tp2": ("mimo-tp2.yaml", "inventory-pair.yaml"),
}
RANKS = [("mimo-v26-flash-mopd-tp4", rank) for rank in (0, 1, 3)] + [("mimo-v26-flash-mopd-tp2", 1)]

FAMILY = (
    "the interface is told to every library that looks for one: a rank whose UCX, TensorPipe or Open MPI takes"
    " another one hangs"
)
OLDER = (
    "the files of ranks 0 and 1 were made for older images than that of rank 3; one group runs one image, so ours"
    " names the image of rank 3 on all ranks, and what contains its ID or its manifest's sum follows"
)
OF_THE_IMAGE = (
    "CUTE_DSL_CACHE_DIR",
    "FLASHINFER_WORKSPACE_BASE",
    "SPARKRING_TRANSPORT_MANIFEST_SHA256",
    "TILELANG_CACHE_DIR",
    "TORCHINDUCTOR_CACHE_DIR",
    "TRITON_CACHE_DIR",
    "TVM_FFI_CACHE_DIR",
    "VLLM_CACHE_ROOT",
    "XDG_CACHE_HOME",
)
# Variables that only ours has, and variables with another value in ours: key → why.
ADDED = {
    "MN_IF_NAME": FAMILY,
    "OMPI_MCA_btl_tcp_if_include": FAMILY,
    "TP_SOCKET_IFNAME": FAMILY,
    "UCX_NET_DEVICES": FAMILY,
}
ADDED_BY_PROFILE = {
    "mimo-v26-flash-mopd-tp4": {},
    "mimo-v26-flash-mopd-tp2": {
        "NCCL_IGNORE_CPU_AFFINITY": "a default of every bundle; the profile for four Sparks sets it as well"
    },
}
CHANGED = {
    ("mimo-v26-flash-mopd-tp4", 0): dict.fromkeys(OF_THE_IMAGE, OLDER),
    ("mimo-v26-flash-mopd-tp4", 1): dict.fromkeys(OF_THE_IMAGE, OLDER),
}
# Of the arguments no option and no value differs, but their order does: rank flags come last in ours, and the recipe
# groups the others by purpose. vLLM's parser does not look at the order of different options.


def published(profile, rank):
    text = (CORPUS / profile / "compose" / f"compose.rank{rank}.yaml").read_text()
    service = yaml.safe_load(text)["services"]["model"]
    return [*service["entrypoint"], *service["command"]], service["environment"], service


@pytest.fixture(scope="module")
def bundles(tmp_path_factory):
    project = ProjectFolder(tmp_path_factory.mktemp("sparkring") / "project")
    for path in OURS.iterdir():
        project.write(path.name, path.read_bytes())
    found = {}
    for profile, (recipe, inventory) in PROFILES.items():
        outcome = project.compile(recipe, inventory=inventory, master_port=29776)
        assert not outcome.errors, outcome.errors
        found[profile] = outcome, unpack(outcome, project.root / profile)
    return found


def environment(folder):
    lines = (folder / "rank.env").read_text().split("\n")
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def options(argv):
    """Return what stands before the first option, and the options, each with its values, in no order."""
    start = next(i for i, word in enumerate(argv) if word.startswith("--"))
    groups: list[list[str]] = []
    for word in argv[start:]:
        if word.startswith("--"):
            groups.append([word])
        else:
            groups[-1].append(word)
    return argv[:start], Counter(map(tuple, groups))


@pytest.mark.parametrize(("profile", "rank"), RANKS)
def test_every_rank_starts_what_the_published_file_starts(profile, rank, bundles, stubs):
    outcome, bundle = bundles[profile]
    folder = bundle / outcome.folders[rank]
    env = environment(folder)
    started = stubs.launch(folder, env)
    argv, _, _ = published(profile, rank)
    assert options(started.argv) == options(argv)


@pytest.mark.parametrize(("profile", "rank"), RANKS)
def test_every_rank_has_the_published_environment_but_for_the_listed_differences(profile, rank, bundles):
    outcome, bundle = bundles[profile]
    ours = environment(bundle / outcome.folders[rank])
    _, theirs, _ = published(profile, rank)
    added = ADDED | ADDED_BY_PROFILE[profile]
    changed = CHANGED.get((profile, rank), {})
    assert ours.keys() - theirs.keys() == added.keys()
    assert theirs.keys() - ours.keys() == set()
    assert {key for key in theirs if ours[key] != theirs[key]} == changed.keys()


@pytest.mark.parametrize("profile", PROFILES)
def test_the_list_of_differences_is_only_about_older_images(profile, bundles):
    image = {rank: published(profile, rank)[2]["image"] for of, rank in RANKS if of == profile}
    ours = yaml.safe_load((OURS / PROFILES[profile][0]).read_text())["image"]
    assert {rank for rank in image if image[rank] != ours} == {rank for of, rank in CHANGED if of == profile}


def test_our_inventory_is_the_published_site():
    site = yaml.safe_load((CORPUS / "mimo-v26-flash-mopd-tp4" / "compose" / "site.example.yaml").read_text())
    ours = yaml.safe_load((OURS / "inventory-ring.yaml").read_text())
    shared = ours["defaults"]
    assert [(rank["host"], rank["host_ip"]) for rank in site["ranks"]] == [
        (node["ssh"], node["address"]) for node in ours["nodes"]
    ]
    for rank in site["ranks"]:
        assert (rank["interface"], rank["hcas"], rank["gid"]) == (
            shared["interface"],
            shared["hcas"],
            ours["gid"]["pin"],
        )
