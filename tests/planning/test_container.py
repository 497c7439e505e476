"""Privilege, limits, devices, network and the watchdog of a container."""

import pytest

from sparkc.planning.earlyoom import POLICY
from sparkc.planning.model import Mod, ModFile
from sparkc.planning.sizes import in_bytes, plus_gigabytes
from sparkc.traced import Traced, from_flag
from support.compile_text import LAB, compile_text, native

TWO = native("parallel: {tensor: 2}")


def mod(*requires, name="fix"):
    files = (ModFile("run.sh", b"#!/bin/sh\n", 0o755),)
    return Mod(name, Traced(name, from_flag(f"--mod {name}")), files, requires=requires)


def settings(recipe=None, **overrides):
    return compile_text(recipe or native(), **overrides).ranks[0].container


def told(traced):
    """Return value, origin and what was overridden."""
    return traced.value, traced.origin.text, traced.overrode.value if traced.overrode else None


def test_the_built_in_settings():
    made = settings()
    assert (made.network.value, made.privileged.value, made.ipc_host.value) == ("host", False, False)
    assert (made.shm_size.value, made.memory, made.memory_swap, made.pids) == ("64gb", None, None, None)
    limits = {name: limit.value for name, limit in made.ulimits.items()}
    assert limits == {"memlock": -1, "stack": 67108864, "nofile": 1048576}
    assert (made.stop_grace.value, made.keep_entrypoint.value) == (60, False)
    everything = (made.network, made.privileged, made.ipc_host, made.shm_size, made.stop_grace, *made.ulimits.values())
    assert all(value.origin.kind == "default" and value.origin.reason for value in everything)


def test_rdma_needs_hcas_and_peers():
    with_rdma = settings(TWO)
    assert [device.value for device in with_rdma.devices] == ["/dev/infiniband"]
    assert [capability.value for capability in with_rdma.cap_add] == ["IPC_LOCK"]
    assert settings().devices == ()
    inventory = LAB.replace("hcas: [rocep1s0f0, roceP2p1s0f0]", "memory: 119")
    without, own = (rank.container for rank in compile_text(TWO, inventory).ranks)
    assert (without.devices, without.cap_add) == ((), ())
    assert len(own.devices) == 1


def test_a_device_of_the_recipe_is_not_listed_twice():
    recipe = native("parallel: {tensor: 2}", "container: {devices: ['/dev/infiniband:/dev/infiniband', /dev/fuse]}")
    assert [device.value for device in settings(recipe).devices] == ["/dev/infiniband:/dev/infiniband", "/dev/fuse"]


def test_equal_items_stand_once():
    recipe = native("container: {devices: [/dev/a, /dev/b, /dev/a], security_opt: [x=y, x=y]}")
    made = settings(recipe, publish=("1:2", "1:2"))
    assert [item.value for item in (*made.devices, *made.security_opt, *made.publish)] == [
        "/dev/a",
        "/dev/b",
        "x=y",
        "1:2",
    ]


def test_privileged_shares_the_ipc_of_the_host_and_needs_no_device():
    made = settings(native("parallel: {tensor: 2}", "container: {privileged: false}"), privileged=True)
    assert told(made.privileged) == (True, "--privileged", False)
    assert told(made.ipc_host) == (True, "--privileged", None)
    assert (made.shm_size, made.devices, made.cap_add) == (None, (), ())


def test_a_recipe_or_a_mod_asks_for_privilege_alone():
    made = settings(native("container: {privileged: true}"))
    assert told(made.privileged) == (True, "demo.yaml: container.privileged", None)
    assert (made.ipc_host.value, made.shm_size.value) == (False, "64gb")
    made = settings(native("container: {privileged: false}"), loaded_mods=(mod(), mod("privileged", name="drop")))
    assert told(made.privileged) == (True, "mod drop", False)


def test_non_privileged_is_the_mode_of_the_reference():
    made = settings(native("container: {privileged: true}"), non_privileged=True)
    assert told(made.privileged) == (False, "--non-privileged", True)
    assert told(made.memory) == ("110gb", "--non-privileged", None)
    assert told(made.memory_swap) == ("120gb", "--non-privileged", None)
    assert (made.pids.value, made.shm_size.value) == (4096, "64gb")


