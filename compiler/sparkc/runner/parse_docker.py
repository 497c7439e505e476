"""What Docker says of containers and images, as records."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any

from sparkc.runner.facts import Container, Image


def parse_containers(text: str) -> tuple[Container, ...]:
    """Return the containers that the look printed, one JSON object a line; what is no such line is passed over."""
    return tuple(sorted((_container(data) for data in _objects(text)), key=lambda container: container.name))


def parse_image(text: str) -> Image | None:
    """Return the image that ``docker image inspect`` printed, of any image store; None without one.

    The containerd image store gives an ``Id`` that is a manifest's, and may leave out what the image does not set.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(found, list) or not found or not isinstance(found[0], dict):
        return None
    data = found[0]
    return Image(
        id=_text(data.get("Id")),
        digests=_texts(data.get("RepoDigests")),
        layers=_texts(_mapping(data.get("RootFS")).get("Layers")),
        architecture=_text(data.get("Architecture")),
        os=_text(data.get("Os")),
        environment=_texts(_mapping(data.get("Config")).get("Env")),
    )


def timestamp(text: object) -> float | None:
    """Return Docker's time in seconds since 1970, or None for the year 1, which stands for never."""
    if not isinstance(text, str) or text.startswith("0001-"):
        return None
    main, _, rest = text.partition(".")
    fraction = rest.rstrip("Z").partition("+")[0].partition("-")[0]
    zone = rest[len(fraction) :] if rest else ""
    try:
        # Nanoseconds are more digits than Python reads.
        return datetime.fromisoformat(f"{main}.{fraction[:6]:0<6}{zone}" if rest else main).timestamp()
    except ValueError:
        return None


def _objects(text: str) -> Iterator[dict[str, Any]]:
    for line in text.splitlines():
        try:
            data = json.loads(line)
        except (ValueError, RecursionError):
            continue
        if isinstance(data, dict):
            yield data


def _container(data: Mapping[str, Any]) -> Container:
    state = _mapping(data.get("state"))
    return Container(
        id=_text(data.get("id")),
        name=_text(data.get("name")).removeprefix("/"),
        image=_text(data.get("image")),
        image_id=_text(data.get("image_id")),
        state=_text(state.get("Status")),
        health=_health(_mapping(state.get("Health")).get("Status")),
        exit_code=_number(state.get("ExitCode")),
        started=timestamp(state.get("StartedAt")),
        finished=timestamp(state.get("FinishedAt")),
        restarts=_number(data.get("restarts")),
        out_of_memory=state.get("OOMKilled") is True,
        labels={key: _text(value) for key, value in _mapping(data.get("labels")).items()},
        host_network=data.get("network") == "host",
        published=tuple(sorted(_published(_mapping(data.get("ports"))))),
    )


def _health(value: object) -> str | None:
    # "none" is what some engines call a check that is switched off.
    return value if isinstance(value, str) and value not in ("", "none") else None


def _published(ports: Mapping[str, Any]) -> set[int]:
    found = set()
    for port, bindings in ports.items():
        if port.endswith("/tcp"):
            for binding in bindings or ():
                number = _mapping(binding).get("HostPort", "")
                if isinstance(number, str) and number.isdecimal():
                    found.add(int(number))
    return found


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _texts(value: object) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0
