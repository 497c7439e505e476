"""Every check before a start: found, named by node, with the command that mends it; and no alarm on healthy nodes."""

from dataclasses import replace

import pytest

from sparkc.bundle.manifest import to_bytes
from sparkc.errors import SparkcError
from sparkc.runner.facts import Hca, Interface, Listener, Mount, Snapshot
from sparkc.runner.preflight import node_checks, preflight, read_environment
from support.node_facts import (
    COMMIT,
    DIGEST,
    GIB,
    container,
    image,
    manifest,
    node,
    rank,
    releases,
    serving,
)

ROCE = "0000:0000:0000:0000:0000:ffff:c0a8:b10b"


def found(bundle=None, environments=None, *, first=None, second=None, **options):
    """Return (severity, node, what) of the findings, with changes to the facts of the nodes."""
    return [(f.severity, f.node, f.what) for f in findings(bundle, environments, first=first, second=second, **options)]


def findings(bundle=None, environments=None, *, first=None, second=None, **options):
    facts = {0: node(0, **(first or {})), 1: node(1, **(second or {}))}
    return preflight(bundle or manifest(), facts, environments, **options)


def hint(**where):
    (finding,) = findings(**where)
    return finding.hint


def test_healthy_nodes_have_no_findings():
    assert findings() == []


def test_a_running_group_is_in_nobody_s_way():
    taken = {8000: Listener(0), 29501: Listener(0)}
    facts = {number: replace(facts, listeners=taken) for number, facts in serving().items()}
    assert preflight(manifest(), facts) == []


def test_a_node_that_cannot_be_looked_at_is_an_error_and_hides_nothing_of_the_others():
    facts = {0: SparkcError("cannot be reached", host="spark-1", output="no route", hint="is it on?"), 1: node(1)}
    facts[1] = replace(facts[1], rsync=None)
    first, second = preflight(manifest(), facts)
    assert (first.severity, first.node, first.what, first.hint) == (
        "error",
        "spark-1",
        "cannot be reached",
        "is it on?",
    )
    assert first.details == ("no route",)
    assert (second.node, second.what) == ("spark-2", "there is no rsync")


# The node


@pytest.mark.parametrize(
    ("change", "severity", "what", "mended"),
    [
        (
            {"docker": None, "compose": None, "docker_error": "there is no docker program"},
            "error",
            "there is no docker program; PATH was /usr/bin",
            "install Docker Engine (https://docs.docker.com/engine/install/), or link it into /usr/local/bin",
        ),
        (
            {"docker": None, "image": None, "docker_error": "permission denied while trying to connect"},
            "error",
            "spark may not use Docker: permission denied while trying to connect",
            "ssh -t spark@spark-2.lan sudo usermod -aG docker spark",
        ),
        (
            {"docker": None, "image": None, "docker_error": "no answer within 20 s"},
            "error",
            "Docker does not answer: no answer within 20 s",
            "ssh -t spark@spark-2.lan sudo systemctl restart docker",
        ),
        ({"rsync": None}, "error", "there is no rsync", "ssh -t spark@spark-2.lan sudo apt-get install rsync"),
        (
            {"home": "/data/spark"},
            "error",
            "spark's home is /data/spark, but the inventory says /home/spark",
            "write `home: /data/spark` for spark-2 in the inventory and compile again",
        ),
        (
            {"root": Mount("/home/spark/.local/share/sparkc", "directory", False, "root", False)},
            "error",
            "spark cannot write to /home/spark/.local/share/sparkc, where releases are kept (owner: root)",
            "ssh -t spark@spark-2.lan sudo chown -R spark /home/spark/.local/share/sparkc",
        ),
        (
            {"stray": "Welcome to spark\nhave fun"},
            "note",
            "the login shell prints 'Welcome to spark' where no terminal is; sparkc ignores it, other programs may not",
            "let ~/.bashrc print for interactive shells only",
        ),
        ({"driver": None}, "warning", "the NVIDIA driver is not loaded", "ssh spark@spark-2.lan nvidia-smi"),
        (
            {"driver": "590.48.01"},
            "warning",
            "with driver 590.48.01 CUDA graphs deadlock on GB10",
            "stay with driver 580, or let the engine run without CUDA graphs (vLLM: --enforce-eager)",
        ),
        (
            {"swap_total": 16 * GIB},
            "note",
            "swap is on (16.0 GiB): a node that runs out of memory stands still instead of failing",
            "ssh -t spark@spark-2.lan sudo swapoff -a",
        ),
        (
            {"page_cache": 70 * GIB},
            "note",
            "the page cache holds 70.0 GiB of what CPU and GPU share; loading may fail on it",
            "ssh -t spark@spark-2.lan 'sync; echo 3 | sudo tee /proc/sys/vm/drop_caches'",
        ),
        (
            {"cma_total": 1, "cma_free": 2},
            "warning",
            "CmaFree is above CmaTotal: this kernel leaks memory that RDMA needs (`Cannot allocate memory`)",
            "boot with kho=off",
        ),
    ],
)
def test_what_is_wrong_with_a_node(change, severity, what, mended):
    assert [(f.severity, f.node, f.what, f.hint) for f in findings(second=change)] == [
        (severity, "spark-2", what, mended)
    ]


