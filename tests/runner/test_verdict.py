"""Which moments of its ranks make a group one that serves, and which one that failed: and by which rank first."""

from dataclasses import replace

from sparkc.errors import SparkcError
from sparkc.runner.beats import Beat
from sparkc.runner.verdict import LOST_SECONDS, STILL_SECONDS, Board
from support.node_facts import manifest

GIB = 1 << 30
# Node clocks begin at 1000, ours at 5000, the monotonic one at 0.
RUNNING = Beat("running", None, 0, 0, False, 900.0, None, 1000.0, 119 * GIB, 90 * GIB, 5 * GIB, "")
LOADING = replace(RUNNING, health="starting", log="Loading safetensors")
HEALTHY = replace(RUNNING, health="healthy")
LOST = SparkcError(
    "the connection was lost during watch", host="spark-2", hint="look at the node: ssh spark@spark-2.lan"
)


def exited(at, clock, code=1, log=""):
    return replace(RUNNING, state="exited", exit_code=code, finished=at, clock=clock, log=log)


def board(seconds=60.0):
    return Board(manifest(), seconds, 0.0)


def test_all_ranks_serve():
    waiting = board()
    waiting.beat(0, LOADING, 2.0, 5002.0)
    waiting.beat(1, RUNNING, 2.0, 5002.0)
    assert not waiting.over(2.0)

    waiting.beat(0, HEALTHY, 4.0, 5004.0)

    assert waiting.over(4.0)
    assert waiting.error() is None


def test_one_rank_alone_is_no_group():
    waiting = board()
    waiting.beat(0, HEALTHY, 2.0, 5002.0)

    assert not waiting.over(2.0)


def test_a_failure_is_heard_out_and_the_first_rank_is_named_though_clocks_differ():
    waiting = board()
    # Rank 0's node is 100 s ahead: by the clocks alone its end would be the later one, and by arrival it is.
    waiting.beat(0, replace(LOADING, clock=1102.0), 2.0, 5002.0)
    waiting.beat(1, replace(RUNNING, clock=1002.0), 2.0, 5002.0)
    waiting.beat(1, exited(1003.5, 1004.0, log="the head went away"), 4.0, 5004.0)
    assert not waiting.over(4.5)
    waiting.beat(0, exited(1103.0, 1105.0, log="CUDA error"), 5.0, 5005.0)

    assert waiting.over(5.0)
    error = waiting.error()
    assert error is not None
    assert str(error) == (
        "spark-1: rank 0 (head) exited with code 1 after 203 s\n"
        "  output:\n"
        "    rank 0, spark-1: exited with code 1 after 203 s; last said: CUDA error\n"
        "    rank 1, spark-2: exited with code 1 after 104 s; last said: the head went away\n"
        "  help: sparkc logs demo --rank 0"
    )


def test_the_others_are_not_waited_for_long():
    waiting = board()
    waiting.beat(1, exited(1001.0, 1002.0), 2.0, 5002.0)

    assert not waiting.over(5.9)
    assert waiting.over(6.0)
    error = waiting.error()
    assert error is not None
    assert error.host == "spark-2"
    assert "rank 0, spark-1: nothing heard yet" in (error.output or "")


def test_a_removed_container_comes_before_the_rank_that_it_took_along():
    waiting = board()
    waiting.beat(0, replace(LOADING, clock=1000.0), 0.0, 5000.0)
    waiting.beat(1, exited(1001.0, 1002.0), 2.0, 5002.0)
    waiting.beat(0, replace(RUNNING, state="gone", clock=1002.0), 2.0, 5002.0)

    error = waiting.error()
    assert error is not None
    assert error.message == "rank 0 (head) has no container any more: somebody removed it"


