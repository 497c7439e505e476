"""The lab itself: what its nodes are, how they are cut off, and that a test leaves nothing to the next one."""

import ipaddress
import json
import pwd
import signal
import subprocess
import time
from pathlib import Path

import pytest

from lab import infiniband
from lab.image import Image, layer_of
from lab.requirements import program
from lab.stub_image import TAG, stub
from lab.system import LabError

pytestmark = pytest.mark.lab

PYTHON = ("python3", "-c")

# A datagram that fills a frame of 9000 bytes and must not be split (IP_MTU_DISCOVER = IP_PMTUDISC_DO).
SEND_JUMBO = """
import socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
    sender.setsockopt(socket.IPPROTO_IP, 10, 2)
    sender.connect(("{}", 9))
    sender.send(bytes(8972))
"""


def reaches(node, address, port=22):
    """Whether a TCP connection from a node to an address succeeds within a second."""
    done = node.run(["timeout", "1", "bash", "-c", f"exec 3<>/dev/tcp/{address}/{port}"], check=False)
    return done.returncode == 0


# Nodes


def test_a_node_has_the_names_of_a_spark(fresh_lab):
    node = fresh_lab.nodes[2]
    told = fresh_lab.machine.ssh("spark-3", "hostname; id -un; id -Gn; pwd; echo $SHELL; ls /sys/class/net")
    assert told.stdout.split() == [
        *("spark-3", "spark", "spark", "docker", "/home/spark", "/bin/bash"),
        *("enP2p1s0f0np0", "enP7s7", "enp1s0f0np0", "lo"),
    ]
    assert (node.root / "sys/class/net/enp1s0f0np0/mtu").read_text() == "9000\n"
    assert (node.root / "sys/class/net/enP7s7/mtu").read_text() == "1500\n"


def test_nodes_reach_each_other_on_every_link(fresh_lab):
    first = fresh_lab.nodes[0]
    for node in fresh_lab.nodes[1:]:
        assert [link for link in ("mgmt", "rail-a", "rail-b") if not reaches(first, node.address(link))] == []


def test_jumbo_frames_pass_the_rails(fresh_lab):
    first, second = fresh_lab.nodes[:2]
    assert first.run([*PYTHON, SEND_JUMBO.format(second.address("rail-a"))], check=False).returncode == 0
    told = first.run([*PYTHON, SEND_JUMBO.format(second.address("mgmt"))], check=False)
    assert "Message too long" in told.stderr


def test_the_control_machine_reaches_the_management_network_alone(fresh_lab):
    node = fresh_lab.nodes[0]
    assert fresh_lab.run(["bash", "-c", f"exec 3<>/dev/tcp/{node.address()}/22"]).returncode == 0
    routes = [line.split()[:3] for line in fresh_lab.run(["ip", "route"]).stdout.splitlines()]
    assert routes == [[f"10.77.{fresh_lab.facts.subnet}.0/24", "dev", "eth0"]]
    told = fresh_lab.run(["bash", "-c", f"exec 3<>/dev/tcp/{node.address('rail-a')}/22"])
    assert "Network is unreachable" in told.stderr


def test_this_machine_has_one_interface_per_lab(fresh_lab):
    told = json.loads(subprocess.check_output(["ip", "-json", "addr"]))
    addresses = {entry["ifname"]: [one["local"] for one in entry["addr_info"]] for entry in told}
    assert f"10.77.{fresh_lab.facts.subnet}.1" in addresses[fresh_lab.facts.uplink]
    assert not [one for some in addresses.values() for one in some if one.startswith(("192.168.177.", "192.168.178."))]
    bridges = json.loads(subprocess.check_output(["ip", "-json", "link", "show", "type", "bridge"]))
    assert not [entry["ifname"] for entry in bridges if entry.get("ifname") in ("mgmt", "rail-a", "rail-b")]


def test_ssh_over_ipv6(fresh_lab):
    node = fresh_lab.nodes[1]
    told = fresh_lab.run(["ssh", "-o", "BatchMode=yes", f"spark@{node.facts.address6(node.index)}", "hostname"])
    assert told.stdout == "spark-2\n"


def test_what_a_node_writes_stays_on_the_node(fresh_lab):
    first, second = fresh_lab.nodes[:2]
    for path in ("/etc/written", "/home/spark/written", "/tmp/written", "/root/written"):
        first.run(["touch", path])
        assert not (second.root / path.lstrip("/")).exists()
        assert not Path(path).exists()
        first.run(["rm", path])


