"""The packed files: complete, small, and as pack.py makes them."""

import argparse
import json
from pathlib import Path

import pytest

import sparkc.flags
from sparkc.flags import dumps
from sparkc.flags.dump import options
from sparkc.flags.pack import history, pack

DATA = Path(sparkc.flags.__file__).parent / "data"
RECORDED = [(engine, version) for engine, versions in dumps.RECORDED.items() for version in versions]


def option(*names, **more):
    base = {
        "names": list(names), "action": "_StoreAction", "type": "str", "choices": None, "nargs": None, "metavar": None,
        "deprecated": False, "negative_names": [],
    }  # fmt: skip
    return {**base, **more}


def test_every_recorded_version_has_its_file_and_no_other():
    expected = {f"{engine}-{version}.json" for engine, version in RECORDED}
    expected |= {f"{engine}-history.json" for engine in dumps.RECORDED}
    assert {path.name for path in DATA.iterdir()} == expected
    assert sum(path.stat().st_size for path in DATA.iterdir()) < 600_000


@pytest.mark.parametrize(("engine", "version"), RECORDED)
def test_every_option_can_be_read(engine, version):
    dump = dumps.load(engine, version)
    kinds = {dump.option(name).kind.partition(":")[0] for name in dump.names()}
    assert (dump.engine, dump.version) == (engine, version)
    assert kinds <= {"switch", "text", "folded", "int", "float", "human", "human-or-auto", "json", "json-or-text"}
    assert {"--help", "--port"} <= set(dump.spellings)


@pytest.mark.parametrize("engine", dumps.RECORDED)
def test_the_history_is_that_of_the_files(engine):
    packed = [json.loads((DATA / f"{engine}-{version}.json").read_text()) for version in dumps.RECORDED[engine]]
    assert json.loads((DATA / f"{engine}-history.json").read_text()) == history(packed)


def test_lifetimes():
    assert dumps.lifetime("vllm", "--swap-space") == ("0.11.0", "0.13.0", "0.15.1", "0.17.1")
    assert dumps.lifetime("vllm", "--port") == ()
    assert dumps.lifetime("vllm", "--never-was") == ()


def test_packing_keeps_what_checks_need():
    dump = {
        "engine": "vllm",
        "version": "1.0.0",
        "options": [
            option("-tp", "--tensor-parallel-size", type="int", constraints={"ge": 1}),
            option("--lora", "--no-lora", nargs=0, negative_names=["--no-lora"]),
            option("--compilation-config", type="optional:json:Compilation"),
            option("--mode", choices=["a", "b"], deprecated=True, replacement="--new-mode"),
            option("--cache", metavar=["auto", "fp8"]),
            option("model", positional=True, names=[]),
        ],
        "config_classes": {
            "Compilation": {
                "level": {"type": "Optional[int]"},
                "kind": {"type": "Literal['x', 'y']", "choices": ["x", "y"]},
                "inner": {"type": "some.module.Inner | None"},
                "made": {"type": "int", "init": False},
            },
            "Inner": {"names": {"type": "list[str]"}},
            "Unreached": {"a": {"type": "int"}},
        },
    }
    assert pack(dump, None) == {
        "engine": "vllm",
        "version": "1.0.0",
        "options": {
            "--tensor-parallel-size": {"also": ["-tp"], "kind": "int", "ge": 1},
            "--lora": {"off": ["--no-lora"], "kind": "switch"},
            "--compilation-config": {"kind": "json:Compilation", "none": True},
            "--mode": {"kind": "text", "choices": ["a", "b"], "deprecated": "--new-mode"},
            "--cache": {"kind": "text", "suggested": ["auto", "fp8"]},
            "--model": {"kind": "text"},
        },
        "classes": {
            "Compilation": {"level": "int", "kind": ["x", "y"], "inner": "Inner"},
            "Inner": {"names": 0},
        },
    }


def test_a_parser_is_dumped_as_packing_wants_it():
    parser = argparse.ArgumentParser(add_help=False)
    parser.add_argument("model", nargs="?")
    parser.add_argument("--size", "-s", type=int, choices=[1, 2])
    parser.add_argument("--names", nargs="+")
    parser.add_argument("--extra", type=json.loads)
    parser.add_argument("--lora", action=argparse.BooleanOptionalAction)
    parser.add_argument("--quiet", "--silent", action="store_true")
    parser.add_argument("--hook", action="append")
    packed = pack({"engine": "sglang", "version": "1.0.0", "options": options(parser)}, None)
    assert packed["options"] == {
        "--size": {"also": ["-s"], "kind": "int", "choices": ["1", "2"]},
        "--names": {"kind": "text", "nargs": "+"},
        "--extra": {"kind": "json"},
        "--lora": {"off": ["--no-lora"], "kind": "switch"},
        "--quiet": {"also": ["--silent"], "kind": "switch"},
        "--hook": {"kind": "text", "collects": True},
    }
