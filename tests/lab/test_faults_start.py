"""What goes wrong once the old group is stopped: told by rank with everybody's last words, and the old one is back."""

from __future__ import annotations

import time

import pytest

pytestmark = pytest.mark.lab

# A mod that one of the nodes cannot bear.
_FUSSY = """\
#!/bin/sh
if [ "$WHERE" = spark-2 ]; then
  echo "this node is not as this mod needs it"
  exit 3
fi
"""


def check_back(demo, code, said, *words):
    """Make sure that a deploy failed, said it in these words, in their order, and that the old bundle serves again."""
    assert code == 1, said
    at = 0
    for word in words:
        assert word in said[at:], f"{word!r} is not in its place in: {said}"
        at = said.index(word, at) + len(word)
    assert "Traceback" not in said
    assert f"what ran before serves again (demo {demo.old['group_digest'][:12]})" in said
    demo.check_serving(demo.old)


def test_a_mod_that_fails_on_one_rank(demo):
    folder = demo.folder / "mods/fussy"
    folder.mkdir(parents=True)
    (folder / "run.sh").write_text(_FUSSY, "utf-8")
    (folder / "run.sh").chmod(0o755)
    demo.new = demo.compile({"WHERE": "{node.name}"}, "mods: [fussy]\n")

    done = demo.deploy()

    check_back(
        demo,
        done.returncode,
        done.stderr,
        "demo: spark-2: rank 1 (worker) exited with code ",
        "last lines of rank 0:\n",
        "last lines of rank 1:\n",
        "this node is not as this mod needs it",
    )
    assert "mod fussy failed with exit code 3" in done.stderr


def test_an_engine_that_never_gets_healthy(demo):
    demo.renew({"STUB_HANG": "1"}, "ready_timeout: 4s\n")
    recipe = demo.folder / "recipes/demo.yaml"
    recipe.write_text(recipe.read_text("utf-8").replace("start_period: 60s", "start_period: 4s"), "utf-8")
    assert demo.sparkc("compile", "demo").returncode == 0

    done = demo.deploy()

    check_back(
        demo,
        done.returncode,
        done.stderr,
        "demo: spark-1: rank 0 (head) does not serve after 4 s",
        "rank 0, spark-1: loading; last said: ",
        "rank 1, spark-2: running; last said: ",
        "last lines of rank 0:\n",
        "last lines of rank 1:\n",
    )


def worker(demo):
    """The worker's engine: the process to send signals to."""
    node = demo.nodes[1]
    [pid] = [
        line.split()[0]
        for line in node.run(["ps", "-ww", "-eo", "pid=,args="]).stdout.splitlines()
        if "python3" in line and "vllm serve" in line
    ]
    return pid


def send(demo, number):
    demo.nodes[1].run(["kill", f"-{number}", worker(demo)])


def has_joined(demo):
    node = demo.nodes[1]
    logged = node.run(["docker", "logs", "demo"], check=False).stdout
    return "joined the group" in logged


def test_an_engine_that_is_healthy_and_completes_nothing(demo):
    demo.renew({"STUB_READY_AFTER": "2", "STUB_STEP_TIMEOUT": "1", "STUB_BROKEN_FOR": "30"})
    process, said = demo.deploy_until("== wait until it serves")
    deadline = time.monotonic() + 10
    while not has_joined(demo):
        assert time.monotonic() < deadline
    send(demo, "STOP")
    for line in process.stdout:
        said.append(line)
        if "going back" in line:
            break
    send(demo, "CONT")  # or Docker would wait for its whole grace

    code, said = demo.finish(process, said)

    check_back(demo, code, said, "== ask for one token", "demo: spark-1: ", "last lines of rank 0:\n")


def test_a_worker_that_ends_later(demo):
    demo.nodes[1].docker.kill_container("demo")

    status = demo.sparkc("status", "demo")
    done = demo.deploy()

    assert status.returncode == 1
    assert "demo does not serve" in status.stdout
    assert "exited (137)" in status.stdout
    assert done.returncode == 0, done.stderr
    demo.old = demo.new
    demo.check_serving(demo.new)


def test_a_worker_that_hangs_later(deployment):
    demo = deployment
    demo.renew({"STUB_STEP_TIMEOUT": "1", "STUB_BROKEN_FOR": "3"})
    demo.deploy_new()
    send(demo, "STOP")

    shallow = demo.sparkc("status", "demo")
    deep = demo.sparkc("status", "demo", "--deep")
    send(demo, "CONT")

    assert shallow.returncode == 0
    assert deep.returncode == 1
    assert "demo does not serve, though its health checks pass" in deep.stdout
    deadline = time.monotonic() + 15
    while demo.nodes[0].docker.inspect("demo")["State"]["Running"]:
        assert time.monotonic() < deadline
    assert "its container is exited" in demo.deploy_new().stdout


def test_a_node_that_is_cut_off_during_the_start(demo):
    process, said = demo.deploy_until("spark-2: stopped")
    demo.nodes[1].slow_docker(3)
    for line in process.stdout:
        said.append(line)
        if line == "spark-2: starting\n":
            break
    demo.nodes[1].cut("mgmt")

    code, said = demo.finish(process, said)
    demo.nodes[1].heal()
    demo.nodes[1].slow_docker(0)

    assert code == 1
    assert "Traceback" not in said
    assert "demo: spark-2: the connection was lost during start; going back failed as well" in said
    assert "so demo serves nothing" in said
    assert "spark-2" in said.partition("going back failed")[2]
    assert "help: sparkc status demo; when the cause is mended, deploy again or sparkc rollback demo" in said
    assert not demo.locked()
    demo.check_bystanders()
    demo.deploy_new()
