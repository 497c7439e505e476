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


@pytest.fixture
def demo(demo):
    """The demo bundle, serving, with another one compiled; docker takes its time, so that every phase lasts."""
    demo.slow_docker(0.3)
    return demo


@pytest.mark.parametrize("phase", PHASES)
def test_kill_9(demo, phase):
    process, _ = demo.deploy_until(f"== {phase}\n")

    process.kill()

    assert demo.finish(process)[0] == -signal.SIGKILL
    if phase in UNTOUCHED:
        assert demo.serves(demo.old)
    said = demo.deploy_new().stderr
    # In the first look there is no lock yet, in the next there may be none yet, in the last none any more.
    if phase not in (LOOK_AGAIN, FINISH):
        assert ("is taken over: that sparkc is gone" in said) is (phase != LOOK)


@pytest.mark.parametrize("phase", PHASES)
def test_ctrl_c(demo, phase):
    before = demo.containers()
    process, _ = demo.deploy_until(f"== {phase}\n")

    process.send_signal(signal.SIGINT)

    code, said = demo.finish(process)
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
    process, _ = demo.deploy_until(f"== {WAIT}\n")

    process.send_signal(number)

    code, said = demo.finish(process)
    assert code == 130
    assert "interrupted; what ran before serves again" in said
    demo.check_serving(demo.old)


def test_a_second_ctrl_c_stops_the_going_back_and_says_so(demo):
    process, _ = demo.deploy_until(f"== {WAIT}\n")
    process.send_signal(signal.SIGINT)
    for line in process.stdout:
        if line.startswith("== go back"):
            break

    process.send_signal(signal.SIGINT)

    code, said = demo.finish(process)
    assert code == 130
    assert "interrupted again: what runs of demo now is not known" in said
    assert "sparkc status demo" in said
    assert not demo.locked()
    assert "taken over" not in demo.deploy_new().stderr


def test_an_interrupted_first_deploy_leaves_nothing_running(fresh_lab, tmp_path):
    demo = Deployment(fresh_lab, tmp_path)
    demo.new = demo.compile({"STUB_READY_AFTER": "20"})
    process, _ = demo.deploy_until(f"== {WAIT}\n")

    process.send_signal(signal.SIGINT)

    code, said = demo.finish(process)
    assert code == 130
    assert "nothing of demo runs now, as before" in said
    assert demo.containers() == [None, None]
    assert not demo.locked()
    demo.check_bystanders()
