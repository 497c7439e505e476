"""sparkc fit: the facts it reads, what it prints, and its exit codes."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import pytest

from support.fit_models import DENSE

REVISION = "b" * 40  # of the project's recipe
INFO = f"sparkc_model: 1\nmodel: org/model\nweights_bytes: 80000000000\nconfig: {json.dumps(DENSE)}\n"
SNAPSHOT = f"hub/models--org--model/snapshots/{REVISION}"
DRAFTED = """\
sparkc: 1
name: drafted
engine: vllm
image: img:1
model: org/model
revision: {revision}
parallel: {{tensor: 2}}
json_args:
  --speculative-config: {{method: dflash, model: "{draft}", num_speculative_tokens: 4}}
"""


PAIR = """\
sparkc_inventory: 1
topology: pair
defaults: {user: spark, interface: enp1s0f0np0, hcas: [rocep1s0f0, roceP2p1s0f0], memory: 121.6}
nodes:
  - {name: spark-1, ssh: spark-1.lan, address: 10.0.0.1}
  - {name: spark-2, ssh: spark-2.lan, address: 10.0.0.2}
"""
HY3 = """\
sparkc: 1
name: hy3
engine: vllm
image: img:1
model: kodelow/Hy3-NVFP4-W4A16
parallel: {tensor: 2}
args:
  - --enforce-eager
  - --max-model-len=114688
  - --max-num-seqs=6
  - --max-num-batched-tokens=4096
  - --kv-cache-dtype=fp8_e4m3
  - --gpu-memory-utilization=0.80
json_args:
  --speculative-config: {method: mtp, num_speculative_tokens: 1}
"""
HY3_FACTS = """\
sparkc_model: 1
weights_bytes: 181000000000
config:
  num_hidden_layers: 80
  num_attention_heads: 64
  num_key_value_heads: 8
  head_dim: 128
  hidden_size: 4096
  intermediate_size: 13312
  vocab_size: 120832
  num_experts: 192
  num_experts_per_tok: 8
  moe_intermediate_size: 1536
  first_k_dense_replace: 1
  num_nextn_predict_layers: 1
  dtype: bfloat16
  quantization_config: {quant_method: modelopt, quant_algo: NVFP4}