@pytest.mark.parametrize(
    ("lines", "overrides", "memory", "swap"),
    [
        ((), {"mem_limit_gb": 90}, "90gb", "100gb"),
        ((), {"mem_limit_gb": 90, "mem_swap_limit_gb": 95}, "90gb", "95gb"),
        ((), {"mem_limit_gb": 90, "non_privileged": True}, "90gb", "100gb"),
        (("container: {memory: 80gb}",), {}, "80gb", None),
        (("container: {memory: 80gb}",), {"non_privileged": True}, "80gb", "90gb"),
        (("container: {memory: 80G}",), {"non_privileged": True}, "80G", "90gb"),
        (("container: {memory: 512m}",), {"non_privileged": True}, "512m", f"{512 * 2**20 + 10 * 2**30}b"),
        (("container: {memory: 80gb, memory_swap: 81gb}",), {"non_privileged": True}, "80gb", "81gb"),
        (("container: {memory: 80gb}",), {"mem_limit_gb": 70}, "70gb", "80gb"),
        (("container: {memory: 80gb}",), {"mem_swap_limit_gb": 80}, "80gb", "80gb"),
    ],
)
def test_memory_and_swap(lines, overrides, memory, swap):
    made = settings(native(*lines), **overrides)
    assert made.memory.value == memory
    assert (None if made.memory_swap is None else made.memory_swap.value) == swap


def test_flags_remember_what_they_replaced():
    recipe = native("container: {memory: 80gb, shm_size: 32gb, pids: 7, ulimits: {nofile: 5}}")
    made = settings(recipe, mem_limit_gb=70, shm_size_gb=16, pids_limit=9, nofile=6)
    assert told(made.memory) == ("70gb", "--mem-limit-gb 70", "80gb")
    assert told(made.shm_size) == ("16gb", "--shm-size-gb 16", "32gb")
    assert told(settings(shm_size_gb=16).shm_size) == ("16gb", "--shm-size-gb 16", "64gb")
    assert told(made.pids) == (9, "--pids-limit 9", 7)
    assert told(made.ulimits["nofile"]) == (6, "--nofile 6", 5)
    assert made.ulimits["nofile"].overrode.overrode.value == 1048576


def test_limits_of_inventory_node_recipe():
    inventory = LAB.replace("nodes:", "limits: {nofile: 1, memlock: 2, stack: 3}\nnodes:")
    inventory = inventory.replace("ssh: s1", "limits: {memlock: 4, stack: 5}, ssh: s1")
    limits = compile_text(native("container: {ulimits: {stack: 6}}"), inventory).ranks[0].container.ulimits
    assert {name: limit.value for name, limit in limits.items()} == {"nofile": 1, "memlock": 4, "stack": 6}


@pytest.mark.parametrize(
    ("lines", "overrides", "code"),
    [
        ((), {"privileged": True, "non_privileged": True}, "SPK352"),
        ((), {"privileged": True, "shm_size_gb": 32}, "SPK358"),
        (("container: {ipc: host}",), {"shm_size_gb": 32}, "SPK358"),
        ((), {"mem_swap_limit_gb": 80}, "SPK359"),
        ((), {"mem_swap_limit_gb": 80, "mem_limit_gb": 81}, "SPK359"),
        (("container: {memory: 2gb, memory_swap: 1024mb}",), {}, "SPK359"),
        ((), {"keep_entrypoint": True, "earlyoom": True}, "SPK350"),
        (("earlyoom: true", "entrypoint: keep"), {}, "SPK350"),
        ((), {"keep_entrypoint": True, "earlyoom_args": "-m 5"}, "SPK350"),
        ((), {"publish": ("8000",)}, "SPK356"),
        ((), {"publish": ("a:b",)}, "SPK356"),
        ((), {"publish": ("0:8000",)}, "SPK356"),
        ((), {"publish": ("1:2:3:4",)}, "SPK356"),
        ((), {"earlyoom_args": " "}, "SPK357"),
    ],
)
def test_settings_that_contradict_each_other(lines, overrides, code):
    compiled = compile_text(native(*lines), **overrides)
    assert compiled.plan is None
    assert compiled.codes == [code]
    assert compiled.report.diagnostics[0].hint