@pytest.mark.parametrize(
    ("version", "fine"),
    [
        ("2.29.7", False),
        ("v2.30.0", True),
        ("2.30.1-desktop.1", True),
        ("5.3.0", True),
        ("1.29.2", False),
        ("dev", False),
    ],
)
def test_compose_must_read_raw_env_files(version, fine):
    said = found(second={"compose": version})
    assert (said == []) is fine
    if not fine:
        assert said == [("error", "spark-2", f"Compose is {version}; raw env files need 2.30 or newer")]


def test_no_compose_is_an_error():
    assert found(first={"compose": None}) == [("error", "spark-1", "there is no `docker compose`")]


@pytest.mark.parametrize(("free", "severity"), [(5 * GIB, None), (4 * GIB, "warning"), (100 << 20, "error")])
def test_a_disk_that_fills_up(free, severity):
    expected = [] if severity is None else [severity]
    assert [s for s, _, _ in found(first={"disk_free": {"/": 900 * GIB, "/home": free}})] == expected


def test_memory_in_use_is_suspicious_only_while_no_bundle_runs():
    busy = {"memory_available": 60 * GIB}
    assert found(first=busy) == [("warning", "spark-1", "59.0 GiB of 119.0 GiB are in use although no bundle runs")]
    assert found(first=busy | {"containers": (container(0),)}) == []


def test_two_nodes_that_are_one_engine():
    assert found(second={"engine_id": "engine-0"}) == [
        ("error", None, "spark-1 and spark-2 are the same Docker Engine (engine-0)")
    ]


# The fabric


def interfaces(**changes):
    return dict(node(1).interfaces) | {name: replace(node(1).interfaces[name], **c) for name, c in changes.items()}


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (
            {"interfaces": interfaces(enp1s0f0np0={"addresses": ("10.0.0.1",)})},
            "the address 192.168.177.12 is on no interface of the node, not on enp1s0f0np0, which has 10.0.0.1",
        ),
        (
            {"interfaces": interfaces(enp1s0f0np0={"addresses": ()}, enp1s0f1np1={"addresses": ("192.168.177.12",)})},
            "the address 192.168.177.12 is on enp1s0f1np1, not on enp1s0f0np0, which has no address",
        ),
        ({"interfaces": interfaces(enp1s0f0np0={"state": "down"})}, "the interface enp1s0f0np0 is down"),
        ({"rdma": False}, "there is no /dev/infiniband, so no RDMA"),
        ({"hcas": {"rocep1s0f1": Hca("rocep1s0f1", "ACTIVE", {})}}, "there is no HCA rocep1s0f0"),
        (
            {"hcas": {"rocep1s0f0": Hca("rocep1s0f0", "DOWN", {3: (ROCE, "RoCE v2", "enp1s0f0np0")})}},
            "the HCA rocep1s0f0 is DOWN, not ACTIVE",
        ),
        ({"unreachable": ("192.168.177.11",)}, "spark-1 does not answer on 192.168.177.11"),
        (
            {"narrow": ("192.168.177.11",)},
            "spark-1 answers on 192.168.177.11, but not to packets of enp1s0f0np0's MTU, 9000",
        ),
    ],
)
def test_what_is_wrong_with_the_fabric_on_a_node(change, what):
    assert found(second=change) == [("error", "spark-2", what)]


