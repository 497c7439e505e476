"""The same inputs give the same bytes, whoever compiles them, wherever, whenever, and from whichever installation."""

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from system_tools import NOBODY, PACKAGE, PATH, RECIPE, ProjectFolder, as_nobody, inventory, tree

V1 = """\
recipe_version: "1"
name: Älter $X
container: vllm-node
model: org/model-b
mods: [mods/second, mods/first]
defaults: {port: 8000, tensor_parallel: 2, ctx: 0.90}
env: {B: "1", A: NO, TOKEN_FILE: $HOME/x}
command: |
  HF_X=1 vllm serve org/model-b --port {port} -tp {tensor_parallel} \\
    --kv '{{"a": {ctx}}}' --distributed-executor-backend ray
"""
BUNDLES = (
    ("demo", "--mod", "first", "-e", "Z=1", "-e", "Y=a b"),
    ("recipes/old.yaml", "--name", "Older Name"),
    ("minimax-m2.5-awq", "--earlyoom"),
)
UMASK = "import os, sys; os.umask(int(sys.argv.pop(1), 8)); from sparkc.cli.main import main; main()"


def filled(root):
    project = ProjectFolder(root)
    project.write("inventory.yaml", inventory())
    project.write("recipes/demo.yaml", RECIPE)
    project.write("recipes/old.yaml", V1)
    project.write("recipes/deep/er/x.txt", "")
    for name in ("zz", "first", "second"):
        project.mod(name)
        for file in ("b.txt", "a.txt", "sub/c.txt"):
            project.write(f"mods/{name}/{file}", f"{name} {file}\n")
    return project


def compile_all(project, *, cwd=None, umask="022", python=sys.executable, **options):
    """Compile every bundle with the real command line; return what is in out/, and the files' modes."""
    shutil.rmtree(project.out, ignore_errors=True)
    env = {"PATH": PATH, "PYTHONPATH": str(PACKAGE)} | options.pop("env", {})
    for arguments in BUNDLES:
        recipe, *flags = arguments
        if "/" in recipe and cwd is not None:
            recipe = os.path.relpath(project.root / recipe, cwd)
        done = subprocess.run(
            [python, "-c", UMASK, umask, "compile", recipe, *flags],
            capture_output=True,
            cwd=cwd or project.root,
            env=env,
            check=False,
            **options,
        )
        assert done.returncode == 0, done.stderr.decode()
    files = tree(project.out)
    return files, {path: (project.out / path).stat().st_mode & 0o777 for path in files}


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return filled(tmp_path_factory.mktemp("determinism") / "project")


@pytest.fixture(scope="module")
def expected(project):
    found = compile_all(project)
    assert len({path.split("/")[0] for path in found[0]}) == len(BUNDLES) + 1
    return found


