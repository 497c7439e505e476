"""A model's files in a Hugging Face cache: config.json, the index, and the headers of the weights that are there."""

from __future__ import annotations

import struct
from pathlib import Path

from sparkc.cli.hub import place_of
from sparkc.diagnostics import Report
from sparkc.errors import SparkcError
from sparkc.fit.facts import (
    checkpoint_of_index,
    checkpoint_of_tensors,
    model_of_files,
    shards_of,
    tensors_of,
)
from sparkc.fit.json_text import read_json
from sparkc.fit.model import Checkpoint, Model, Tensor
from sparkc.traced import Traced

INDEX = "model.safetensors.index.json"
_MAX_JSON = 64 << 20  # the indexes of the largest models have some 20 MB
_MAX_HEADER = 100_000_000  # safetensors' own limit


def read_model(cache: Path, name: Traced[str], revision: str | None, report: Report) -> Model | None:
    """Return the facts of a model from a cache folder, or None after an error.

    ``name`` is a Hub id, or a path into a cache such as ``…/models--org--name/snapshots/<revision>/dflash``.

    Raises:
        SparkcError: a file or folder of the cache cannot be read.
    """
    try:
        return _read_model(cache, name, revision, report)
    except OSError as error:  # no permission, or a name that no file system takes
        raise SparkcError(
            f"cannot read {name.value} in {cache}: {error.strerror}", hint="check the path and its permissions"
        ) from error


def _read_model(cache: Path, name: Traced[str], revision: str | None, report: Report) -> Model | None:
    place = place_of(name.value)
    repository, revision, inner = place.repository, place.revision or revision, place.folder or "."
    snapshot = _snapshot(cache, repository, revision)
    folder = None if snapshot is None else snapshot / inner
    if folder is None or not (folder / "config.json").is_file():
        _missing(f"{cache} has no config.json of {name.value}", name, repository, revision, inner, report)
        return None
    shown = f"{repository}/{'' if inner == '.' else f'{inner}/'}"
    checkpoint = _checkpoint(folder, shown, report)
    if checkpoint is None:
        if not report.failed:
            _missing(
                f"{cache} has neither the index nor the weights of {name.value}",
                name,
                repository,
                revision,
                inner,
                report,
            )
        return None
    return model_of_files(name.value, f"{shown}config.json", _read(folder / "config.json"), checkpoint, report)


def download_hint(repository: str, revision: str | None = None, inner: str = ".") -> str:
    """Return the command that fetches what the sum needs, and nothing larger."""
    folder = "" if inner == "." else f"{inner}/"
    at = f" --revision {revision}" if revision else ""
    return f"hf download {repository}{at} {folder}config.json {folder}{INDEX} --cache-dir hub, then --hf-cache hub"


def _missing(
    message: str, name: Traced[str], repository: str, revision: str | None, inner: str, report: Report
) -> None:
    local = repository.startswith("/")
    hint = (
        "it is a path in the container: write its facts into a --model-info file"
        if local
        else download_hint(repository, revision, inner)
    )
    report.error("SPK720", message, name.origin.span, hint=hint)


def _snapshot(cache: Path, repository: str, revision: str | None) -> Path | None:
    """Return the snapshot of the revision, else of ``main``, else the only one. A cache is HF_HOME or its hub/."""
    name = f"models--{repository.replace('/', '--')}"
    model = next((folder for folder in (cache / name, cache / "hub" / name) if folder.is_dir()), None)
    if model is None:
        return None
    for wanted in (revision, _text(model / "refs" / (revision or "main"))):
        if wanted and (model / "snapshots" / wanted).is_dir():
            return model / "snapshots" / wanted
    found = [path for path in model.glob("snapshots/*") if path.is_dir()]
    return found[0] if len(found) == 1 and revision is None else None


def _checkpoint(folder: Path, shown: str, report: Report) -> Checkpoint | None:
    """Return the weights tensor by tensor if all files are there, else their total from the index."""
    index = None
    if (folder / INDEX).is_file():
        index = read_json(f"{shown}{INDEX}", _read(folder / INDEX), report)
        if index is None:
            return None
        # A name with a slash would lead out of the snapshot; then the index alone counts.
        files = (
            [] if any("/" in shard for shard in shards_of(index)) else [folder / shard for shard in shards_of(index)]
        )
    else:
        # Some repositories carry the same weights a second time, as consolidated.safetensors.
        files = sorted(folder.glob("model*.safetensors")) or sorted(folder.glob("*.safetensors"))
    if files and all(file.is_file() for file in files):
        tensors: list[Tensor] = []
        for file in files:
            found = tensors_of(f"{shown}{file.name}", _header(file), report)
            if found is None:
                return None
            tensors += found
        return checkpoint_of_tensors(tensors)
    return None if index is None else checkpoint_of_index(f"{shown}{INDEX}", index, report)


def _header(file: Path) -> bytes:
    """Return the JSON header of a safetensors file: its length stands in the first eight bytes."""
    with file.open("rb") as stream:
        start = stream.read(8)
        length = struct.unpack("<Q", start)[0] if len(start) == 8 else 0
        return stream.read(length) if length <= _MAX_HEADER else b""


def _read(file: Path) -> bytes:
    with file.open("rb") as stream:
        return stream.read(_MAX_JSON)


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        return ""