def test_a_missing_interface_names_the_ones_that_are_there():
    only = {"lo": node().interfaces["lo"], "enp1s0f0np1": Interface("enp1s0f0np1", "up", 9000, ("192.168.177.12",))}
    (finding,) = findings(second={"interfaces": only})
    assert finding.what == "there is no interface enp1s0f0np0"
    assert finding.hint == "did you mean 'enp1s0f0np1'? (`interface:` in the inventory)"


def test_addresses_that_could_not_be_found_out_are_not_called_missing():
    bare = {name: replace(interface, addresses=()) for name, interface in node().interfaces.items()}
    assert found(second={"interfaces": bare}) == []


def test_an_ipv6_address_may_be_written_in_any_way():
    ranks = (rank(0), rank(1, address="fd00::0:2"))
    there = interfaces(enp1s0f0np0={"addresses": ("fd00::2",)})
    assert found(manifest(ranks=ranks), second={"interfaces": there}) == []


def test_another_mtu_on_one_node_is_shown_for_all():
    (finding,) = findings(second={"interfaces": interfaces(enp1s0f0np0={"mtu": 1500})})
    assert (finding.severity, finding.node) == ("error", None)
    assert finding.what == "the MTU is not the same everywhere: 1500, 9000"
    assert finding.details == ("spark-1  enp1s0f0np0 9000", "spark-2  enp1s0f0np0 1500")


def test_a_pinned_gid_that_drifted_on_one_node_is_shown_for_all():
    drifted = {"hcas": {"rocep1s0f0": Hca("rocep1s0f0", "ACTIVE", {5: (ROCE, "RoCE v2", "enp1s0f0np0")})}}
    assert found(manifest(gid=None), second=drifted) == []
    (finding,) = findings(manifest(gid=3), second=drifted)
    assert finding.what == "the GID index is pinned to 3, but not every HCA has its IPv4 RoCE v2 GID there"
    assert finding.details == ("spark-1  rocep1s0f0 3", "spark-2  rocep1s0f0 5 !")
    pinned = {"NCCL_IB_GID_INDEX": "3"}
    assert findings(manifest(gid=None), {0: pinned, 1: pinned}, second=drifted) == [finding]


def test_an_hca_without_an_address_is_a_warning():
    v1 = {"hcas": {"rocep1s0f0": Hca("rocep1s0f0", "ACTIVE", {2: (ROCE, "IB/RoCE v1", "enp1s0f0np0")})}}
    assert found(first=v1) == [
        ("warning", "spark-1", "the HCA rocep1s0f0 has no RoCE v2 GID with an IPv4 address, so NCCL may not use it")
    ]


def test_a_single_rank_needs_no_fabric():
    solo = manifest(ranks=(rank(0, role="solo"),), waves=((0,),))
    assert preflight(solo, {0: node(0, rdma=False, hcas={}, interfaces={})}) == []


# The image


def test_a_missing_pinned_image_is_pulled():
    assert hint(second={"image": None}) == f"ssh spark@spark-2.lan docker pull registry.example/vllm@{DIGEST}"


