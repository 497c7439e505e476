"""Children of a run, many at once: what an interrupt and a fault of one leave of the others."""

import os
import signal
import threading
import time

import pytest

from sparkc.errors import SparkcError
from sparkc.runner.processes import Processes, all_or_raise, interruptible


def interrupt_after(seconds, number=signal.SIGINT):
    threading.Timer(seconds, os.kill, (os.getpid(), number)).start()


def test_results_come_in_the_order_of_the_jobs_and_failures_are_results():
    failed = SparkcError("no")

    def fail():
        raise failed

    def slow():
        time.sleep(0.05)
        return "slow"

    outcomes = Processes().fan_out({"a": slow, "b": fail, "c": lambda: "quick"})

    assert list(outcomes.items()) == [("a", "slow"), ("b", failed), ("c", "quick")]


def test_a_child_is_fed_and_read():
    done = Processes().run(["sh", "-c", "cat; echo no >&2; exit 3"], stdin=b"\xffhello")

    assert (done.code, done.stdout, done.stderr) == (3, b"\xffhello", b"no\n")


def test_much_input_and_output_take_longer_than_a_tick():
    data = os.urandom(1 << 20)
    done = Processes().run(["sh", "-c", "sleep 0.5; cat"], stdin=data)

    assert done.stdout == data


def test_a_child_that_takes_too_long_is_ended():
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        Processes().run(["sleep", "30"], timeout=0.3)

    assert time.monotonic() - began < 3


def test_an_interrupt_ends_every_job_and_the_next_fan_out_works():
    processes = Processes()
    ended = []

    def job():
        try:
            processes.run(["sleep", "30"])
        finally:
            ended.append(True)

    interrupt_after(0.3)
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        processes.fan_out({1: job, 2: job})

    assert time.monotonic() - began < 3
    assert ended == [True, True]
    assert processes.fan_out({1: lambda: "again"}) == {1: "again"}


def test_an_interrupt_does_not_wait_for_what_holds_a_pipe_open():
    # As the session of an ssh master does: the master has its standard error until the node's command ends.
    processes = Processes()
    script = "setsid sleep 5 >/dev/null & exec sleep 5"

    interrupt_after(0.3)
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        processes.fan_out({1: lambda: processes.run(["sh", "-c", script])})

    assert time.monotonic() - began < 3


def test_sigterm_interrupts_too():
    processes = Processes()

    interrupt_after(0.3, signal.SIGTERM)
    with interruptible(), pytest.raises(KeyboardInterrupt):
        processes.fan_out({1: lambda: processes.pause(30)})


def test_a_fault_in_one_job_ends_the_others():
    processes = Processes()

    def fault():
        raise BrokenPipeError

    began = time.monotonic()
    with pytest.raises(BrokenPipeError):
        processes.fan_out({1: lambda: processes.run(["sleep", "30"]), 2: fault})

    assert time.monotonic() - began < 3


def test_one_failure_is_raised_as_it_is_and_several_as_one_report():
    first, second = SparkcError("full", host="spark-1", hint="df -h"), SparkcError("off", host="spark-2")

    with pytest.raises(SparkcError) as one:
        all_or_raise({0: first, 1: "fine"}, "not on every node")
    with pytest.raises(SparkcError) as both:
        all_or_raise({0: first, 1: second}, "not on every node")

    assert one.value is first
    assert str(both.value) == ("not on every node\n  output:\n    spark-1: full\n    spark-2: off\n  help: df -h")
    assert all_or_raise({0: "a"}, "") == {0: "a"}