"""


def safetensors(**sizes: int) -> bytes:
    """A safetensors file without its data: only the header counts."""
    entries, end = {"__metadata__": {"format": "pt"}}, 0
    for name, size in sizes.items():
        entries[name] = {"dtype": "U8", "shape": [size], "data_offsets": [end, end + size]}
        end += size
    header = json.dumps(entries).encode()
    return struct.pack("<Q", len(header)) + header


def put(project, name, data):
    path = project.root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else json.dumps(data).encode())


def weights(outcome, rank=0):
    return next(line for line in json.loads(outcome.out)["ranks"][rank]["lines"] if line["name"] == "weights")


def test_the_example_in_the_documentation_is_real(empty):
    page = (Path(__file__).resolve().parents[2] / "docs/reference/fit.md").read_text(encoding="utf-8")
    command, shown = page.split("```\n$ sparkc ")[1].split("```")[0].split("\n", 1)
    empty.write("inventory.yaml", PAIR)
    empty.write("recipes/hy3.yaml", HY3)
    empty.write("hy3.yaml", HY3_FACTS)

    assert empty.run(*command.split()).out == shown


def test_a_fitting_recipe_prints_the_sum(project):
    project.write("info.yaml", INFO)
    outcome = project.run("fit", "tiny", "--model-info", "info.yaml")

    assert outcome.code == 0, outcome.err
    assert outcome.err == ""
    lines = outcome.out.splitlines()
    assert lines[0] == "tiny: org/model"
    assert lines[1] == "rank 0 on spark-a, 4 layers; the tightest of 2 ranks"
    assert "  weights        37.25 GiB  estimated" in outcome.out
    assert "--gpu-memory-utilization 0.92 (vLLM's default)" in outcome.out
    assert "spark-a, from a DGX Spark's 128 GB" in outcome.out
    assert lines[-1] == "It fits."
    assert "out" not in [path.name for path in project.root.iterdir()]


def test_a_recipe_that_does_not_fit_exits_1_and_says_why(project):
    project.write("info.yaml", INFO)
    outcome = project.run("fit", "tiny", "--model-info", "info.yaml", "--gpu-mem", "0.3")

    assert outcome.code == 1
    assert "It does not fit:" in outcome.out
    assert "rank 0 on spark-a: the weights and what the engine needs exceed" in outcome.out
    assert "What would help:\n  --gpu-memory-utilization 0.3" in outcome.out


def test_overrides_and_the_inventory_count(project):
    project.write("info.yaml", INFO)
    inventory = (
        (project.root / "inventory.yaml").read_text().replace("ssh: spark-b.lan", "ssh: spark-b.lan, memory: 60")
    )
    project.write("inventory.yaml", inventory)
    flags = ("--gpu-mem", "0.8", "--json", "--", "--kv-cache-dtype", "fp8")
    outcome = project.run("fit", "tiny", "--model-info", "info.yaml", *flags)
    found = json.loads(outcome.out)

    assert outcome.code == 0, outcome.err
    assert found["cache_type"] == "fp8"
    assert found["tightest_rank"] == 1
    assert found["ranks"][1]["memory_bytes"] == 60 << 30
    assert found["ranks"][1]["memory_from"] == "the inventory"
    assert found["max_model_len"] == 4096
    assert found["ranks"][0]["bytes_per_token"] == 4 * 2 * 2 * 16
    for rank in found["ranks"]:
        places = {
            place: sum(line["bytes"] for line in rank["lines"] if line["place"] == place)
            for place in ("budget", "beside")
        }
        assert rank["engine_bytes"] == places["budget"]
        assert rank["sum_bytes"] == places["budget"] + places["beside"] == rank["memory_bytes"] - rank["free_bytes"]


def test_headers_of_weights_that_are_there_are_counted(project):
    put(project, f"{SNAPSHOT}/config.json", DENSE)
    put(project, f"{SNAPSHOT}/model.safetensors", safetensors(**{
        "model.embed_tokens.weight": 1000, "model.layers.0.mlp.up_proj.weight": 500, "model.layers.0.norm.weight": 10,
    }))  # fmt: skip
    put(project, f"{SNAPSHOT}/consolidated.safetensors", safetensors(everything=9999))
    for folder in ("hub", "."):
        outcome = project.run("fit", "tiny", "--hf-cache", folder, "--json")

        assert outcome.code == 0, outcome.err
        assert weights(outcome)["bytes"] == 500 + 250 + 10
        assert weights(outcome)["basis"] == "measured"


def test_the_index_is_enough(project):
    index = {
        "metadata": {"total_size": 80_000_000_000},
        "weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"},
    }
    put(project, f"{SNAPSHOT}/config.json", DENSE)
    put(project, f"{SNAPSHOT}/model.safetensors.index.json", index)
    put(project, f"{SNAPSHOT}/model-1.safetensors", safetensors(a=5))  # the second is not there yet
    outcome = project.run("fit", "tiny", "--hf-cache", "hub", "--json")

    assert weights(outcome)["bytes"] == 40_000_000_000
    assert "total_size of the index" in weights(outcome)["formula"]
    put(project, f"{SNAPSHOT}/model-2.safetensors", safetensors(b=7))
    assert weights(project.run("fit", "tiny", "--hf-cache", "hub", "--json"))["basis"] == "measured"


def test_a_cache_without_the_model_says_what_to_type(project):
    (project.root / "hub").mkdir()
    outcome = project.run("fit", "tiny", "--hf-cache", "hub")

    assert outcome.code == 1
    assert "error[SPK720]: hub has no config.json of org/model" in outcome.err
    assert (
        f"hf download org/model --revision {REVISION} config.json model.safetensors.index.json --cache-dir hub"
        in outcome.err
    )
    assert outcome.out == ""


def test_without_a_source_it_says_which_files_it_needs(project):
    outcome = project.run("fit", "tiny")

    assert outcome.code == 1
    assert "recipes/tiny.yaml:5:8: error[SPK720]: sparkc fit needs the config.json of org/model" in outcome.err
    assert (
        "hf download org/model config.json model.safetensors.index.json --cache-dir hub, then --hf-cache hub"
        in outcome.err
    )


def test_another_revision_than_the_recipes_does_not_count(project):
    put(project, f"hub/models--org--model/snapshots/{'c' * 40}/config.json", DENSE)

    assert project.run("fit", "tiny", "--hf-cache", "hub").code == 1


def test_two_sources_are_a_mistake(project):
    project.write("info.yaml", INFO)
    outcome = project.run("fit", "tiny", "--model-info", "info.yaml", "--hf-cache", ".")

    assert outcome.code == 2
    assert "give one" in outcome.err


def test_a_draft_in_a_folder_of_the_snapshot(project):
    path = f"/root/.cache/huggingface/hub/models--org--model/snapshots/{REVISION}/dflash"
    project.write("recipes/drafted.yaml", DRAFTED.format(revision=REVISION, draft=path))
    index = {"metadata": {"total_size": 80_000_000_000}}
    put(project, f"{SNAPSHOT}/config.json", DENSE)
    put(project, f"{SNAPSHOT}/model.safetensors.index.json", index)
    outcome = project.run("fit", "drafted", "--hf-cache", "hub")

    assert outcome.code == 1
    assert "error[SPK720]" in outcome.err
    assert "dflash/config.json dflash/model.safetensors.index.json" in outcome.err

    put(project, f"{SNAPSHOT}/dflash/config.json", {**DENSE, "num_hidden_layers": 2})
    put(project, f"{SNAPSHOT}/dflash/model.safetensors", safetensors(**{"layers.0.mlp.up_proj.weight": 4000}))
    outcome = project.run("fit", "drafted", "--hf-cache", "hub", "--json")
    [draft] = [line for line in json.loads(outcome.out)["ranks"][0]["lines"] if line["name"] == "draft (dflash)"]
    assert draft["bytes"] == 2000
    assert json.loads(outcome.out)["ranks"][0]["bytes_per_token"] == (4 + 2) * 128


def test_a_draft_that_only_the_container_has(project):
    project.write("recipes/drafted.yaml", DRAFTED.format(revision=REVISION, draft="/workspace/draft"))
    put(project, f"{SNAPSHOT}/config.json", DENSE)
    put(project, f"{SNAPSHOT}/model.safetensors", safetensors(a=5))
    outcome = project.run("fit", "drafted", "--hf-cache", "hub")

    assert "write its facts into a --model-info file" in outcome.err
    project.write("info.yaml", INFO)
    outcome = project.run("fit", "drafted", "--model-info", "info.yaml")
    assert "nothing is known about the draft model /workspace/draft" in outcome.err
    project.write("info.yaml", f"{INFO}draft: {{weights_bytes: 2000, config: {json.dumps(DENSE)}}}\n")
    assert project.run("fit", "drafted", "--model-info", "info.yaml").code == 0


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("config.json", b"{", "org/model/config.json:1:2: error[SPK721]"),
        ("config.json", b"[1]", "holds no JSON object"),
        ("config.json", b"\xff\xfe", "config.json is not JSON"),
        ("config.json", b"[" * 100_000, "config.json is not JSON"),
        ("config.json", b'{"a": ' + b"9" * 5000 + b"}", "config.json is not JSON"),
        ("config.json", b"{}", "has no num_hidden_layers"),
        ("model.safetensors", b"version https://git-lfs.github.com/spec/v1\n", "model.safetensors is not JSON"),
        ("model.safetensors", b"", "model.safetensors is not JSON"),
        ("model.safetensors.index.json", b"{}", "has no metadata.total_size"),
    ],
)
def test_broken_files_are_errors(project, name, data, message):
    put(project, f"{SNAPSHOT}/config.json", DENSE)
    if name != "model.safetensors.index.json":
        put(project, f"{SNAPSHOT}/model.safetensors", safetensors(a=5))
    put(project, f"{SNAPSHOT}/{name}", data)
    outcome = project.run("fit", "tiny", "--hf-cache", "hub")

    assert outcome.code == 1
    assert message in outcome.err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sparkc_model: 1\n", "config"),
        ("sparkc_model: 1\nconfig: {}\nweights_bytes: 1\n", "has no num_hidden_layers"),
        (
            INFO.replace("weights_bytes: 80000000000\n", ""),
            "error[SPK720]: org/model: neither weights_bytes nor parameters",
        ),
        (INFO.replace("weights_bytes", "weight_bytes"), "weight_bytes"),
        (INFO.replace("80000000000", "lots"), "weights_bytes"),
        (INFO.replace("sparkc_model: 1", "sparkc_model: 2"), "sparkc_model"),
    ],
)
def test_a_wrong_model_file_is_located(project, text, message):
    project.write("info.yaml", text)
    outcome = project.run("fit", "tiny", "--model-info", "info.yaml")

    assert outcome.code == 1
    assert message in outcome.err
    assert "info.yaml:" in outcome.err


def test_parameters_and_their_bits_make_a_size(project):
    # 10^9 parameters, of which 2 × 1000 × 128 stay at 16 bits
    config = json.dumps({**DENSE, "quantization_config": {"quant_algo": "NVFP4"}})
    project.write("info.yaml", f"sparkc_model: 1\nparameters: 1_000_000_000\nconfig: {config}\n")
    outcome = project.run("fit", "tiny", "--solo", "--tp", "1", "--model-info", "info.yaml", "--json")

    assert outcome.code == 0, outcome.err
    assert weights(outcome)["bytes"] == pytest.approx(256_000 * 2 + (10**9 - 256_000) * 4.5 / 8, abs=2)
    assert "parameters × 4.5 bits (nvfp4)" in weights(outcome)["formula"]


def test_an_engine_without_formulas_says_so(project):
    project.write("recipes/other.yaml", "sparkc: 1\nname: other\nengine: plain\nimage: i:1\ncommand: serve-it\n")
    project.write("info.yaml", INFO)
    outcome = project.run("fit", "other", "--model-info", "info.yaml")

    assert outcome.code == 1
    assert "error[SPK724]: there are no formulas for engine plain" in outcome.err


def test_a_name_that_no_file_system_takes(project):
    recipe = (project.root / "recipes/tiny.yaml").read_text().replace("org/model", f"org/{'m' * 300}")
    project.write("recipes/tiny.yaml", recipe)
    outcome = project.run("fit", "tiny", "--hf-cache", ".")

    assert outcome.code == 1
    assert "File name too long" in outcome.err


def test_sglang_is_known_too(project):
    recipe = "sparkc: 1\nname: sg\nengine: sglang\nimage: i:1\nmodel: org/model\nargs: [--mem-fraction-static, '0.8']\n"
    project.write("recipes/sg.yaml", recipe)
    project.write("info.yaml", INFO)
    outcome = project.run("fit", "sg", "--model-info", "info.yaml", "--json")
    found = json.loads(outcome.out)

    assert (outcome.code, found["limit"]) == (0, "--mem-fraction-static 0.8")
    assert found["ranks"][0]["engine_bytes"] == int(0.8 * int(119.7 * (1 << 30)))
