"""Does the flag check agree with the real parser? Compares both on recipes' commands and on commands made wrong.

usage: flag_check_agreement.py ENGINE PYTHON VERSION RECIPES [SHOWN]

PYTHON is the interpreter of an environment with VERSION of ENGINE (vllm or sglang); RECIPES a folder of recipe files,
compiled for as many example nodes as each wants. Prints the numbers, and up to SHOWN (20) disagreements.
Only what the parser itself refuses is compared: names that the engine looks up later are beyond argparse.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

from sparkc.diagnostics import Report
from sparkc.diagnostics.model import Severity
from sparkc.flags import rules_vllm
from sparkc.flags.check import check_uses
from sparkc.flags.dumps import RECORDED
from sparkc.flags.findings import Findings
from sparkc.flags.grammar import CommandLine
from sparkc.flags.situation import Situation
from sparkc.flags.versions import pick_version
from sparkc.inventory.example import example_inventory
from sparkc.planning.group import Inputs
from sparkc.planning.model import Exec, RankPlan
from sparkc.planning.overrides import Overrides
from sparkc.planning.plan import make_plan
from sparkc.recipe.dialects import read_recipe_file
from sparkc.recipe.engine_command import find_engine
from sparkc.traced import Traced, from_flag

_VLLM = """
import contextlib, io, json, logging, os, sys
os.environ.update(VLLM_LOGGING_LEVEL="ERROR", VLLM_PLUGINS="", VLLM_NO_USAGE_STATS="1", VLLM_TARGET_DEVICE="cpu")
logging.disable(logging.WARNING)
from vllm.entrypoints.cli.serve import ServeSubcommand
try:
    from vllm.utils.argparse_utils import FlexibleArgumentParser
except ImportError:
    from vllm.utils import FlexibleArgumentParser
parser, serve = FlexibleArgumentParser(prog="vllm"), ServeSubcommand()
serve.subparser_init(parser.add_subparsers(dest="subparser"))
for line in sys.stdin:
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            serve.validate(parser.parse_args(json.loads(line)))
        print(json.dumps(None), flush=True)
    except SystemExit:
        print(json.dumps((said.getvalue().strip().splitlines() or ["exit"])[-1]), flush=True)
    except Exception as error:
        print(json.dumps(f"{type(error).__name__}: {error}"), flush=True)
"""
_SGLANG = """
import argparse, contextlib, io, json, sys
from sglang.srt.server_args import ServerArgs
parser = argparse.ArgumentParser()
ServerArgs.add_cli_args(parser)
for line in sys.stdin:
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said), contextlib.redirect_stdout(io.StringIO()):
            parser.parse_args(json.loads(line))
        print(json.dumps(None), flush=True)
    except SystemExit:
        print(json.dumps((said.getvalue().strip().splitlines() or ["exit"])[-1]), flush=True)
"""
# What argparse, or vLLM's check of the parsed arguments, refuses.
_PARSER_CODES = {f"SPK8{number:02}" for number in (1, 2, 5, 6, 7, 8, 10, 12, 13, 14, 16, 18)}

_ACCIDENTS = 10  # for each command

# Appended to a good command.
_VLLM_ENDINGS = (
    """