def test_a_mod_that_needs_privilege_is_not_run_without():
    compiled = compile_text(native(), loaded_mods=(mod("privileged"),), non_privileged=True)
    assert (compiled.plan, compiled.codes) == (None, ["SPK353"])


def test_a_published_port_is_for_one_container():
    made = compile_text(native("host: 0.0.0.0"), publish=("9000:8000", "127.0.0.1:9100:9000"))
    container = made.ranks[0].container
    assert told(container.network) == ("bridge", "-p 9000:8000", None)
    assert [port.value for port in container.publish] == ["9000:8000", "127.0.0.1:9100:9000"]
    assert made.plan.client_url == "http://s1.lan:9000"
    refused = compile_text(TWO, publish=("9000:8000",))
    assert (refused.plan, refused.codes) == (None, ["SPK354"])


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "localhost", "::1"])
def test_a_published_port_does_not_reach_loopback(host):
    compiled = compile_text(native(f"host: '{host}'"), publish=("9000:8000",))
    assert (compiled.plan is not None, compiled.codes) == (True, ["SPK355"])
    assert compiled.report.diagnostics[0].span.line == 7


@pytest.mark.parametrize("host", ["127.0.0.1", "127.1.2.3", "localhost", "::1"])
def test_an_api_on_loopback_is_for_its_own_node(host):
    compiled = compile_text(native(f"host: '{host}'"))
    (warning,) = compiled.report.diagnostics
    assert (warning.code, warning.span.line) == ("SPK315", 7)
    assert warning.message == f"vllm listens on {host}: only programs on its own node reach the API"
    (endpoint,) = compiled.plan.endpoints
    assert (endpoint.node, endpoint.url, endpoint.local) == ("s1", "http://127.0.0.1:8000", True)
    assert compiled.plan.client_url is None


def test_a_port_published_on_loopback_is_for_its_own_node():
    (endpoint,) = compile_text(native("host: 0.0.0.0"), publish=("127.0.0.1:9100:8000",)).plan.endpoints
    assert (endpoint.url, endpoint.local) == ("http://127.0.0.1:9100", True)


def test_a_kept_entrypoint_runs_the_launch_script():
    assert told(settings(native("entrypoint: keep")).keep_entrypoint) == (True, "demo.yaml: entrypoint", None)
    assert told(settings(keep_entrypoint=True).keep_entrypoint) == (True, "--keep-entrypoint", None)
    warned = compile_text(native(), keep_entrypoint=True, loaded_mods=(mod(),))
    assert warned.codes == ["SPK351"]


@pytest.mark.parametrize(
    ("lines", "overrides", "words", "origin"),
    [
        ((), {}, None, None),
        ((), {"earlyoom": True}, POLICY.split(), "--earlyoom"),
        ((), {"earlyoom_args": "-m  5"}, ["-m", "5"], "--earlyoom-args -m  5"),
        (("earlyoom: true",), {}, POLICY.split(), "demo.yaml: earlyoom"),
        (("earlyoom: false",), {}, None, None),
        (("earlyoom: -m 7",), {"earlyoom": True}, ["-m", "7"], "demo.yaml: earlyoom"),
        (("earlyoom: -m 7",), {"earlyoom_args": "-m 8"}, ["-m", "8"], "--earlyoom-args -m 8"),
    ],
)
def test_the_watchdog(lines, overrides, words, origin):
    watchdog = compile_text(native(*lines), **overrides).plan.earlyoom
    assert (None if watchdog is None else list(watchdog.value)) == words
    assert (None if watchdog is None else watchdog.origin.text) == origin
    assert POLICY == "-M 524288,102400 -s 100 -r 60"


def test_sizes():
    assert [in_bytes(size) for size in ("7", "7b", "7k", "7KB", "0.5m", "64gb")] == [
        7, 7, 7168, 7168, 524288, 64 * 2**30,
    ]  # fmt: skip
    assert plus_gigabytes("110gb", 10) == "120gb"
    assert plus_gigabytes("1", 1) == f"{2**30 + 1}b"
    with pytest.raises(ValueError, match="1e9"):
        in_bytes("1e9")