@pytest.mark.parametrize(
    "env",
    [
        {"TZ": "Pacific/Kiritimati", "LANG": "tr_TR.UTF-8", "LC_ALL": "tr_TR.UTF-8", "PYTHONHASHSEED": "1"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONHASHSEED": "2"},
        {"LC_ALL": "C", "PYTHONIOENCODING": "ascii", "PYTHONOPTIMIZE": "2", "COLUMNS": "20"},
        {
            "HOME": "/nonexistent",
            "HF_HOME": "/leak/hf",
            "HF_TOKEN": "leak",
            "HF_HUB_CACHE": "/leak",
            "XDG_CACHE_HOME": "/l",
        },
        {
            "COMPOSE_FILE": "/leak",
            "COMPOSE_PROJECT_NAME": "leak",
            "DOCKER_HOST": "tcp://leak",
            "DOCKER_CONTEXT": "leak",
        },
        {"USER": "leak", "LOGNAME": "leak", "HOSTNAME": "leak", "X": "leak", "PWD": "/leak", "FORCE_COLOR": "1"},
        {"CLUSTER_NODES": "1.2.3.4", "ETH_IF": "leak", "IB_IF": "leak", "LOCAL_IP": "1.2.3.4", "NCCL_DEBUG": "TRACE"},
        {
            "GIT_DIR": "/leak",
            "SOURCE_DATE_EPOCH": "1",
            "VLLM_HOST_IP": "1.2.3.4",
            "VLLM_SPARK_EXTRA_DOCKER_ARGS": "-e L=1",
        },
    ],
    ids=lambda env: next(iter(env)),
)
def test_the_environment_changes_no_byte(env, project, expected):
    assert compile_all(project, env=env) == expected


def test_a_folder_below_the_project_changes_no_byte(project, expected):
    assert compile_all(project, cwd=project.root / "recipes/deep/er") == expected


@pytest.mark.parametrize("umask", ["000", "077"])
def test_the_umask_changes_no_byte_and_no_mode(umask, project, expected):
    assert compile_all(project, umask=umask) == expected


def test_another_place_and_other_times_and_modes_of_files_change_no_byte(tmp_path, expected):
    project = filled(tmp_path / "an other\nplace $HOME")
    for path in project.root.rglob("*"):
        if path.is_file():
            path.chmod(0o700 if path.suffix == ".sh" else 0o640)
            os.utime(path, (0, 0))
    assert compile_all(project) == expected


def test_another_user_changes_no_byte(expected):
    found = as_nobody()
    if found is None:
        pytest.skip("not root, or no Python here that user nobody can run")
    python, env = found
    root = Path(f"/tmp/sparkc-system-{os.getpid()}-{time.monotonic_ns()}")  # pytest's own folders are private
    try:
        project = filled(root / "project")
        for path in (root, *root.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
        assert compile_all(project, python=python, env=env | {"HOME": "/"}, user=NOBODY, group=NOBODY) == expected
    finally:
        shutil.rmtree(root, ignore_errors=True)


def test_compiling_again_writes_nothing_and_check_agrees(project, expected):
    assert compile_all(project) == expected
    before = {path: path.stat().st_mtime_ns for path in project.out.rglob("*")}
    again = project.sparkc("compile", "--all")
    assert (again.returncode, again.stdout.count("0 written, 0 removed")) == (0, len(BUNDLES))
    assert project.sparkc("compile", "--check").returncode == 0
    assert {path: path.stat().st_mtime_ns for path in project.out.rglob("*")} == before


def test_a_bundle_knows_no_machine_no_time_and_no_line(project, expected):
    files, _ = expected
    text = {path: data.decode() for path, data in files.items()}
    machine = {str(project.root), str(Path.home()), str(PACKAGE), sys.prefix, os.uname().nodename}
    # /root is also the home inside the containers.
    for leak in {*machine, time.strftime("%Y-%m-%d")} - {"/", "/root"}:
        assert not [path for path, data in text.items() if leak in data], leak
    for pattern in (r"\b\d\d:\d\d:\d\d\b", r"\.(yaml|toml):\d+", r"\bline \d+", r"\b1[67]\d{8}\b"):
        assert not [path for path, data in text.items() if re.search(pattern, data)], pattern


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """A folder with sparkc installed from a wheel of this checkout, built without the network."""
    for needed in ("hatchling", "fastjsonschema", "pip"):
        pytest.importorskip(needed, reason=f"{needed} is needed to build a wheel here")
    checkout = Path(__file__).parents[2]
    source = tmp_path_factory.mktemp("wheel") / "source"
    source.mkdir()
    # Prepared files are made by the build; those of the checkout may be older than its templates.
    ignore = shutil.ignore_patterns("_prepared", "__pycache__", "*.egg-info")
    for name in ("compiler", "schemas", "templates", "recipes", "mods"):
        shutil.copytree(checkout / name, source / name, ignore=ignore)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(checkout / name, source)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]
    where = source.parent / "installed"
    env = {"PATH": PATH, "HOME": str(source.parent), "PIP_NO_INDEX": "1", "PIP_CACHE_DIR": str(source.parent / "cache")}
    for command in (
        [*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", source.parent, source],
        [*pip, "install", "--no-deps", "--target", where],
    ):
        wheels = sorted(source.parent.glob("sparkc-*.whl")) if "install" in command else []
        done = subprocess.run([*command, *wheels], capture_output=True, env=env, check=False)
        assert done.returncode == 0, done.stderr.decode()
    return where


def test_a_wheel_gives_the_same_bytes_as_the_checkout(wheel, project, expected):
    assert (wheel / "sparkc/_prepared").is_dir()
    assert compile_all(project, env={"PYTHONPATH": str(wheel)}) == expected


def test_a_wheel_has_the_catalogue_the_schemas_and_the_mods(wheel, tmp_path):
    checkout = Path(__file__).parents[2]
    for name in ("recipes", "mods", "schemas", "templates"):
        found = {path for path in tree(wheel / "sparkc/_data" / name) if "__pycache__" not in path}
        assert found == {path for path in tree(checkout / name) if "__pycache__" not in path}
    project = ProjectFolder(tmp_path)
    done = project.sparkc("compile", "gpt-oss-120b", env={"PYTHONPATH": str(wheel)})
    assert done.returncode == 0, done.stderr