def test_a_missing_image_without_a_digest_comes_from_a_node_that_has_it():
    missing = [f for f in findings(manifest(image="vllm-spark:1"), second={"image": None}) if f.severity == "error"]
    assert [(f.node, f.what) for f in missing] == [
        ("spark-2", "the image vllm-spark:1 is not there, and is never pulled by a start")
    ]
    assert missing[0].hint == "ssh spark@spark-1.lan docker save vllm-spark:1 | ssh spark@spark-2.lan docker load"


def test_an_image_that_no_node_has():
    built, pulled = (
        [f.hint for f in findings(manifest(image=name), first={"image": None}, second={"image": None}) if f.node]
        for name in ("vllm-spark:1", "vllm/vllm-openai:v1")
    )
    assert built[0] == "vllm-spark:1 has the name of an image that somebody built: build it on spark-1, or on any node"
    assert pulled[1] == "ssh spark@spark-2.lan docker pull vllm/vllm-openai:v1"


def test_images_that_differ_under_one_name_are_an_error_with_a_table():
    other = image(digests=(), layers=("sha256:" + "c" * 64,))
    (finding,) = findings(manifest(image="vllm/vllm-openai:v1"), second={"image": other})
    assert (finding.severity, finding.node) == ("error", None)
    assert finding.what == "the nodes have different images under the name vllm/vllm-openai:v1"
    assert finding.details == (f"spark-1  {DIGEST[:19]}", "spark-2  no digest, layers cccccc")


@pytest.mark.parametrize(("strict", "severity"), [(False, "warning"), (True, "error")])
def test_an_image_without_a_digest(strict, severity):
    (finding,) = findings(manifest(image="vllm/vllm-openai:v1"), require_pinned=strict)
    assert (finding.severity, finding.what) == (
        severity,
        "the image vllm/vllm-openai:v1 is not pinned by digest; it is the same on all nodes now",
    )
    assert finding.hint == f"write image: registry.example/vllm@{DIGEST}, and compile again"


def test_an_image_for_another_machine():
    (finding,) = findings(second={"image": image(architecture="amd64")})
    assert (finding.severity, finding.node) == ("error", "spark-2")
    assert finding.what.endswith("is for linux/amd64, the node is arm64")


def test_variables_in_the_image_that_choose_the_fabric():
    baked = {"image": image(environment=("GLOO_SOCKET_IFNAME=enP7s7", "NCCL_NET=IB", "NCCL_VERSION=2.30", "A=1"))}
    environments = {0: {"NCCL_NET": "IB"}, 1: {"NCCL_NET": "IB"}}
    assert found(environments=environments, first=baked) == [
        ("warning", "spark-1", "the image itself sets GLOO_SOCKET_IFNAME=enP7s7, and the bundle does not override it")
    ]


# What is mounted


def mounts(position, **changes):
    return {"mounts": tuple(replace(m, **changes) if i == position else m for i, m in enumerate(node().mounts))}


def test_a_mount_that_is_not_there():
    (finding,) = findings(second=mounts(1, kind=None))
    assert finding.what == "/srv/models is not there, which the container mounts"
    assert finding.hint.endswith("ssh spark@spark-2.lan mkdir -p /srv/models")


def test_a_mount_that_sparkc_makes():
    assert findings(second=mounts(0, kind=None, writable=False)) == []
    (finding,) = findings(second=mounts(0, kind=None, creatable=False, owner="root"))
    assert (finding.severity, finding.what) == (
        "error",
        "/home/spark/.cache/huggingface is not there, and spark cannot make it: the folder above belongs to root",
    )
    assert finding.hint == (
        "ssh -t spark@spark-2.lan 'sudo mkdir -p /home/spark/.cache/huggingface "
        "&& sudo chown spark /home/spark/.cache/huggingface'"
    )


def test_a_cache_that_root_owns_and_one_that_is_a_file():
    assert [s for s, _, _ in found(second=mounts(0, writable=False, owner="root"))] == ["warning"]
    assert found(second=mounts(0, kind="file")) == [
        ("error", "spark-2", "/home/spark/.cache/huggingface is no directory, but a file")
    ]


