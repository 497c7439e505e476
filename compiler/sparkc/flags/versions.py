"""Which version of its engine a recipe means, and how sure that is."""

from __future__ import annotations

import re
from typing import Literal

from sparkc.record import dataclass
from sparkc.traced import Traced

Version = tuple[int, ...]

# Repositories whose tags name releases as they were published; every other image is somebody's build.
_RELEASES = {"vllm/vllm-openai": "vllm", "lmsysorg/sglang": "sglang"}
_TAG = re.compile(r"v?(\d+\.\d+\.\d+)(?:\.post\d+)?(?:-.*)?")
_LAST = 10**6
_NUMBERS = re.compile(r"v?(\d+(?:\.\d+)*)")


@dataclass(frozen=True)
class Basis:
    """What a command is checked against.

    ``stated`` is the version that the recipe or the image's tag gives; None: the newest one known is a guess.
    ``known`` is the version whose parser was recorded: the newest not above ``stated``. ``following`` is the next
    recorded one where ``stated`` lies between two. ``how`` says in a message where the version is from.
    ``release``: the image is the engine's own release, so what the parser does not know cannot be there.
    """

    engine: str
    known: str
    how: Literal["engine_version", "image tag", "guess"]
    stated: str | None = None
    following: str | None = None
    release: bool = False
    guess: bool = False

    @property
    def name(self) -> str:
        """How messages call the version, e.g. ``vLLM 0.33.0``."""
        return f"{_TITLES[self.engine]} {self.known}"

    @property
    def version(self) -> Version:
        """The version for rules that begin or end with one; a series such as ``0.33`` counts as its last release."""
        match = _NUMBERS.match(self.stated or self.known)
        parts = match[1].split(".") if match is not None else []
        return tuple(map(int, parts)) + (_LAST,) * (3 - len(parts))


_TITLES = {"vllm": "vLLM", "sglang": "SGLang"}


def numbers(version: str) -> Version:
    """Return a version's numbers for comparison; ``0.33`` counts as ``0.33.0``."""
    match = _NUMBERS.match(version)
    parts = tuple(int(part) if len(part) < 10 else 10**9 for part in match[1].split(".")) if match is not None else ()
    return parts + (0,) * (3 - len(parts))


def release_of(image: str) -> tuple[str, str] | None:
    """Return engine and version that a release image's tag names, or None where image or tag do not say."""
    repository, tag = _repository(image)
    engine = _RELEASES.get(repository)
    match = _TAG.fullmatch(tag)
    return (engine, match[1]) if engine is not None and match is not None else None


def is_release_image(image: str) -> bool:
    """Return whether an image is one of the engine's own, whatever its tag says."""
    return _repository(image)[0] in _RELEASES


def pick_version(engine: str, declared: Traced[str] | None, image: str, recorded: tuple[str, ...]) -> Basis:
    """Choose what to check against: a declared ``engine_version``, else a release image's tag, else the newest.

    ``recorded`` are the versions with a recorded parser, oldest first. A version older than all of them, or a text
    that is no version, is a guess as well: only notes come of it.
    """
    tagged = release_of(image)
    release = is_release_image(image)
    if declared is not None and _NUMBERS.match(declared.value):
        return _nearest(engine, declared.value, "engine_version", recorded, release=release)
    if tagged is not None and tagged[0] == engine:
        return _nearest(engine, tagged[1], "image tag", recorded, release=release)
    return Basis(engine, recorded[-1], "guess", guess=True)


def _nearest(
    engine: str,
    stated: str,
    how: Literal["engine_version", "image tag"],
    recorded: tuple[str, ...],
    *,
    release: bool,
) -> Basis:
    wanted = numbers(stated)
    older = [version for version in recorded if numbers(version) <= wanted]
    if not older:
        return Basis(engine, recorded[0], how, stated, guess=True)
    known = older[-1]
    # A bare "0.33" names a series, of which the recorded release is as good a member as any.
    exact = numbers(known) == wanted or known.startswith(f"{stated.removeprefix('v')}.")
    newer = recorded[len(older) :]
    return Basis(
        engine=engine,
        known=known,
        how=how,
        stated=stated,
        following=None if exact or not newer else newer[0],
        release=release and (exact or bool(newer)),
    )


def _repository(image: str) -> tuple[str, str]:
    name = image.partition("@")[0].removeprefix("docker.io/")
    head, _, last = name.rpartition("/")
    base, _, tag = last.partition(":")
    return f"{head}/{base}" if head else base, tag
