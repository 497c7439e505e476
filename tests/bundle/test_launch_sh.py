"""launch.sh, run for real by sh with stub programs: mods, secrets, the watchdog and the engine's own steps."""

import pytest
from plan_factory import default, flag, mod, plan, rank, recipe_value

from sparkc.planning.model import Step

ENGINE = ("engine", "serve")


def with_mods(*mods):
    return plan(rank(argv=ENGINE), mods=mods)


def test_mods_run_in_order_in_their_copy_and_then_the_engine_starts(launch, tmp_path):
    script = '#!/bin/sh\necho "$PWD $WORKSPACE_DIR $TOKEN"\nls\n'
    done = launch(with_mods(mod("one", script), mod("two", script)), TOKEN="x")
    where = f"{tmp_path}/workspace/mods"
    listing = "files\nmod.yaml\nrun.sh\n"
    expected = "".join(f"{where}/{name} {tmp_path}/image-workdir x\n{listing}" for name in ("one", "two"))
    assert done.stdout.decode() == expected
    assert done.stderr == "sparkc: applying mod one\nsparkc: applying mod two\n"
    assert done.argv == ["serve"]
    assert (tmp_path / "workspace/mods/one/files/patch.bin").read_bytes() == b"\x00\xff\r\n"


def test_a_failing_mod_stops_the_rank_with_its_name_and_exit_code(launch):
    done = launch(with_mods(mod("bad", "#!/bin/sh\nexit 7\n"), mod("never")))
    assert (done.returncode, done.argv) == (7, None)
    assert done.stderr == "sparkc: applying mod bad\nsparkc: mod bad failed with exit code 7\n"


def test_a_mod_is_applied_once_per_container_unless_it_runs_at_every_start(launch):
    made = with_mods(mod("once", "#!/bin/sh\necho once\n"), mod("loop", "#!/bin/sh\necho loop\n", every_start=True))
    assert launch(made).stdout == b"once\nloop\n"
    again = launch(made)
    assert again.stdout == b"loop\n"
    assert "mod once is applied already" in again.stderr
    changed = with_mods(mod("once", "#!/bin/sh\necho changed\n"))
    assert launch(changed).stdout == b"changed\n"


def test_a_failed_mod_is_tried_again(launch):
    made = with_mods(mod("flaky", '#!/bin/sh\nif [ -e "$FLAG" ]; then exit 0; fi\n: >"$FLAG"\nexit 1\n'))
    flag = str(launch.stubs / "flag")
    assert launch(made, FLAG=flag).returncode == 1
    assert launch(made, FLAG=flag).argv == ["serve"]


def test_a_mod_without_an_executable_bit_and_with_an_odd_name_runs(launch, tmp_path):
    done = launch(with_mods(mod("it's $(odd) ü", "#!/bin/sh\npwd\n")))
    assert done.stdout.decode() == f"{tmp_path}/workspace/mods/it's $(odd) ü\n"
    assert done.argv == ["serve"]


def test_a_missing_secret_is_named_before_anything_runs(launch):
    made = plan(rank(argv=ENGINE), secrets=(recipe_value("HF_TOKEN"), recipe_value("OTHER")), mods=(mod(),))
    for environment in ({}, {"HF_TOKEN": ""}, {"OTHER": "y"}):
        done = launch(made, **environment)
        assert (done.returncode, done.argv, done.stdout) == (78, None, b"")
        assert "the secret HF_TOKEN is not set: put a line HF_TOKEN=VALUE into .sparkc-secrets.env" in done.stderr
    assert launch(made, HF_TOKEN="x", OTHER="y").argv == ["serve"]


def test_the_watchdog_starts_beside_the_engine(launch, tmp_path):
    launch.stub("earlyoom", f"""printf '%s\\n' "$@" >{tmp_path}/watchdog""")
    launch.stub("engine", f"""while ! [ -s {tmp_path}/watchdog ]; do sleep 0.05; done; cat {tmp_path}/watchdog""")
    done = launch(plan(rank(argv=ENGINE), earlyoom=default(("-M", "524288,102400", "-r", "60"))))
    assert (done.returncode, done.stdout) == (0, b"-M\n524288,102400\n-r\n60\n")


@pytest.mark.parametrize(
    ("asked", "remedy"),
    [
        (recipe_value(("-M", "1"), "earlyoom"), "remove earlyoom from the recipe"),
        (flag(("-M", "1"), "--earlyoom"), "compile without --earlyoom"),
        (flag(("-M", "1"), "--earlyoom-args -M 1"), "compile without --earlyoom-args"),
    ],
)
def test_without_its_binary_the_watchdog_stops_the_rank_and_names_the_remedies(launch, asked, remedy):
    done = launch(plan(rank(argv=ENGINE), earlyoom=asked))
    assert (done.returncode, done.argv) == (127, None)
    assert "the mod use-official-vllm of https://github.com/eugr/spark-vllm-docker" in done.stderr
    assert done.stderr.endswith(f", or {remedy}\n")


def test_a_step_runs_once_and_its_failure_stops_the_rank(launch):
    launch.stub("ray", 'echo "ray $*"; exit "${CODE:-0}"')
    made = plan(rank(argv=ENGINE, steps=(Step("start the Ray head", ("ray", "start", "it's")),)))
    done = launch(made)
    assert (done.stdout, done.stderr, done.argv) == (b"ray start it's\n", "sparkc: start the Ray head\n", ["serve"])
    failed = launch(made, CODE="3")
    assert (failed.returncode, failed.argv) == (3, None)
    assert failed.stderr.endswith("sparkc: start the Ray head failed with exit code 3\n")


def test_a_step_with_a_deadline_is_retried_until_it_succeeds(launch, tmp_path):
    launch.stub("sleep", f'echo "sleep $*"; : >{tmp_path}/up')
    launch.stub("ray", f"[ -e {tmp_path}/up ] || exit 5")
    done = launch(plan(rank(argv=ENGINE, steps=(Step("join the head", ("ray", "start"), 60),))))
    assert (done.returncode, done.stdout, done.argv) == (0, b"sleep 2\n", ["serve"])
    assert done.stderr == "sparkc: join the head (for up to 60 s)\nsparkc: join the head: done\n"


def test_a_step_past_its_deadline_stops_the_rank_with_its_last_exit_code(launch):
    launch.stub("sleep", "")
    launch.stub("ray", "exit 5")
    done = launch(plan(rank(argv=ENGINE, steps=(Step("join the head", ("ray",), 0),))))
    assert (done.returncode, done.argv) == (5, None)
    assert done.stderr.endswith("sparkc: join the head (tried for 0 s) failed with exit code 5\n")


def test_the_engine_replaces_the_shell_and_its_exit_code_is_the_ranks(launch):
    launch.stub("engine", "exit 9")
    assert launch(plan(rank(argv=ENGINE))).returncode == 9
