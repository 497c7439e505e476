"""Our mods, applied as launch.sh does: a writable copy, its folder as working directory, ./run.sh."""

from __future__ import annotations

import ctypes
import mmap
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import jinja2
import pytest

from sparkc import resources

PAGES = 256


@pytest.fixture
def apply(tmp_path):
    """Copy one of our mods and return a function that runs it; kill what it leaves behind."""
    copies = []

    def run(name, **environment):
        copy = tmp_path / "workspace" / "mods" / name
        if copy not in copies:
            shutil.copytree(resources.folder("mods") / name, copy, ignore=shutil.ignore_patterns("__pycache__"))
            copies.append(copy)
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        return subprocess.run(
            ["./run.sh"],
            check=False,
            cwd=copy,
            env={"PATH": path, **environment},
            capture_output=True,
            text=True,
            timeout=20,
        )

    yield run
    for copy in copies:
        if pid_file(copy).exists():
            os.killpg(process_of(copy), signal.SIGKILL)


def pid_file(copy):
    return copy.with_name(f".{copy.name}.pid")


def process_of(copy):
    return int(pid_file(copy).read_text())


def resident_pages(path):
    """Return how many of the file's pages are in the page cache."""
    libc = ctypes.CDLL(None, use_errno=True)
    size = path.stat().st_size
    with (
        path.open("rb") as file,
        mmap.mmap(file.fileno(), size, mmap.MAP_PRIVATE, mmap.PROT_READ | mmap.PROT_WRITE) as view,
    ):
        pages = (ctypes.c_ubyte * (size // mmap.PAGESIZE))()
        start = ctypes.c_char.from_buffer(view)
        assert libc.mincore(ctypes.byref(start), ctypes.c_size_t(size), pages) == 0
        del start
        return sum(page & 1 for page in pages)


def weights(hub, name="model-00001.safetensors"):
    """Make one weight file as the hub lays it out: a link in a snapshot to a blob. Its pages are clean and cached."""
    blob = hub / "models--org--m" / "blobs" / f"blob-{name}"
    link = hub / "models--org--m" / "snapshots" / "0123" / name
    for path in (blob, link):
        path.parent.mkdir(parents=True, exist_ok=True)
    with blob.open("wb") as file:
        file.write(os.urandom(PAGES * mmap.PAGESIZE))
        os.fsync(file.fileno())
    link.symlink_to(os.path.relpath(blob, link.parent))
    return blob


def wait_until(condition, seconds=10):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "the loop did not do it in time"
        time.sleep(0.05)


def test_drop_caches_frees_the_weights_and_nothing_else(apply, tmp_path):
    hub = tmp_path / "home" / ".cache" / "huggingface" / "hub"
    blob, other = weights(hub), weights(hub, "tokenizer.bin")
    assert (resident_pages(blob), resident_pages(other)) == (PAGES, PAGES)
    done = apply("drop-caches", HOME=str(tmp_path / "home"))
    pid = process_of(tmp_path / "workspace" / "mods" / "drop-caches")
    assert (done.returncode, done.stdout) == (0, f"drop-caches: runs once a minute as process {pid}\n")
    wait_until(lambda: resident_pages(blob) == 0)
    assert resident_pages(other) == PAGES


@pytest.mark.parametrize("variable", ["HF_HOME", "HF_HUB_CACHE"])
def test_drop_caches_finds_a_moved_cache(apply, tmp_path, variable):
    blob = weights(tmp_path / "hub")
    apply("drop-caches", **{variable: str(tmp_path if variable == "HF_HOME" else tmp_path / "hub")})
    wait_until(lambda: resident_pages(blob) == 0)


def test_a_second_start_leaves_one_loop(apply, tmp_path):
    apply("drop-caches", HF_HOME=str(tmp_path))
    copy = tmp_path / "workspace" / "mods" / "drop-caches"
    pid = process_of(copy)
    shutil.copytree(resources.folder("mods") / "drop-caches", copy, dirs_exist_ok=True)  # launch.sh copies again
    again = apply("drop-caches", HF_HOME=str(tmp_path))
    assert (again.returncode, again.stdout) == (0, f"drop-caches: already running as process {pid}\n")


def test_a_stale_process_number_does_not_stop_a_new_loop(apply, tmp_path):
    copy = tmp_path / "workspace" / "mods" / "drop-caches"
    apply("drop-caches", HF_HOME=str(tmp_path))
    first = process_of(copy)
    os.killpg(first, signal.SIGKILL)
    pid_file(copy).write_text(f"{os.getpid()}\n")  # a living process, as after a restart of the container
    wait_until(lambda: "runs once a minute" in apply("drop-caches", HF_HOME=str(tmp_path)).stdout)
    assert process_of(copy) not in (first, os.getpid())


def test_the_loop_outlives_run_sh_in_its_own_session(apply, tmp_path):
    apply("drop-caches", HF_HOME=str(tmp_path))
    pid = process_of(tmp_path / "workspace" / "mods" / "drop-caches")
    assert os.getsid(pid) == pid
    assert str(Path(f"/proc/{pid}/fd/1").readlink()) == os.devnull


def test_the_privileged_variant_says_what_it_lacks(tmp_path):
    source = resources.folder("mods") / "drop-caches-privileged" / "run.sh"
    copy = tmp_path / "run.sh"
    copy.write_text(source.read_text().replace("/proc/sys/vm/drop_caches", "/nonexistent/switch"))
    done = subprocess.run(["sh", copy], check=False, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (
        1,
        "drop-caches-privileged: cannot write /nonexistent/switch: the container is not privileged\n",
    )


def test_the_privileged_loop_writes_three(tmp_path):
    loop = resources.folder("mods") / "drop-caches-privileged" / "loop.sh"
    switch = tmp_path / "switch"
    process = subprocess.Popen(["sh", loop, switch], start_new_session=True)
    try:
        wait_until(lambda: switch.exists() and switch.read_text() == "3\n")
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def test_both_variants_carry_the_same_starter():
    mods = resources.folder("mods")
    assert (mods / "drop-caches" / "start_once.py").read_bytes() == (
        mods / "drop-caches-privileged" / "start_once.py"
    ).read_bytes()


def test_chatml_is_installed_where_the_engine_starts(apply, tmp_path):
    for _ in range(2):
        done = apply("chat-template-chatml", WORKSPACE_DIR=str(tmp_path))
        assert (done.returncode, done.stdout) == (0, f"chat-template-chatml: installed {tmp_path}/chatml.jinja\n")
    template = (tmp_path / "chatml.jinja").read_text()
    # transformers renders chat templates with these two options
    rendered = (
        jinja2.Environment(trim_blocks=True, lstrip_blocks=True)
        .from_string(template)
        .render(
            messages=[{"role": "system", "content": "Be brief."}, {"role": "user", "content": " Hi\n"}],
            add_generation_prompt=True,
        )
    )
    assert rendered == (
        "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\n Hi\n<|im_end|>\n<|im_start|>assistant\n"
    )


def test_chatml_needs_the_working_directory(apply):
    done = apply("chat-template-chatml")
    assert done.returncode != 0
    assert "WORKSPACE_DIR" in done.stderr


def test_our_shell_scripts_pass_shellcheck():
    checker = shutil.which("shellcheck", path=f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    assert checker, "shellcheck is part of the dev dependencies"
    scripts = sorted(resources.folder("mods").glob("*/*.sh"))
    done = subprocess.run([checker, *scripts], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")