def test_a_node_sees_its_own_processes_alone(fresh_lab):
    told = fresh_lab.nodes[0].processes()
    assert len([line for line in told if line.startswith("dockerd")]) == 1
    assert not [line for line in told if "pytest" in line]


# Cables


@pytest.mark.parametrize("link", ["mgmt", "rail-a", "rail-b"])
def test_cut_and_heal_one_link(fresh_lab, link):
    first, second = fresh_lab.nodes[:2]
    second.cut(link)
    others = {"mgmt", "rail-a", "rail-b"} - {link}
    assert not reaches(first, second.address(link))
    assert [other for other in others if not reaches(first, second.address(other))] == []
    # As when a cable is pulled: the address stays, the carrier goes.
    assert second.address(link) in second.run(["ip", "-4", "addr"]).stdout
    second.heal(link)
    assert reaches(first, second.address(link))


def test_a_cut_rail_is_down_in_the_rdma_device(fresh_lab):
    node = fresh_lab.nodes[3]
    node.cut("rail-b")
    states = node.run(["sh", "-c", "cat /sys/class/infiniband/*/ports/1/state"]).stdout
    assert states.splitlines() == ["1: DOWN", "4: ACTIVE"]
    node.heal()
    assert node.run(["cat", "/sys/class/infiniband/roceP2p1s0f0/ports/1/state"]).stdout == "4: ACTIVE\n"


def test_an_unknown_link_is_named(fresh_lab):
    with pytest.raises(LabError, match="no link 'rail-c'; there are: mgmt, rail-a, rail-b, all"):
        fresh_lab.nodes[0].cut("rail-c")


def test_a_limited_rail_is_slow(fresh_lab):
    first, second = fresh_lab.nodes[:2]
    second.shape("rail-a", "16mbit")
    (first.root / "tmp/load").write_bytes(bytes(1_000_000))
    server = subprocess.Popen(second.enter(["busybox", "nc", "-l", "-p", "7000", "-e", "/bin/cat"]))
    deadline = time.monotonic() + 5
    while not reaches_listener(second, 7000) and time.monotonic() < deadline:
        time.sleep(0.02)
    start = time.monotonic()
    first.run(["sh", "-c", f"busybox nc {second.address('rail-a')} 7000 </tmp/load >/tmp/back"])
    took = time.monotonic() - start
    server.wait(timeout=5)
    assert (first.root / "tmp/back").stat().st_size == 1_000_000
    assert took > 0.4  # 8 Mbit at 16 Mbit/s, and back


def reaches_listener(node, port):
    """Whether something listens on a node's port."""
    return f":{port:04X} " in (node.root / "proc/1/net/tcp").read_text() + (node.root / "proc/1/net/tcp6").read_text()


# RDMA


def test_the_gid_table_is_that_of_a_spark(fresh_lab):
    node = fresh_lab.nodes[0]
    show = "cd /sys/class/infiniband/rocep1s0f0; cat gids/3 ports/1/gids/* ports/1/gid_attrs/types/3 ports/1/link_layer"
    told = node.run(["sh", "-c", show], check=False).stdout.splitlines()
    assert told[2:4] == ["0000:0000:0000:0000:0000:ffff:c0a8:b10b"] * 2
    assert told[0].startswith("fe80:")
    assert told[4] == "0000:0000:0000:0000:0000:0000:0000:0000"
    assert told[-2:] == ["RoCE v2", "Ethernet"]
    address = node.run(["ip", "-6", "-o", "addr", "show", "enp1s0f0np0"]).stdout.split()[3].partition("/")[0]
    assert ipaddress.ip_address(told[0]) == ipaddress.ip_address(address)


def test_a_test_edits_the_gid_table(fresh_lab):
    node = fresh_lab.nodes[0]
    gid = infiniband.mapped(node.address("rail-a"))
    infiniband.set_gids(node.infiniband, "rocep1s0f0", "enp1s0f0np0", [(gid, infiniband.V1), (gid, infiniband.V2)])
    types = node.run(["sh", "-c", "cat /sys/class/infiniband/rocep1s0f0/ports/1/gid_attrs/types/*"]).stdout
    assert types.splitlines() == ["IB/RoCE v1", "RoCE v2"]


# Logins and logs


def test_home_with_spaces_and_a_chatty_shell(fresh_lab):
    fresh_lab["spark-1"].set_login(home="/home/my home", bashrc='echo "welcome back"\n')
    assert fresh_lab.machine.ssh("spark-1", "pwd").stdout == "welcome back\n/home/my home\n"


