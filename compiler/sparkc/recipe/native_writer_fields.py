"""The keys and values of a native recipe in the order in which a reader looks for them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sparkc.reading.source import Span
from sparkc.recipe.comments import Path
from sparkc.recipe.model import Argv, Param, Part, Recipe, Word
from sparkc.traced import Origin, Traced

# What YAML and TOML both hold; mappings keep their order.
Tree = str | bool | int | None | list["Tree"] | dict[str, "Tree"]


def native_fields(recipe: Recipe) -> tuple[dict[str, Tree], dict[Path, Span]]:
    """Return the mapping that a native file holds, and where in the source each value came from.

    The recipe's command must be an ``Argv`` in whose texts nothing looks like a placeholder
    (:func:`sparkc.recipe.native_writer_form.native_form` sees to that).
    """
    fields = _Fields()
    fields.put("sparkc", 1)
    fields.add("name", recipe.base_name)
    fields.put("description", recipe.description or None)
    fields.add("engine", recipe.engine)
    fields.add("engine_version", recipe.engine_version)
    fields.add("image", recipe.image)
    fields.put("image_notes", recipe.image_notes or None)
    fields.add("model", recipe.model)
    fields.add("parent_model", recipe.parent_model)
    fields.add("revision", recipe.revision)
    fields.texts("served_model_name", recipe.served_model_name)
    fields.add("host", recipe.host)
    fields.add("port", recipe.port)
    sizes = {"tensor": recipe.parallel.tensor, "pipeline": recipe.parallel.pipeline, "data": recipe.parallel.data}
    fields.mapping("parallel", sizes)
    for key in ("nodes", "cluster_only", "solo_only"):
        fields.add(key, getattr(recipe, key))
    fields.texts("mods", recipe.mods)
    _entrypoint(fields, recipe)
    fields.mapping("defaults", recipe.defaults)
    assert isinstance(recipe.command, Argv)  # noqa: S101 - native recipes have no scripts
    fields.words("args" if recipe.arguments_only else "command", recipe.command.words)
    _env(fields, recipe)
    fields.texts("secrets", recipe.secrets)
    _mounts(fields, recipe)
    _container(fields, recipe)
    health = recipe.health
    times = {
        key: None if time is None else time.with_value(_duration(time.value))
        for key, time in (("start_period", health.start_period), ("interval", health.interval))
    }
    fields.mapping("health", {"path": health.path, "port": health.port, **times})
    if recipe.ready_timeout is not None:
        fields.add("ready_timeout", recipe.ready_timeout.with_value(_duration(recipe.ready_timeout.value)))
    if recipe.earlyoom is not None:
        fields.add("earlyoom", recipe.earlyoom.with_value(recipe.earlyoom.value or True))
    fields.plain("links", recipe.links)
    fields.mapping("derived_from", recipe.derived_from)
    fields.put("deviations", [{"key": item.key, "reason": item.reason} for item in recipe.deviations] or None)
    fields.plain("notes", recipe.notes)
    return fields.tree, fields.places


class _Fields:
    def __init__(self) -> None:
        self.tree: dict[str, Tree] = {}
        self.places: dict[Path, Span] = {}

    def put(self, key: str, value: Tree) -> None:
        if value is not None:
            self.tree[key] = value

    def add(self, key: str, traced: Traced[str] | Traced[int] | Traced[bool] | Traced[str | bool] | None) -> None:
        if traced is not None:
            self.tree[key] = traced.value
            self.place((key,), traced.origin)

    def place(self, path: Path, origin: Origin) -> None:
        # A model that a command names stands in the middle of it: what is written there is about the command.
        vague = len(path) == 1 and origin.text.endswith((": command", ": script", ": file name"))
        if origin.span is not None and not vague:
            self.places[path] = origin.span

    def texts(self, key: str, items: Iterable[Traced[str]]) -> None:
        texts: list[Tree] = []
        for index, item in enumerate(items):
            texts.append(item.value)
            self.place((key, index), item.origin)
        self.put(key, texts or None)

    def words(self, key: str, words: Iterable[Word]) -> None:
        texts: list[Tree] = []
        for index, word in enumerate(words):
            texts.append(template(word.parts))
            self.place((key, index), word.origin)
        self.put(key, texts or None)

    def mapping(self, key: str, values: Mapping[str, Traced[str] | Traced[int] | Traced[bool] | None]) -> None:
        given: dict[str, Tree] = {}
        for name, value in values.items():
            if value is not None:
                given[name] = value.value
                self.place((key, name), value.origin)
        self.put(key, given or None)

    def plain(self, key: str, values: Mapping[str, str]) -> None:
        self.put(key, dict(values) or None)


def template(parts: Iterable[Part]) -> str:
    """Return parts as the text of a native file."""
    return "".join(f"{{{part.name}}}" if isinstance(part, Param) else part.text for part in parts)


def _entrypoint(fields: _Fields, recipe: Recipe) -> None:
    given = recipe.entrypoint
    if given is not None and (given.value is None or given.value):
        fields.put("entrypoint", "keep" if given.value is None else list(given.value))
        fields.place(("entrypoint",), given.origin)


def _env(fields: _Fields, recipe: Recipe) -> None:
    env: dict[str, Tree] = {}
    for name, value in recipe.env.items():
        env[name] = None if value.value is None else template(value.value)
        fields.place(("env", name), value.origin)
    fields.put("env", env or None)


def _mounts(fields: _Fields, recipe: Recipe) -> None:
    mounts: list[Tree] = []
    for index, mount in enumerate(recipe.mounts):
        item: dict[str, Tree] = {"source": mount.source.value, "target": mount.target.value}
        item |= {key: True for key in ("read_only", "create") if getattr(mount, key)}
        mounts.append(item)
        fields.place(("mounts", index), mount.source.origin)
    fields.put("mounts", mounts or None)


def _container(fields: _Fields, recipe: Recipe) -> None:
    spec = recipe.container
    container: dict[str, Tree] = {}

    def add(key: str, traced: Traced[str] | Traced[int] | Traced[bool] | None) -> None:
        if traced is not None:
            container[key] = traced.value
            fields.place(("container", key), traced.origin)

    add("privileged", spec.privileged)
    if spec.ipc_host is not None and spec.ipc_host.value:
        add("ipc", spec.ipc_host.with_value("host"))
    for key in ("shm_size", "memory", "memory_swap", "pids"):
        add(key, getattr(spec, key))
    for key, items in (("devices", spec.devices), ("security_opt", spec.security_opt)):
        if items:
            container[key] = [item.value for item in items]
            for index, item in enumerate(items):
                fields.place(("container", key, index), item.origin)
    if spec.ulimits:
        container["ulimits"] = {name: limit.value for name, limit in spec.ulimits.items()}
        for name, limit in spec.ulimits.items():
            fields.place(("container", "ulimits", name), limit.origin)
    fields.put("container", container or None)


def _duration(seconds: int) -> str:
    for unit, size in (("h", 3600), ("m", 60)):
        if seconds % size == 0:
            return f"{seconds // size}{unit}"
    return f"{seconds}s"