--max-num-sequences 4|--max-modle-len 8192|--swap-space 4|--task generate|--cuda-graph-sizes 1 2|--num-scheduler-steps 8
--dtype fp99|--dtype bfloat16|--kv-cache-dtype fp9|--kv-cache-dtype fp8|--moe-backend MARLIN|--moe-backend marlinn
--max-num-seqs abc|--max-num-seqs 4.5|--max-num-seqs 1_000|--max-num-seqs 4k|--gpu-memory-utilization high
--max-model-len 128k|--max-model-len 1.5K|--max-model-len auto|--max-model-len -1|--max-model-len 128x
--max-num-batched-tokens 8k|--max-num-batched-tokens auto|--kv-cache-memory-bytes 4G|--kv-cache-memory-bytes None
--compilation-config {bad|--compilation-config {"nope":1}|--compilation-config {"mode":3}|--compilation-config 3
--compilation-config {"cudagraph_capture_sizes":[1,2]}|--compilation-config {"cudagraph_num_of_warmups":"x"}
--compilation-config.cudagraph_mode=PIECEWISE|-cc.mode 3|-cc.nope 1|-cc.pass_config.nope true|--compilation-config
--kernel-config {"enable_flashinfer_autotune":false}|--kernel-config {"moe_backend":"nope"}
--kernel-config {"moe_backend":"marlin"}|--attention-config {"backend":"FLASHINFER"}|--kernel-config {"monokernel":1}
--speculative-config {"method":"mtp","num_speculative_tokens":3}|--speculative-config {'method':'mtp'}
--speculative-config None|--hf-overrides {"a":1}|--hf-overrides plain|--hf-overrides {a:1}
--kv-transfer-config {"kv_connector":"NixlConnector","kv_role":"kv_both"}|--kv-transfer-config {"kv_role":"nope"}
--enforce-eager true|--enforce-eager=true|--no-enforce-eager|--trust-remote-code|--no-trust-remote-code false
--enable-prefix-caching|--no-enable-prefix-caching|--disable-prefix-caching|--enable-log-requests|--disable-log-requests
--model other/model|--model|-tp2|-tp 2|-tp=2|-n2|-r1|-dp2|-q awq|-qawq|-O3|-O 3|-O=3|-O
--gpu-memory-utilization -0.5 --port 8000|--gpu-memory-utilization=-0.5|--gpu-memory-utilization 0.5
--tensor-parallel 1|--max-n 5|--no-enable-pref|--served-model a|--serv a b c|--pipeline 1
--port|--port --host 0.0.0.0|--port 80.5|--served-model-name a b c|--served-model-name
--max_num_seqs 4|--max_num-seqs=4|--enable_prefix_caching|--compilation_config {"mode":3}|--no_enable_prefix_caching
extra|"two words"|--cudagraph-capture-sizes 1 2 4|--cudagraph-capture-sizes 1 two|--cudagraph-capture-sizes
--enable-auto-tool-choice|--enable-auto-tool-choice --tool-call-parser hermes|--enable-log-outputs
--config=f.yaml|--middleware a --middleware b|--chat-template-content-format auto|--chat-template-content-format x
--limit-mm-per-prompt {"image":2}|--limit-mm-per-prompt.image 2|--limit-mm-per-prompt image=2|--mm-encoder-tp-mode data
--default-chat-template-kwargs {"enable_thinking":false}|--default-chat-template-kwargs.enable_thinking=false
--rope-scaling {}|--override-generation-config {}|--seed 1e3|--seed -5|--seed 7|--block-size 16|--block-size 17
--load-format b12x|--uvicorn-log-level x
--distributed-executor-backend mp|--distributed-executor-backend my.Class|--allowed-origins ["*"]|--allowed-origins *
""".replace("\n", "|")
    .strip("|")
    .split("|")
)
_SGLANG_ENDINGS = (
    """
--tp 2|--pp 2|--dp 2|--ep 2|--tp_size 2|--tp-size 2|--tp-size=2|--tp-size two|--pp-size 2|--mem-fraction-static 0.8
--mem-fraction-static -0.5|--mem-fraction-static high|--attention-backend triton|--attention-backend tritonn
--tool-call-parser hermes|--tool-call-parser hermess|--reasoning-parser qwen3|--reasoning-parser nope|--dtype fp99
--cuda-graph-bs 1 2|--cuda-graph-max-bs 8|--cuda-graph-bs-decode 1 2|--cuda-graph-bs-decode|--cuda-graph-bs-decode a
--disable-cuda-graph|--disable-cuda-graph true|--trust-remote-code|--trust-remote-code=1|--context-length 128k
--context-length 4096|--context-length 4k5|--chunked-prefill-size -1|--served-model-name a b|--served-model-name a
--nnodes 2 --node-rank 1 --dist-init-addr 10.0.0.1:20000|--port|--port --host 0.0.0.0|--port 80.5|extra|--json {
--json-model-override-args {}|--preferred-sampling-params {"a":1}|--preferred-sampling-params {a}|--load-format b12x
--speculative-algorithm EAGLE --speculative-num-steps 3|--max-model-len 8|--enable-metrics|--no-enable-metrics
""".replace("\n", "|")
    .strip("|")
    .split("|")
)


def commands(engine: str, folder: Path) -> list[list[str]]:
    """Return an engine's arguments in each recipe that compiles, without files of the container."""
    found = []
    for path in sorted(file for file in folder.rglob("*") if file.suffix in {".yaml", ".toml", ".sh"}):
        report = Report()
        recipe = read_recipe_file(path.name, path.read_bytes(), report)
        if recipe is None:
            continue
        plan = make_plan(Inputs(recipe, example_inventory(), Overrides()), report)
        words = [] if plan is None else _argv(plan.ranks[0])
        start = find_engine(words)
        mark = {"vllm": "serve", "sglang": "sglang.launch_server"}[engine]
        if start is not None and start.engine == engine and mark in words[start.start :]:
            found.append(_portable(words[words.index(mark, start.start) + 1 :]))
    return found


def _argv(rank: RankPlan) -> list[str]:
    process = rank.process
    return [word.value for word in (process.argv if isinstance(process, Exec) else process.engine_argv)]


def _portable(words: list[str]) -> list[str]:
    """Without what vLLM looks for on the disk."""
    kept, skip = [], False
    for word in words:
        if not skip and word.split("=")[0] not in {"--chat-template", "--tool-parser-plugin", "--config"}:
            kept.append(word)
        skip = not skip and word in {"--chat-template", "--tool-parser-plugin", "--config"}
    return kept


def ours(engine: str, argv: list[str], version: str) -> tuple[str, ...]:
    """Return the codes of the errors that the check finds in an engine's arguments."""
    words = tuple(Traced(word, from_flag(word)) for word in argv)
    report = Report()
    image = {"vllm": "vllm/vllm-openai", "sglang": "lmsysorg/sglang"}[engine]
    basis = pick_version(engine, None, f"{image}:v{version}", RECORDED[engine])
    findings = Findings(basis, report)
    line = CommandLine(findings, words, positional=engine == "vllm")
    values = check_uses(line, findings, in_shell=False)
    for rule in (rules_vllm.needs, rules_vllm.model_first) if engine == "vllm" else ():
        rule(Situation(engine, 1, line, values, findings))
    # The engine makes a configuration of --speculative-config long after its parser has taken it.
    refused = [
        found
        for found in report.diagnostics
        if found.severity is Severity.ERROR and "--speculative-config of" not in found.message
    ]
    by_choice = {found.code for found in refused if found.code == "SPK809" and "does not take" in found.message}
    return tuple(sorted({found.code for found in refused if found.code in _PARSER_CODES} | by_choice))


def spoiled(argv: list[str], chance: random.Random) -> list[str]:
    """Return a command with one accident: a word lost, doubled, moved, shortened, glued to the next, or exchanged."""
    words = list(argv)
    at = chance.randrange(1, len(words))
    kind = chance.randrange(7)
    if kind == 0:
        del words[at]
    elif kind == 1:
        words.insert(at, words[at])
    elif kind == 2:
        words.insert(chance.randrange(1, len(words)), words.pop(at))
    elif kind == 3:
        words[at] = words[at][:-1]
    elif kind == 4 and at + 1 < len(words):
        words[at : at + 2] = [words[at] + chance.choice(["", "=", " "]) + words[at + 1]]
    elif kind == 5:
        words[at] = words[chance.randrange(1, len(words))]
    else:
        cut = chance.randrange(len(words[at]) or 1)
        words[at] = words[at][:cut] + words[at][cut + 1 :]
    return words


def main() -> int:
    engine, python, version, folder = *sys.argv[1:4], Path(sys.argv[4])
    shown = int(sys.argv[5]) if len(sys.argv) > 5 else 20
    real, endings, shortest = {
        "vllm": (_VLLM, _VLLM_ENDINGS, ["org/model"]),
        "sglang": (_SGLANG, _SGLANG_ENDINGS, ["--model-path", "org/model"]),
    }[engine]
    whole = commands(engine, folder)
    bases = [*whole[::20], shortest]
    broken = [
        [*base, *([ending.strip('"')] if ending.startswith('"') else ending.split(" "))]
        for base in bases
        for ending in endings
    ]
    chance = random.Random(0)
    plain = broken[-len(endings) :]
    accidents = [spoiled(argv, chance) for argv in [*whole, *plain] for _ in range(_ACCIDENTS)]
    cases = [
        (kind, argv) for kind, some in [("recipes", whole), ("made", broken), ("spoiled", accidents)] for argv in some
    ]
    before = ["serve"] if engine == "vllm" else []
    lines = "".join(f"{json.dumps([*before, *argv])}\n" for _, argv in cases)
    done = subprocess.run([python, "-c", real], input=lines, capture_output=True, text=True, check=True)
    counts: Counter[str] = Counter()
    differing = []
    for (kind, argv), answer in zip(cases, done.stdout.splitlines(), strict=True):
        refusal, codes = json.loads(answer), ours(engine, argv, version)
        agreed = (refusal is None) == (not codes)
        counts[f"{kind}: {'both refuse' if codes else 'both accept'}" if agreed else f"{kind}: DIFFERENT"] += 1
        if not agreed:
            differing.append((argv, refusal, codes))
    for name, count in sorted(counts.items()):
        print(f"{count:5} {name}")
    for argv, refusal, codes in differing[:shown]:
        print(f"…{' '.join(argv[-4:])}\n   vLLM: {refusal}\n   here: {' '.join(codes) or 'accepted'}")
    return int(bool(differing))


if __name__ == "__main__":
    sys.exit(main())