def test_a_wrong_address_shows_in_the_gid_table(fresh_lab):
    node = fresh_lab.nodes[0]
    node.set_address("rail-a", "192.168.177.99")
    gid = node.run(["cat", "/sys/class/infiniband/rocep1s0f0/ports/1/gids/3"]).stdout
    assert gid == "0000:0000:0000:0000:0000:ffff:c0a8:b163\n"


def test_another_login_shell(fresh_lab):
    fresh_lab["spark-1"].set_login(shell="/bin/dash")
    assert fresh_lab.machine.ssh("spark-1", 'echo "$SHELL"').stdout == "/bin/dash\n"


def test_a_home_outside_of_home_is_refused(fresh_lab):
    with pytest.raises(LabError, match="a home is below /home"):
        fresh_lab.nodes[0].set_login(home="/opt/spark")


def test_connections_and_commands_are_counted(fresh_lab, tmp_path):
    node = fresh_lab.nodes[0]
    socket = ["-o", "ControlMaster=auto", "-o", f"ControlPath={tmp_path}/m", "-o", "ControlPersist=9"]
    fresh_lab.run(["ssh", *socket, "spark-1", "true; echo 'a b'"])
    fresh_lab.run(["ssh", *socket, "spark-1", "docker ps"])
    fresh_lab.run(["ssh", "spark-1", "hostname\nhostname"])
    told = node.log.ssh()
    assert len(told.connections) == 2
    assert told.sessions == ("command", "command", "command")
    assert told.commands == ("true; echo 'a b'", "docker ps", "hostname\nhostname")
    assert [call.argv for call in node.log.docker()] == [("ps",)]
    assert fresh_lab.nodes[1].log.ssh().connections == ()


def test_slow_docker(fresh_lab):
    fresh_lab.nodes[0].slow_docker(0.7)
    start = time.monotonic()
    assert fresh_lab.machine.ssh("spark-1", "docker ps -q").returncode == 0
    assert time.monotonic() - start > 0.7


# The control machine


def test_signals_reach_the_program(fresh_lab):
    code = "import os, time; print(os.getpid(), flush=True); time.sleep(60)"
    with fresh_lab.control([*PYTHON, code], stdout=subprocess.PIPE, text=True) as process:
        assert int(process.stdout.readline()) == process.pid
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=5)
    assert process.returncode != 0


@pytest.mark.skipif(program("faketime") is None, reason="needs the package faketime")
def test_the_control_machine_may_live_at_another_time(fresh_lab):
    told = fresh_lab.run(["faketime", "2030-01-02 12:00:00", "date", "+%Y"])
    assert told.stdout == "2030\n"


def test_root_of_this_machine_keeps_its_ssh_folder(fresh_lab):
    told = fresh_lab.run(["python3", "-c", "import pwd; print(pwd.getpwnam('root').pw_dir)"])
    assert told.stdout.strip() == str(fresh_lab.machine.home)
    assert pwd.getpwnam("root").pw_dir != str(fresh_lab.machine.home)


# Engines


def test_docker_as_the_login_user(fresh_lab):
    told = fresh_lab.machine.ssh("spark-2", f"docker run --rm --network host {TAG} hostname")
    assert told.stdout == "spark-2\n"


def test_what_bundles_ask_of_docker_is_granted(fresh_lab):
    options = "--gpus all --cap-add IPC_LOCK --device /dev/infiniband --ulimit memlock=-1 --ulimit nofile=1048576"
    told = fresh_lab.machine.ssh("spark-1", f"docker run --rm {options} --shm-size 64g {TAG} ls /dev/infiniband")
    assert told.stdout == "uverbs0\n", told.stderr


def test_compose_is_new_enough_and_may_be_older(fresh_lab):
    version = fresh_lab.machine.ssh("spark-1", "docker compose version --short").stdout
    assert tuple(map(int, version.split(".")[:2])) >= (2, 30)
    fresh_lab.nodes[0].set_compose("2.24.6")
    assert fresh_lab.machine.ssh("spark-1", "docker compose version --short").stdout == "2.24.6\n"
    fresh_lab.nodes[0].set_compose("")
    assert fresh_lab.machine.ssh("spark-1", "docker compose version").returncode != 0


