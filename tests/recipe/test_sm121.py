"""TOML recipes of the sm121 launcher."""

import pytest

from sparkc.diagnostics import Report, Severity
from sparkc.recipe.dialects import read_recipe_file
from sparkc.recipe.model import Text

MINIMAL = 'engine = "vllm"\ndocker_image = "img@sha256:0"\nmodel = "/models/m"\n'


def read(text):
    report = Report()
    return read_recipe_file("four.toml", text.encode(), report), report


def argv(recipe):
    return ["".join(part.text for part in word.parts) for word in recipe.command.words]


def test_a_whole_recipe():
    recipe, report = read(
        MINIMAL
        + '''\
name = "Demo (4x)"
image_notes = "patched"
entrypoint = ["python3", "/opt/toolchain.py", "serve"]
parent_model = "org/m"
port = 30000
required_nodes = 4
tensor_parallel_size = 4
pipeline_parallel_size = 1
data_parallel_size = 1
distributed_backend = "mp"
shm_size = "32gb"
devices = ["/dev/infiniband"]
ready_timeout = 3600
args = [
  "--trust-remote-code",
  "--block-size 128",
  """ '{"read_mode":"bounce","n":{x}}'""",
  "$HOME;",
]
[[extra_mounts]]
host = "~/cache"
container = "/cache"
[env]
A = "1"
B = "${x} $y"
[links]
status = "/v1/status"
'''
    )
    assert report.diagnostics == ()
    assert (recipe.dialect, recipe.title, recipe.base_name.value) == ("sm121", "Demo (4x)", "four")
    assert (recipe.engine.value, recipe.image.value, recipe.model.value) == ("vllm", "img@sha256:0", "/models/m")
    assert (recipe.parent_model.value, recipe.port.value, recipe.nodes.value) == ("org/m", 30000, 4)
    sizes = recipe.parallel
    assert (sizes.tensor.value, sizes.pipeline.value, sizes.data.value) == (4, 1, 1)
    assert recipe.entrypoint.value == ("python3", "/opt/toolchain.py", "serve")
    assert recipe.arguments_only
    assert argv(recipe) == [
        "--trust-remote-code", "--block-size", "128", '{"read_mode":"bounce","n":{x}}', "$HOME;",
        "--distributed-executor-backend", "mp",
    ]  # fmt: skip
    assert [word.origin.span.line for word in recipe.command.words] == [18, 19, 19, 20, 21, 13, 13]
    assert recipe.command.words[2].origin.text == "four.toml: args[1]"
    assert (recipe.container.shm_size.value, recipe.container.devices[0].value) == ("32gb", "/dev/infiniband")
    (mount,) = recipe.mounts
    assert (mount.source.value, mount.target.value, mount.create, mount.read_only) == ("~/cache", "/cache", True, False)
    assert {key: value.value for key, value in recipe.env.items()} == {"A": (Text("1"),), "B": (Text("${x} $y"),)}
    assert (recipe.ready_timeout.value, recipe.links, recipe.image_notes) == (3600, {"status": "/v1/status"}, "patched")


def test_a_backend_in_args_is_not_added_again():
    recipe, report = read(MINIMAL + 'distributed_backend = "mp"\nargs = ["--distributed-executor-backend=ray"]\n')
    assert argv(recipe) == ["--distributed-executor-backend=ray"]
    assert report.diagnostics == ()


@pytest.mark.parametrize(
    ("text", "code", "line", "mention"),
    [
        (MINIMAL + 'args = ["\'x"]\n', "SPK111", 4, "quote"),
        (MINIMAL.replace("model", "modell"), "SPK030", 1, "'model'"),
        (MINIMAL + "[env]\nA = 1\n", "SPK026", 5, "env.A"),
        (MINIMAL + '[[extra_mounts]]\nhost = "x"\n', "SPK030", 4, "container"),
        (MINIMAL + 'required_nodes = "x"\n', "SPK022", 4, "required_nodes"),
    ],
)
def test_faults_are_located(text, code, line, mention):
    _, report = read(text)
    (found,) = [found for found in report.diagnostics if found.severity is Severity.ERROR]
    assert (found.code, found.span.line) == (code, line)
    assert mention in found.message


def test_an_unknown_key_is_a_warning():
    recipe, report = read(MINIMAL + "require_nodes = 2\n")
    assert recipe is not None
    assert [(found.code, found.hint) for found in report.diagnostics] == [("SPK020", "did you mean 'required_nodes'?")]
