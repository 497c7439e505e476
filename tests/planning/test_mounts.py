"""Bind mounts: caches in each node's own home, the recipe's, and -v."""

import pytest

from support.compile_text import LAB, compile_text, native

TWO = native("parallel: {tensor: 2}")
HOMES = LAB.replace("ssh: s2", "home: /srv/spark/, ssh: s2").replace("ssh: s3", "user: root, ssh: s3")


def mounts(compiled, rank=0):
    return {mount.target.value: mount.source.value for mount in compiled.ranks[rank].mounts}


def mount(compiled, target):
    return next(mount for mount in compiled.ranks[0].mounts if mount.target.value == target)


def test_caches_lie_in_each_nodes_own_home():
    compiled = compile_text(native("parallel: {tensor: 3}"), HOMES)
    first = mounts(compiled)
    assert first == {
        "/root/.cache/huggingface": "/home/spark/.cache/huggingface",
        "/root/.cache/vllm": "/home/spark/.cache/vllm",
        "/root/.cache/flashinfer": "/home/spark/.cache/flashinfer",
        "/root/.cache/b12x": "/home/spark/.cache/b12x",
        "/root/.triton": "/home/spark/.triton",
        "/root/.tilelang": "/home/spark/.tilelang",
    }
    assert mounts(compiled, 1) == {to: path.replace("/home/spark", "/srv/spark") for to, path in first.items()}
    assert mounts(compiled, 2) == {to: path.replace("/home/spark", "/root") for to, path in first.items()}
    assert all(mount.create and not mount.read_only for mount in compiled.ranks[0].mounts)


def test_no_cache_dirs_keeps_the_weights():
    assert list(mounts(compile_text(native(), no_cache_dirs=True))) == ["/root/.cache/huggingface"]


def test_cache_folders_of_inventory_and_node():
    inventory = LAB.replace("nodes:", "caches: {huggingface: /data/hf, root: ~/jit, vllm: /fast/vllm}\nnodes:").replace(
        "ssh: s2", "caches: {root: /node/, triton: /t}, ssh: s2"
    )
    compiled = compile_text(TWO, inventory)
    assert mounts(compiled) == {
        "/root/.cache/huggingface": "/data/hf",
        "/root/.cache/vllm": "/fast/vllm",
        "/root/.cache/flashinfer": "/home/spark/jit/flashinfer",
        "/root/.cache/b12x": "/home/spark/jit/b12x",
        "/root/.triton": "/home/spark/jit/triton",
        "/root/.tilelang": "/home/spark/jit/tilelang",
    }
    assert mounts(compiled, 1) == {
        "/root/.cache/huggingface": "/data/hf",
        "/root/.cache/vllm": "/node/vllm",
        "/root/.cache/flashinfer": "/node/flashinfer",
        "/root/.cache/b12x": "/node/b12x",
        "/root/.triton": "/t",
        "/root/.tilelang": "/node/tilelang",
    }
    assert mount(compiled, "/root/.tilelang").source.origin.text == "inventory.yaml: caches.root"


def test_an_explicit_mount_replaces_a_default_one_and_says_so():
    recipe = native("mounts: [{source: ~/mine, target: /root/.cache//vllm/, read_only: true}]")
    made = mount(compile_text(recipe), "/root/.cache/vllm")
    assert (made.source.value, made.read_only, made.create) == ("/home/spark/mine", True, False)
    assert made.source.overrode.value == "/home/spark/.cache/vllm"
    made = mount(compile_text(native(), volumes=("/hf:/root/.cache/huggingface",)), "/root/.cache/huggingface")
    assert (made.source.value, made.source.origin.text) == ("/hf", "-v /hf:/root/.cache/huggingface")


@pytest.mark.parametrize(
    ("text", "source", "target", "read_only"),
    [
        ("/a:/b", "/a", "/b", False),
        ("/a:/b:ro", "/a", "/b", True),
        ("/a:/b:rw", "/a", "/b", False),
        ("~/a b:/b c", "/home/spark/a b", "/b c", False),
        ("~:/b", "/home/spark", "/b", False),
        ("/a:x:/b", "/a:x", "/b", False),
        ("//a/./b//:/c/./d/", "/a/b", "/c/d", False),
        ("/$x:/'b'", "/$x", "/'b'", False),
    ],
)
def test_volumes(text, source, target, read_only):
    made = mount(compile_text(native(), volumes=(text,)), target)
    assert (made.source.value, made.read_only, made.create) == (source, read_only, False)


def test_a_home_at_the_root():
    inventory = LAB.replace("user: spark", "user: spark, home: /")
    assert mounts(compile_text(native(), inventory))["/root/.triton"] == "/.triton"


@pytest.mark.parametrize(
    ("text", "code", "mention"),
    [
        ("/a", "SPK340", "not SRC:DST"),
        (":/b", "SPK340", "not SRC:DST"),
        ("/a:", "SPK340", "not SRC:DST"),
        ("a:/b", "SPK342", "relative"),
        ("./a:/b", "SPK342", "relative"),
        ("~bob/a:/b", "SPK342", "another user"),
        ("/a/../b:/b", "SPK342", "goes up"),
        ("/a:b", "SPK343", "not an absolute path"),
        ("/a:/b/../c", "SPK343", "not an absolute path"),
        ("/a:/", "SPK344", "taken"),
        ("/a:/sparkc", "SPK344", "taken"),
        ("/a://sparkc/x", "SPK344", "taken"),
    ],
)
def test_mounts_that_cannot_be(text, code, mention):
    compiled = compile_text(TWO, volumes=(text,))
    assert compiled.plan is None
    assert compiled.codes == [code]  # once, not per rank
    assert mention in compiled.report.diagnostics[0].message


def test_two_mounts_on_one_target_are_shown_at_both_places(snapshot):
    recipe = native("mounts:", "  - {source: /a, target: /x/y}", "  - {source: /b, target: /x//y/.}")
    compiled = compile_text(recipe, volumes=("/c:/x/y", "/d:/z", "/e:/z/"))
    assert compiled.plan is None
    assert compiled.text == snapshot