def test_an_engine_stops_and_starts(fresh_lab):
    engine = fresh_lab.nodes[0].docker
    engine.stop()
    assert fresh_lab.machine.ssh("spark-1", "docker ps").returncode == 1
    assert fresh_lab.machine.ssh("spark-2", "docker ps").returncode == 0
    engine.start()
    assert fresh_lab.machine.ssh("spark-1", "docker ps").returncode == 0


def test_a_paused_engine_does_not_answer(fresh_lab):
    engine = fresh_lab.nodes[0].docker
    engine.pause()
    told = fresh_lab.machine.ssh("spark-1", "timeout 0.5 docker ps")
    assert told.returncode == 124
    engine.resume()
    assert engine.alive()


def test_a_full_disk(fresh_lab):
    node = fresh_lab.nodes[0]
    node.fill("/home/spark/.local/share/sparkc", "64k")
    told = fresh_lab.machine.ssh("spark-1", "head -c 100000 /dev/zero >.local/share/sparkc/x")
    assert "No space left" in told.stderr
    node.unfill("/home/spark/.local/share/sparkc")
    assert fresh_lab.machine.ssh("spark-1", "head -c 100000 /dev/zero >.local/share/sparkc/x").returncode == 0


def test_the_same_image_has_the_same_id_everywhere(fresh_lab):
    assert {node.docker.images()[TAG] for node in fresh_lab.nodes} == {stub().id}


def test_variants_of_the_image(fresh_lab):
    engine = fresh_lab.nodes[0].docker
    engine.load_image(stub("other:1", architecture="s390x"))
    engine.load_image(stub("other:2", extra="one layer more"))
    assert engine.api("GET", "/images/other:1/json")["Architecture"] == "s390x"
    layers = [engine.api("GET", f"/images/{name}/json")["RootFS"]["Layers"] for name in (TAG, "other:2")]
    assert layers[1][:-1] == layers[0]


@pytest.mark.skipif(program("docker-registry") is None, reason="needs the package docker-registry")
def test_a_registry_gives_digests(fresh_lab):
    fresh_lab.nodes[0].docker.load_image(Image("small:1", (layer_of([("etc/small", b"", 0o644)]),)))
    with fresh_lab.registry() as registry:
        reference = registry.push(fresh_lab.nodes[0], "small:1", "engine:1")
        registry.pull(fresh_lab.nodes[1], reference)
    assert reference.startswith(f"{fresh_lab.facts.control_address}:5000/engine@sha256:")
    assert fresh_lab.nodes[1].docker.api("GET", f"/images/{reference}/json")["RepoDigests"] == [reference]


# From test to test


def test_reset_undoes_what_a_test_did(fresh_lab):
    node = fresh_lab.nodes[0]
    bystander = node.docker.inspect("bystander")["Id"]
    node.cut()
    node.set_mtu("rail-a", 1500)
    node.set_address("rail-a", "192.168.177.99")
    node.shape("rail-b", "10mbit")
    node.slow_docker(30)
    node.set_compose("1.0.0")
    node.set_login(home="/home/other")
    node.fill("/home/other/full")
    node.stub_settings(STUB_HANG="1")
    node.docker.run("left-over", TAG, ["sleep", "infinity"])
    node.docker.load_image(stub("left:over", extra="x"))
    fresh_lab.machine.home.joinpath(".ssh/known_hosts").unlink()
    node.docker.pause()
    fresh_lab.reset()
    assert node.docker.inspect("bystander")["Id"] == bystander
    assert list(node.docker.containers()) == ["bystander"]
    assert list(node.docker.images()) == [TAG]
    assert [path.name for path in (node.root / "home").iterdir()] == ["spark"]
    assert not (node.root / "home/spark/.cache/huggingface/stub.env").exists()
    start = time.monotonic()
    told = fresh_lab.machine.ssh("spark-1", "pwd; docker ps -q | wc -l; cat /sys/class/net/enp1s0f0np0/mtu")
    assert told.stdout.split() == ["/home/spark", "1", "9000"]
    assert time.monotonic() - start < 10
    assert node.address("rail-a") in node.run(["ip", "-4", "addr"]).stdout
    assert "tbf" not in node.run(["tc", "qdisc"]).stdout


def test_reset_brings_back_a_stopped_engine_a_lost_image_and_the_bystander(fresh_lab):
    node = fresh_lab.nodes[0]
    node.docker.remove("bystander")
    node.docker.remove_image(TAG)
    node.docker.stop(kill=True)
    fresh_lab.reset()
    assert node.docker.inspect("bystander")["State"]["Running"]
    assert node.docker.images() == {TAG: stub().id}