def test_the_time_is_over():
    waiting = board(seconds=30.0)
    waiting.beat(0, LOADING, 2.0, 5002.0)
    waiting.beat(1, RUNNING, 2.0, 5002.0)
    assert not waiting.over(29.9)

    assert waiting.over(30.0)
    error = waiting.error()
    assert error is not None
    assert error.host == "spark-1"
    assert error.message == "rank 0 (head) does not serve after 30 s"
    assert (error.output or "").splitlines() == [
        "rank 0, spark-1: loading; last said: Loading safetensors",
        "rank 1, spark-2: running",
    ]
    assert "--wait-timeout" in (error.hint or "")


def test_a_lost_node_is_unknown_and_may_come_back():
    waiting = board()
    waiting.beat(0, HEALTHY, 2.0, 5002.0)
    waiting.lost(1, LOST, 3.0, 5003.0)
    waiting.lost(1, LOST, 2.9 + LOST_SECONDS, 5047.9)
    assert not waiting.over(2.9 + LOST_SECONDS)

    waiting.beat(1, RUNNING, 3.5 + LOST_SECONDS, 5048.5)

    assert waiting.over(3.5 + LOST_SECONDS)
    assert waiting.error() is None


def test_a_node_that_stays_lost_fails_the_group_as_unknown():
    waiting = board(seconds=1000.0)
    waiting.beat(0, LOADING, 2.0, 5002.0)
    waiting.beat(1, replace(RUNNING, log="joined"), 2.0, 5002.0)
    waiting.lost(1, LOST, 10.0, 5010.0)
    waiting.lost(1, LOST, 10.0 + LOST_SECONDS, 5055.0)

    assert waiting.over(20.0 + LOST_SECONDS)
    error = waiting.error()
    assert error is not None
    assert error.host == "spark-2"
    assert error.message == (
        f"rank 1 (worker) has an unknown state for {LOST_SECONDS:.0f} s now: the connection was lost during watch"
    )
    assert "rank 1, spark-2: unknown: the connection was lost during watch; last said: joined" in (error.output or "")
    assert error.hint == LOST.hint


def test_docker_without_an_answer_is_unknown_as_well():
    silent = replace(RUNNING, state="silent", log="Cannot connect to the Docker daemon")
    waiting = board(seconds=1000.0)
    waiting.beat(0, silent, 0.0, 5000.0)
    assert not waiting.over(10.0)
    waiting.beat(0, silent, LOST_SECONDS, 5045.0)

    assert waiting.over(LOST_SECONDS + 10)
    error = waiting.error()
    assert error is not None
    assert error.message.endswith("Docker does not answer there: Cannot connect to the Docker daemon")


def test_a_log_that_stands_still_names_the_page_cache_once():
    full = replace(LOADING, page_cache=80 * GIB, memory_available=12 * GIB)
    waiting = board(seconds=1000.0)
    assert waiting.beat(0, full, 0.0, 5000.0) is None
    assert waiting.beat(0, full, STILL_SECONDS - 1, 5119.0) is None

    notice = waiting.beat(0, full, STILL_SECONDS, 5120.0)

    assert notice == (
        "its log has stood still for 120 s, and of 119 GiB memory 80 GiB are page cache, 12 GiB available; where "
        "loading hangs near the limit, this on the node gives the cache back: "
        "sync && echo 3 | sudo tee /proc/sys/vm/drop_caches"
    )
    assert waiting.beat(0, full, 2 * STILL_SECONDS, 5240.0) is None


def test_a_log_that_stands_still_with_little_page_cache_is_only_told():
    waiting = board(seconds=1000.0)
    waiting.beat(0, LOADING, 0.0, 5000.0)

    assert waiting.beat(0, LOADING, 130.0, 5130.0) == "its log has stood still for 130 s"


def test_a_log_that_moves_is_no_news():
    waiting = board(seconds=1000.0)
    waiting.beat(0, LOADING, 0.0, 5000.0)
    waiting.beat(0, replace(LOADING, log="Capturing graphs"), 100.0, 5100.0)

    assert waiting.beat(0, replace(LOADING, log="Capturing graphs"), 130.0, 5130.0) is None