def test_compiled_kernels_on_a_share_are_a_warning_and_weights_are_not():
    shared = {"source": "/nfs/vllm", "target": "/root/.cache/vllm", "create": True}
    bundle = manifest(ranks=(rank(0, mounts=(rank().mounts[0], shared)), rank(1, mounts=())))
    there = (replace(node().mounts[0], filesystem="nfs"), Mount("/nfs/vllm", "directory", True, "spark", True, "nfs"))
    facts = {0: node(0, mounts=there), 1: node(1, mounts=(), models=())}
    assert [(f.severity, f.what) for f in preflight(bundle, facts)] == [
        ("warning", "/nfs/vllm is on nfs: caches of compiled kernels break where nodes share them")
    ]


# Models


def test_a_model_that_is_not_there_names_the_download():
    (finding,) = findings(second={"models": (Snapshot("org/model", None, ()),)})
    folder = "/home/spark/.cache/huggingface/hub/models--org--model"
    assert finding.what == f"the model org/model at revision {COMMIT} is not in {folder}"
    assert finding.hint == f"ssh spark@spark-2.lan hf download org/model --revision {COMMIT}"


def test_a_model_that_is_not_complete_names_files_and_whose_they_are():
    files = tuple(f"model-0000{number}-of-00009.safetensors" for number in range(7))
    (finding,) = findings(second={"models": (Snapshot("org/model", COMMIT, files, "root"),)})
    assert "model-00004-of-00009.safetensors and 2 more of /home/spark" in finding.what
    assert finding.hint == (
        "ssh -t spark@spark-2.lan 'sudo chown -R spark /home/spark/.cache/huggingface/hub/models--org--model "
        f"&& hf download org/model --revision {COMMIT}'"
    )


def test_another_cache_is_named_in_the_download():
    environments = {1: {"HF_HOME": "/models/hf"}}
    (finding,) = findings(environments=environments, second={"models": (Snapshot("org/model", None, ()),)})
    assert finding.hint.endswith(f"hf download org/model --revision {COMMIT} --cache-dir /srv/models/hf/hub")


def test_nodes_with_different_revisions():
    bundle = manifest(models=({"name": "org/model", "revision": None, "parent": None},))
    (finding,) = findings(bundle, second={"models": (Snapshot("org/model", "b" * 40, ()),)})
    assert (finding.severity, finding.node) == ("error", None)
    assert finding.details == (f"spark-1  {COMMIT}", f"spark-2  {'b' * 40}")


# What is there already


def foreign(**changes):
    return container(9, **{"labels": {}, "name": "comfyui", "image": "comfy:1", "health": None} | changes)


def test_a_foreign_container_under_our_name():
    (finding,) = findings(first={"containers": (foreign(name="demo"),)})
    assert (finding.severity, finding.what) == (
        "error",
        "a container named demo is there that sparkc did not start (image comfy:1, running)",
    )
    assert "docker rm --force demo" in finding.hint


def test_a_foreign_container_in_our_compose_project():
    labels = {"com.docker.compose.project": "demo"}
    assert found(first={"containers": (foreign(labels=labels),)}) == [
        ("error", "spark-1", "the container comfyui of somebody else belongs to a Compose project named demo")
    ]


def test_containers_with_similar_names_are_none_of_ours():
    assert findings(first={"containers": (foreign(name="demo-2"), foreign(name="a-demo"))}) == []


def other_bundle(**changes):
    labels = {"sparkc.bundle": "qwen", "sparkc.rank": "0", "sparkc.rank-digest": "7" * 64}
    return container(7, **{"name": "qwen", "labels": labels} | changes)


def test_another_bundle_is_named_with_the_way_out():
    (finding,) = findings(first={"containers": (other_bundle(),)})
    assert (finding.severity, finding.what) == (
        "warning",
        "the bundle qwen runs here as well: both take memory and the GPU",
    )
    assert finding.hint == "sparkc down qwen, or sparkc deploy demo --replace qwen"
    assert findings(first={"containers": (other_bundle(),)}, replaced={"qwen"}) == []
    assert findings(first={"containers": (other_bundle(state="exited"),)}) == []


