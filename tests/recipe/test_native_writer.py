"""Native recipes as text: what is written is read back, and comments stay with what they are about."""

from __future__ import annotations

import json
import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparkc.diagnostics import Report
from sparkc.reading.read import read_document
from sparkc.reading.source import Source, Span
from sparkc.recipe.comments import document_comments
from sparkc.recipe.dialects import read_recipe_file
from sparkc.recipe.model import (
    Argv,
    ContainerSpec,
    Deviation,
    HealthSpec,
    MountSpec,
    Parallel,
    Param,
    Recipe,
    Text,
    Word,
)
from sparkc.recipe.native_writer import native_text
from sparkc.recipe.native_writer_form import native_form
from sparkc.recipe.native_writer_model import Start
from sparkc.recipe.native_writer_yaml import scalar
from sparkc.recipe.placeholders import fill_word
from sparkc.traced import Traced, from_file

SOURCE = Source("source.yaml", "x\n")
SPAN = Span(SOURCE, 1, 1, 1, 2)
ORIGIN = from_file(SPAN, "x")
VLLM = Start(("vllm", "serve"), ())

# Everything that a file can hold, often what YAML, TOML or a placeholder would take for itself.
TEXT = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20),
    st.text("{}$ab.:#-'\"\\ \n\t&*!|>%@`,[]?=~<", max_size=12),
    st.sampled_from(["", "~", "null", "true", "NO", "0123", "1e3", "---", "...", "<<", "=", "{node.name}", "${x}"]),
)
NAMES = st.from_regex(r"[A-Za-z_][A-Za-z0-9_]{0,6}", fullmatch=True)
# No name that planning fills in itself.
PARAMETERS = NAMES.map(lambda name: f"p_{name}")


def traced(value):
    return Traced(value, ORIGIN)


def optional(strategy):
    return st.none() | strategy.map(traced)


@st.composite
def recipes(draw, *, foreign=False):
    defaults = draw(st.dictionaries(PARAMETERS, TEXT.map(traced), max_size=3))
    contexts = ["data", "words"] if foreign else ["data"]
    param = st.builds(
        lambda name, context: Param(name, SPAN, context),
        st.sampled_from([*defaults] or ["p_x"]),
        st.sampled_from(contexts),
    )
    part = st.builds(Text, TEXT) | param if defaults else st.builds(Text, TEXT)
    words = draw(st.lists(st.lists(part, min_size=1, max_size=4), max_size=5))
    numbers = st.integers(1, 4000)
    return Recipe(
        source=SOURCE,
        dialect="spark-vllm-docker" if foreign else "native",
        title="demo",
        base_name=traced("demo"),
        engine=traced("vllm"),
        image=traced("org/image:1"),
        command=Argv(tuple(Word(tuple(parts), ORIGIN) for parts in words)),
        arguments_only=True,
        description=draw(TEXT),
        engine_version=draw(optional(st.sampled_from(["0.30", "1", "0.11.1+cu130"]))),
        image_notes=draw(TEXT),
        model=traced("org/model"),
        revision=draw(optional(st.just("0123456789"))),
        served_model_name=tuple(draw(st.lists(TEXT.filter(bool).map(traced), max_size=2))),
        host=draw(optional(st.just("0.0.0.0"))),
        port=draw(optional(st.just(8000))),
        parallel=Parallel(draw(optional(numbers)), draw(optional(numbers)), draw(optional(numbers))),
        nodes=draw(optional(numbers)),
        cluster_only=draw(optional(st.booleans())),
        defaults=defaults,
        env={
            name: traced((Text(value),))
            for name, value in draw(st.dictionaries(NAMES, TEXT.filter(lambda text: "{" not in text))).items()
        },
        secrets=tuple(map(traced, draw(st.lists(NAMES, unique=True, max_size=2)))),
        mods=tuple(draw(st.lists(TEXT.filter(bool).map(traced), max_size=2))),
        mounts=tuple(
            MountSpec(traced(f"/{source}"), traced(f"/{target}"), read_only, create)
            for source, target, read_only, create in draw(
                st.lists(st.tuples(TEXT, TEXT, st.booleans(), st.booleans()), max_size=2)
            )
        ),
        entrypoint=draw(st.none() | st.just(traced(None)) | st.lists(TEXT, min_size=1).map(lambda w: traced(tuple(w)))),
        container=ContainerSpec(
            privileged=draw(optional(st.booleans())),
            shm_size=draw(optional(st.just("64gb"))),
            pids=draw(optional(numbers)),
            devices=tuple(draw(st.lists(st.just(traced("/dev/fuse")), max_size=1))),
            security_opt=tuple(draw(st.lists(TEXT.filter(bool).map(traced), max_size=2))),
            ulimits=draw(st.dictionaries(st.just("nofile"), numbers.map(traced))),
        ),
        health=HealthSpec(draw(optional(st.just("/health"))), None, draw(optional(st.integers(1, 90000)))),
        ready_timeout=draw(optional(st.integers(1, 90000))),
        earlyoom=draw(optional(TEXT.filter(lambda text: text not in {"~", "null"}))),
        links=draw(st.dictionaries(TEXT.filter(bool), st.just("/x"), max_size=2)),
        notes=draw(st.dictionaries(TEXT.filter(bool), TEXT.filter(bool), max_size=2)),
        derived_from=draw(st.just({}) | st.just({"source": traced("a b#c"), "revision": traced("12")})),
        deviations=tuple(
            Deviation(key, reason)
            for key, reason in draw(st.lists(st.tuples(TEXT.filter(bool), TEXT.filter(bool)), max_size=1))
        ),
    )


