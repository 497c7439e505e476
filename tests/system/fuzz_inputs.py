"""Valid recipes and inventories of every kind to be mutated, and odd text and bytes to put into them."""

from system_tools import RECIPE, inventory

NATIVE = RECIPE + (
    """\
served_model_name: [a, b]
defaults: {ctx: "128000", n: 3}
json_args: {--compilation-config: {cudagraph_mode: FULL, sizes: [1, 2]}}
secrets: [HF_TOKEN]
mods: [first]
mounts: [{source: ~/templates, target: /templates, read_only: true}]
entrypoint: [python3, /opt/x.py]
container: {privileged: false, shm_size: 64gb, pids: null, devices: [/dev/fuse], ulimits: {nofile: 1024}}
health: {path: /health, start_period: 30m}
earlyoom: "-M 1,2"
deviations: [{key: args.--x, reason: because}]
notes: {driver: "580.x"}
"""
).replace('"4096"', '"{ctx}"')
PLAIN = """\
sparkc: 1
name: plain
engine: plain
image: x:1
nodes: 2
port: 80
env: &env {A: "1", B: "{node.name}"}
command: |
  X=1 exec python3 serve.py --rank {rank} --of "{nnodes}" \\
    --at '{head.address}:{port}' "a b"
"""
TOML = """\
sparkc = 1
name = "toml"
engine = "vllm-ray"
image = "x:1"
model = "org/m"
args = ["--max-model-len", "{ctx}", '{"a": 1}']

[parallel]
tensor = 2

[defaults]
ctx = "4096"

[env]
A = "1"

[[mounts]]
source = "/a"
target = "/b"
"""
V1 = """\
recipe_version: "1"
name: old
container: vllm-node
model: org/model-b
mods: [mods/first]
defaults: {port: 8000, tensor_parallel: 2, spec: '{"a": 1}', words: "a 'b c'"}
env: {B: "1", A: NO}
cluster_only: true
command: |
  HF_X=1 vllm serve org/model-b --port {port} -tp {tensor_parallel} \\
    --kv '{{"a": "{words}"}}' --spec '{spec}' {words} \\
    --distributed-executor-backend ray
"""
SCRIPT = """\
recipe_version: 1
name: script
container: vllm-node
defaults: {port: 8000, tensor_parallel: 2}
command: |
  #!/bin/bash
  set -e
  if [ -n "${{X:-}}" ]; then export Y=$(date +%s); fi
  for i in 1 2; do echo "$i" | tee /tmp/$i; done
  cat <<EOF
  {port} $X
  EOF
  vllm serve m --port {port} -tp {tensor_parallel} 2>&1 | tee log  # {{x}}
"""
SM121 = """\
engine = "vllm"
name = "sm"
docker_image = "x@sha256:1"
entrypoint = ["python3", "serve"]
model = "/models/m"
parent_model = "org/m"
port = 30000
required_nodes = 2
tensor_parallel_size = 2
shm_size = "32gb"
devices = ["/dev/infiniband"]
args = ["--x", "1", \""" '{"a":1}'\"""]

[[extra_mounts]]
host = "~/c"
container = "/cache"

[env]
A = "1"
"""
SPARKRUN = """\
recipe_version: "2"
name: run
model: org/m
model_revision: 0123456789abcdef0123456789abcdef01234567
runtime: vllm-distributed
container: x:1
min_nodes: 2
max_nodes: 2
mods: [mods/first]
metadata: {description: d, maintainer: m}
defaults: {port: 8000, tensor_parallel: 2, served_model_name: a, more: "{port} x"}
env: {A: "1", B: "${HOME}/x"}
executor_config: {shm_size: 10g, user: root}
command: |
  vllm serve {model} --port {port} -tp {tensor_parallel} \\
    --spec '{"a": {"b": [1]}}' {more}
"""
LAUNCH = """\
#!/bin/bash
# PROFILE: fast
# DESCRIPTION: a script
export A="1"
if [ -n "${X:-}" ]; then echo x; fi
exec vllm serve org/m -tp 2 --port 8000 2>&1 | tee log
"""
INVENTORY = inventory(4, n2="hcas: [a, b], env: {A: '1'}, home: /srv/x", n3="transfer: 10.0.0.3, gpus: 1") + (
    "gid: {pin: 3}\nenv: {NCCL_DEBUG: WARN}\ncaches: {huggingface: ~/hf}\nlimits: {nofile: 1048576, memlock: -1}\n"
)
INVENTORY_TOML = """\
sparkc_inventory = 1
topology = "pair"
[defaults]
user = "alice"
interface = "eth0"
hcas = ["a", "b"]
[[nodes]]
name = "a"
ssh = "a"
address = "10.0.0.1"
[[nodes]]
name = "b"
ssh = "root@b:22"
address = "fd00::2"
"""
RECIPES = {
    "native": ("recipe.yaml", NATIVE),
    "plain": ("recipe.yaml", PLAIN),
    "native TOML": ("recipe.toml", TOML),
    "v1": ("recipe.yaml", V1),
    "v1 script": ("recipe.yaml", SCRIPT),
    "sm121": ("recipe.toml", SM121),
    "sparkrun": ("recipe.yaml", SPARKRUN),
    "launch script": ("recipe.sh", LAUNCH),
}
INVENTORIES = {"YAML": ("inventory.yaml", INVENTORY), "TOML": ("inventory.toml", INVENTORY_TOML)}

ODD = [
    *"\"'[]{}:#&*!|>%@`$~-?,\t\n\r\\",
    "",
    "null",
    "true",
    "NO",
    "-1",
    "0",
    "007",
    "1e3",
    "1_0",
    ".inf",
    "0x1F",
    "99999999999999999999999999",
    "9" * 4000,
    "2026-01-01",
    "[]",
    "{}",
    "[[]]",
    "[null]",
    "[1, {a: b}]",
    "{a: {b: c}}",
    "{1: 2, 01: 3}",
    "*env",
    "&a [*a]",
    "<<: *env",
    "!!python/object:os.system x",
    "!!binary aGk=",
    '"""',
    "'''",
    "{rank}",
    "{port}",
    "{unknown}",
    "{{x}}",
    "{0}",
    "{a!r}",
    "${X:-}",
    "$(date)",
    "`id`",
    "<<EOF",
    "; rm -rf /",
    "&& vllm serve b -tp 4",
    "| tee x",
    "-tp 8",
    "--tensor-parallel-size=0",
    "--nnodes 3",
    "--port x",
    "~other/x",
    "../../x",
    "/sparkc",
    "a" * 300,
    "\x00",
    "\x01",
    "\x7f",
    "\x85",
    "\u2028",
    "\ufeff",
    "\u202e",
    "🚀",
    "“x”",
    "\\U00110000",
    "\\ud800",
    "hf_abcdefghijklmnopqrstuvwxyz",
    "[" * 70,
    "{a: " * 70,
    "((" * 40,
    "$(" * 70,
    "'\"" * 30,
    "\n  x: 1",
    "\n- x",
    "\n\n",
    "\\\n",
    "\\ \n",
    " # x",
]
ODD_BYTES = [b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xff\xfe", b"\r", b"\x00", b"\xf4\x90\x80\x80"]