def test_another_bundle_holds_the_port_even_before_it_listens():
    ports = ({"name": "api", "number": 8000},)
    neighbour = to_bytes(manifest(name="qwen", ranks=(rank(0, ports=ports, digest="7" * 64),)))
    there = {"containers": (other_bundle(),), "neighbours": {"qwen": neighbour}}
    assert found(first=there)[1] == ("error", "spark-1", "port 8000 (api) is held by the bundle qwen")
    assert findings(first=there | {"listeners": {8000: Listener(0)}}, replaced={"qwen"}) == []


@pytest.mark.parametrize(
    ("change", "by"),
    [
        ({"containers": (foreign(published=(8000,)),)}, "the container comfyui (image comfy:1)"),
        (
            {"listeners": {8000: Listener(0, "python3", 7, "9" * 64)}, "containers": (foreign(),)},
            "the container comfyui (image comfy:1)",
        ),
        ({"listeners": {8000: Listener(1000, "nginx", 77)}}, "by nginx (process 77)"),
        ({"listeners": {8000: Listener(33)}}, "by a process of user 33"),
        ({"listeners": {8000: Listener(0)}}, "by a process of root"),
        (
            {"listeners": {8000: Listener(0)}, "containers": (foreign(host_network=True),)},
            "by a process of root, perhaps in a container on the host's network: comfyui",
        ),
    ],
)
def test_a_port_that_something_else_holds(change, by):
    said = found(first=change)
    assert said == [("error", "spark-1", f"port 8000 (api) is held {by if by.startswith('by ') else f'by {by}'}")]


def test_a_process_of_somebody_else_beside_our_container_is_a_conflict():
    facts = serving()
    facts[0] = replace(facts[0], listeners={8000: Listener(1000, "nginx", 77)})
    assert [f.what for f in preflight(manifest(), facts)] == ["port 8000 (api) is held by nginx (process 77)"]


def test_a_new_port_is_not_our_own_container_s():
    old = manifest(ranks=(rank(0, ports=({"name": "api", "number": 9000},), digest="9" * 64), rank(1)))
    runs = replace(container(0), labels=container(0).labels | {"sparkc.rank-digest": "9" * 64})
    facts = {0: node(0, containers=(runs,), releases=releases(old), listeners={8000: Listener(0)}), 1: node(1)}
    assert [f.what for f in preflight(manifest(), facts)] == [
        "port 8000 (api) is held by a process of root, perhaps in a container on the host's network: demo"
    ]
    # Where nobody knows its ports any more, it is enough that it will be stopped.
    facts[0] = replace(facts[0], releases=releases())
    assert preflight(manifest(), facts) == []


def test_a_group_whose_deploy_was_cut_off_holds_its_new_ports():
    taken = {8000: Listener(0), 29501: Listener(0)}
    facts = {0: node(0, containers=(container(0),), listeners=taken), 1: node(1)}
    assert preflight(manifest(), facts) == []


# Order and the rest


def test_findings_come_in_the_order_of_ranks_and_of_several_nodes_last():
    said = found(manifest(gid=4), first={"rsync": None}, second={"rsync": None})
    assert [name for _, name, _ in said] == ["spark-1", "spark-2", None]


def test_nodes_without_a_bundle_are_checked_for_what_any_needs():
    ranks = (rank(0), rank(1))
    facts = {0: node(0, rsync=None), 1: node(1, image=None, unreachable=("192.168.177.11",))}
    assert [f.what for f in node_checks(ranks, None, facts)] == [
        "there is no rsync",
        "spark-1 does not answer on 192.168.177.11",
    ]


def test_rank_env_is_read_to_the_letter():
    assert read_environment("# head\nA=1=2 # no comment\nB=\n\nC= x\n") == {"A": "1=2 # no comment", "B": "", "C": " x"}