def bare(value):  # noqa: PLR0911 - one line for each kind of value
    """A recipe without the places that its values came from."""
    if isinstance(value, Traced):
        return bare(value.value)
    if isinstance(value, Text):
        return value.text
    if isinstance(value, Param):
        return (value.name,)
    if isinstance(value, Word):
        return joined(value.parts)
    if isinstance(value, Argv):
        return [bare(word) for word in value.words]
    if isinstance(value, dict):
        return {name: bare(item) for name, item in value.items()}
    if isinstance(value, tuple | list):
        return [bare(item) for item in value]
    names = getattr(value, "__match_args__", None)
    ignored = {"source", "span", "origin", "at", "title"}
    return value if names is None else {name: bare(getattr(value, name)) for name in names if name not in ignored}


def joined(parts):
    """Texts that stand beside each other are one text."""
    result = [""]
    for part in parts:
        if isinstance(part, Text) and isinstance(result[-1], str):
            result[-1] += part.text
        else:
            result.append(bare(part))
    return [part for part in result if part != ""]


def read(text, format_):
    report = Report()
    recipe = read_recipe_file(f"demo.{format_}", text.encode(), report)
    assert recipe is not None, (text, [found.message for found in report.diagnostics])
    return recipe


@settings(max_examples=60, deadline=None)
@given(recipes(), st.sampled_from(["yaml", "toml"]))
def test_what_is_written_is_read_back(recipe, format_):
    form = native_form(recipe, None, Report())  # braces that are no placeholder become parameters

    assert bare(read(native_text(form.recipe, format_), format_)) == bare(form.recipe)


@settings(max_examples=60, deadline=None)
@given(recipes(foreign=True))
def test_foreign_words_stay_the_words_that_they_are(recipe):
    texts = {name: value.value for name, value in recipe.defaults.items()}
    report = Report()
    expected = [item for word in recipe.command.words for item in fill_word(word, texts, report)]
    form = native_form(recipe, None, Report())
    if report.failed:
        assert form is None  # a value with an open quote compiles in neither form
        return
    again = read(native_text(form.recipe, "yaml"), "yaml")

    values = {name: value.value for name, value in again.defaults.items()}
    assert [item for word in again.command.words for item in fill_word(word, values, Report())] == expected


@settings(max_examples=300)
@given(TEXT)
def test_a_yaml_scalar_is_one_line_that_our_reader_takes_for_the_text(text):
    written = scalar(text)
    document = read_document("x.yaml", f"key: {written}\nlist:\n  - {written}\n".encode(), Report())

    assert "\n" not in written
    assert [document.root.get("key").text, document.root.get("list").items[0].text] == [text, text]
    assert not document.root.get("key").is_null


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("--port", "--port"),
        ("0123", "0123"),
        ("NO", "NO"),
        ("null", "'null'"),
        ("", "''"),
        ("{port}", "'{port}'"),
        ('{"a":1}', """'{"a":1}'"""),
        ("a: b", "'a: b'"),
        ("a #b", "'a #b'"),
        ("it's", "it's"),
        ("- a", "'- a'"),
        ("'x'", "\"'x'\""),
        ("tab\there", '"tab\\there"'),
        ("no\u00a0break", '"no\\xa0break"'),
    ],
)
def test_quotes_stand_where_they_are_needed(text, written):
    assert scalar(text) == written


V1 = """\
    # About the recipe.

    recipe_version: "1"
    name: Demo model
    # From the registry.
    container: org/image:1   # tested
    # What is not carried over.
    unknown: 1
    defaults:
      # API
      port: 8000   # of the head
      extra: "--a 1 --b"
      # gone: 3
    # About the start.
    command: |
      vllm serve org/model \\
        --port {port} \\
        --json '{{"a": "{{port}}"}}' \\
        {extra} \\
        --literal "{{port}}"
        # the end
    # Last words.
"""


def converted(text, format_="yaml", name="demo.yaml"):
    report = Report()
    data = textwrap.dedent(text).encode()
    recipe = read_recipe_file(name, data, report)
    document = read_document(name, data, Report())
    form = native_form(recipe, VLLM, report)
    assert form is not None, [found.message for found in report.diagnostics]
    return native_text(form.recipe, format_, [*document_comments(document, commands=True), *form.remarks], document)


