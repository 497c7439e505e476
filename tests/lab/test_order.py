"""What happens on the nodes, and when: waves, one connection, and as many commands for eight nodes as for one."""

from __future__ import annotations

import pytest

from lab.deployment import BASE, Deployment

pytestmark = pytest.mark.lab

_EVERY_FILE = ["find", "-L", f"/home/spark/{BASE}/releases", f"/home/spark/{BASE}/current", "-printf", "%p %i %T@ %m\n"]


def clear_logs(demo):
    for node in demo.nodes:
        node.log.clear()


def times(node, *words):
    """When docker was called so on a node."""
    return [call.time for call in node.log.docker() if call.argv[: len(words)] == words]


def commands(demo):
    """Return by node how many commands it was asked to run, having made sure that one connection carried them."""
    logs = [node.log.ssh() for node in demo.nodes]
    assert [len(log.connections) for log in logs] == [1] * len(logs)
    return [len(log.sessions) for log in logs]


def test_ranks_start_in_waves_and_stop_in_reverse(fresh_lab, tmp_path):
    demo = Deployment(fresh_lab, tmp_path, 4)
    demo.renew()
    demo.slow_docker(0.5)
    clear_logs(demo)

    process, said = demo.deploy_until("== wait until it serves")
    demo.slow_docker(0)
    said += process.stdout
    process.stdout.close()
    assert process.wait(30) == 0, "".join(said)
    demo.check_serving(demo.new)

    head, *workers = demo.nodes
    stops = {node: times(node, "stop") for node in demo.nodes}
    ups = {node: [call.time for call in node.log.docker() if "up" in call.argv] for node in demo.nodes}
    assert {len(found) for found in (*stops.values(), *ups.values())} == {1}
    [removed] = times(head, "rm")
    assert all(removed < stops[node][0] for node in workers)
    assert max(stops.values()) < min(ups.values())
    started = {node: node.docker.inspect("demo")["State"]["StartedAt"] for node in demo.nodes}
    assert all(started[node] < started[head] for node in workers)
    assert all(ups[node] < ups[head] for node in workers)
    # All of a wave at once: one after the other, the third would begin a second after the first.
    for calls in (stops, ups):
        begun = sorted(calls[node][0] for node in workers)
        assert begun[-1] - begun[0] < 1


def test_more_nodes_need_no_more_commands_one_after_the_other(fresh_lab, tmp_path):
    counted = {}
    for count in (1, 2, 4):
        demo = Deployment(fresh_lab, tmp_path / str(count), count)
        clear_logs(demo)
        demo.renew()
        counted[count] = commands(demo)
        assert demo.sparkc("down", "demo").returncode == 0

    assert {numbers[0] for numbers in counted.values()} == {counted[1][0]}
    assert len({number for numbers in counted.values() for number in numbers[1:]}) == 1


def test_a_deploy_of_what_serves_looks_once_and_changes_nothing(fresh_lab, tmp_path):
    demo = Deployment(fresh_lab, tmp_path)
    demo.renew()
    demo.deploy_new()
    files = [node.run(_EVERY_FILE).stdout for node in demo.nodes]
    containers = [node.docker.containers() for node in demo.nodes]
    clear_logs(demo)

    done = demo.deploy()

    assert done.returncode == 0, done.stderr
    assert done.stdout == "demo serves already; nothing to do\n"
    assert commands(demo) == [1, 1]
    assert [node.run(_EVERY_FILE).stdout for node in demo.nodes] == files
    for node, before in zip(demo.nodes, containers, strict=True):
        now = node.docker.containers()
        assert {name: (c["Id"], c["State"]["StartedAt"]) for name, c in now.items()} == {
            name: (c["Id"], c["State"]["StartedAt"]) for name, c in before.items()
        }
