"""sparkc ended at every moment of a deploy: by Ctrl-C, by a closed terminal, by kill -9."""

import signal

import pytest

from lab.deployment import Deployment

pytestmark = pytest.mark.lab

LOOK = "look at the nodes of demo"
LOOK_AGAIN = "look at the nodes"
UPLOAD = "upload"
STOP = "stop what runs"
START = "start"
WAIT = "wait until it serves"
FINISH = "finish"
PHASES = (LOOK, LOOK_AGAIN, UPLOAD, STOP, START, WAIT, FINISH)
UNTOUCHED = (LOOK, LOOK_AGAIN, UPLOAD)


@pytest.fixture(scope="module")
def deployment(lab, tmp_path_factory):
    lab.reset()
    return Deployment(lab, tmp_path_factory.mktemp("demo"))


@pytest.fixture
def demo(deployment):
    """The demo bundle, serving, with another one compiled; docker takes its time, so that every phase lasts."""
    deployment.slow_docker(0)
    deployment.renew()
    deployment.slow_docker(0.3)
    return deployment


def run_until(demo, phase, *arguments):
    """Start a deploy and return it, and what it printed, when it enters a phase."""
    process = demo.begin("deploy", "demo", "--yes", *arguments)
    said = []
    for line in process.stdout:
        said.append(line)
        if line == f"== {phase}\n":
            return process, "".join(said)
    raise AssertionError(f"no phase {phase!r}: {''.join(said)}")


def end(demo, process):
    """Return the exit code and the rest of what it printed; docker is quick again."""
    demo.slow_docker(0)
    rest = process.stdout.read()
    process.stdout.close()
    return process.wait(30), rest


@pytest.mark.parametrize("phase", PHASES)
def test_kill_9(demo, phase):
    process, _ = run_until(demo, phase)

    process.kill()

    assert end(demo, process)[0] == -signal.SIGKILL
    if phase in UNTOUCHED:
        assert demo.serves(demo.old)
    said = demo.deploy_new().stderr
    # In the first look there is no lock yet, in the next there may be none yet, in the last none any more.
    if phase not in (LOOK_AGAIN, FINISH):
        assert ("is taken over: that sparkc is gone" in said) is (phase != LOOK)


@pytest.mark.parametrize("phase", PHASES)
def test_ctrl_c(demo, phase):
    before = demo.containers()
    process, _ = run_until(demo, phase)

    process.send_signal(signal.SIGINT)

    code, said = end(demo, process)
    if phase == FINISH:
        # What serves is only to be noted as current: that is done.
        assert code == 0
        assert demo.serves(demo.new)
    else:
        assert code == 130
        assert demo.serves(demo.old)
        expected = "interrupted before anything that runs was touched" if phase in UNTOUCHED else "serves again"
        assert expected in said
    if phase in UNTOUCHED:
        assert demo.containers() == before
    if phase == FINISH:
        demo.old = demo.new
    demo.check_serving(demo.old)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_closed_terminal_is_a_ctrl_c(demo, number):
    process, _ = run_until(demo, WAIT)

    process.send_signal(number)

    code, said = end(demo, process)
    assert code == 130
    assert "interrupted; what ran before serves again" in said
    demo.check_serving(demo.old)


def test_a_second_ctrl_c_stops_the_going_back_and_says_so(demo):
    process, _ = run_until(demo, WAIT)
    process.send_signal(signal.SIGINT)
    for line in process.stdout:
        if line.startswith("== go back"):
            break

    process.send_signal(signal.SIGINT)

    code, said = end(demo, process)
    assert code == 130
    assert "interrupted again: what runs of demo now is not known" in said
    assert "sparkc status demo" in said
    assert not demo.locked()
    assert "taken over" not in demo.deploy_new().stderr


def test_an_interrupted_first_deploy_leaves_nothing_running(fresh_lab, tmp_path):
    demo = Deployment(fresh_lab, tmp_path)
    demo.new = demo.compile({"STUB_READY_AFTER": "20"})
    process, _ = run_until(demo, WAIT)

    process.send_signal(signal.SIGINT)

    code, said = end(demo, process)
    assert code == 130
    assert "nothing of demo runs now, as before" in said
    assert demo.containers() == [None, None]
    assert not demo.locked()
    demo.check_bystanders()