def test_a_recipe_is_written_with_its_comments():
    assert converted(V1) == textwrap.dedent("""\
        # yaml-language-server: $schema=../schemas/recipe.schema.json
        # About the recipe.
        # What is not carried over.
        sparkc: 1
        name: demo
        description: Demo model
        engine: vllm
        # From the registry.
        image: org/image:1  # tested
        model: org/model
        defaults:
          # API
          port: 8000  # of the head
          # gone: 3
          literal_port: '{port}'
        # About the start.
        args:
          - --port
          - '{port}'
          - --json
          - '{"a": "{literal_port}"}'
          # {extra} is written out (--a 1 --b): a native placeholder never splits
          - --a
          - 1
          - --b
          - --literal
          - '{literal_port}'
          # the end
        # Last words.
        """)


def test_comments_of_toml_keep_their_places():
    text = """\
        # Deviations: none.
        engine = "vllm"
        # About the image.
        docker_image = "org/image:1" # pinned # later
        model = "org/model"   # served
        args = [
          # batch
          "--max-num-seqs", "4", # two users
          "--x '#1'",
          # "--off",
        ]
        # What it needs.
        [env]
        A = "b # no comment" # why
        # the end
    """
    expected = textwrap.dedent("""\
        # yaml-language-server: $schema=../schemas/recipe.schema.json
        # Deviations: none.
        sparkc: 1
        name: demo
        engine: vllm
        # About the image.
        image: org/image:1  # pinned # later
        model: org/model  # served
        args:
          # batch
          - --max-num-seqs
          - 4  # two users
          - --x
          - '#1'
          # "--off",
        # What it needs.
        env:
          A: 'b # no comment'  # why
        # the end
        """)
    assert converted(text, name="demo.toml") == expected

    toml = converted(text, "toml", name="demo.toml")
    comments = [line.strip() for line in textwrap.dedent(text).splitlines() if "#" in line]
    assert [line.strip() for line in toml.splitlines() if line.lstrip().startswith("#")][1:] == [
        line for line in comments if line.startswith("#")
    ]
    assert '  "4",  # two users\n' in toml
    assert '[env]\nA = "b # no comment"  # why\n' in toml


@pytest.mark.parametrize(
    ("text", "comments"),
    [
        ("a: 'x # y'  # z\n", ["# z"]),
        ('a: x#y\nb: "#" #\n', ["#"]),
        ("a: |  # header\n  x # y\n  # z\n# end", ["# header", "# end"]),
        ("a: >\n  # x\n\n# end\n", ["# end"]),
        ("a: [1, # one\n  2]\n", ["# one"]),
        ("a: x # y\n  # z\n", ["# y", "# z"]),
        ("command: |\n  vllm serve x '# y' --z#1 # last\n  # more\n", ["# last", "# more"]),
        ("command: |\n  a 'b # c\n", []),
    ],
)
def test_what_is_a_comment(text, comments):
    document = read_document("x.yaml", text.encode(), Report())

    assert [comment.text for comment in document_comments(document, commands=True)] == comments


@pytest.mark.parametrize(
    "text",
    [
        " a\nb",
        "\na\n",
        "a\n \nb",
        "a\n\n",
        "a\nb",
        "\ta\nb\n",
        "a\n\tb \n",
        "a\n# b\n",
        "a\r\nb\n",
        "\n",
        "\n\n",
        "a\n'''",
    ],
)
def test_lines_are_kept_as_they_are(text):
    recipe = read(f"sparkc: 1\nname: demo\nengine: plain\nimage: i:1\ncommand: [{json.dumps(text)}]\n", "yaml")

    for format_ in ("yaml", "toml"):
        assert bare(read(native_text(recipe, format_), format_).command) == [[text]]


def test_an_identity_that_is_no_hub_id_is_a_remark():
    text = converted("recipe_version: '1'\nname: x\ncontainer: i:1\nmodel: a b\ncommand: vllm serve /m\n")

    assert "# the model a b is not carried over: it is no id on the Hub\n" in text
    assert "\nmodel: /m\n" in text


def test_a_long_text_is_written_line_by_line():
    script = "if a; then\n  b\n\nfi\n"

    for format_ in ("yaml", "toml"):
        recipe = read(
            f"sparkc: 1\nname: demo\nengine: plain\nimage: i:1\ncommand: [sh, -c, {script!r}]\n".replace("'", '"'),
            "yaml",
        )
        text = native_text(native_form(recipe, None, Report()).recipe, format_)

        assert bare(read(text, format_).command) == [["sh"], ["-c"], [script]]
        assert "\n    if a; then\n      b\n\n    fi\n" in text or "'''\nif a; then\n  b\n\nfi\n'''" in text
