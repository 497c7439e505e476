"""What README.md says about deploying by hand: what each node needs first, and how ssh and rsync name it."""

from __future__ import annotations

from collections.abc import Iterable

from sparkc.bundle.quoting import word
from sparkc.inventory.address import split_ssh
from sparkc.planning.model import Plan, RankPlan
from sparkc.record import dataclass

_CACHE = "/root/.cache/huggingface"
_USUAL_CACHE = ".cache/huggingface"


@dataclass(frozen=True)
class Preparation:
    """What to do on nodes, named together where it is the same: shell commands, and paths that must exist."""

    nodes: str
    commands: tuple[str, ...]
    needed: tuple[str, ...]


@dataclass(frozen=True)
class Target:
    """A node as ssh names it, the same for rsync (with brackets around IPv6), and the port unless it is 22."""

    ssh: str
    rsync: str
    port: int | None


def preparations(plan: Plan) -> list[Preparation]:
    """Return what to do before the first start, one entry per distinct set of commands and paths."""
    groups: dict[tuple[tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for rank in plan.ranks:
        made = sorted({mount.source.value for mount in rank.mounts if mount.create})
        needed = sorted({mount.source.value for mount in rank.mounts if not mount.create})
        commands = [f"mkdir -p {' '.join(word(source) for source in made)}"] if made else []
        if not local_image(rank):
            commands.append(f"docker pull {word(rank.container.image.value)}")
        commands += _downloads(plan, rank)
        groups.setdefault((tuple(commands), tuple(needed)), []).append(rank.node.name.value)
    return [Preparation(", ".join(nodes), commands, needed) for (commands, needed), nodes in groups.items()]


def local_image(rank: RankPlan) -> bool:
    """Return whether the rank's image has the name of one that somebody built: without a registry or an owner."""
    return "/" not in rank.container.image.value


def _downloads(plan: Plan, rank: RankPlan) -> Iterable[str]:
    """Yield a command per model from the Hub, into the cache that the rank mounts.

    llama.cpp loads from the Hub at its start, into a cache with another layout.
    """
    source = next((mount.source.value for mount in rank.mounts if mount.target.value == _CACHE), None)
    if plan.engine == "llama-cpp" or source is None:
        return
    usual = source == f"{rank.node.home.value}/{_USUAL_CACHE}"
    cache = "" if usual else f"HF_HOME={word(source)} "
    for position, model in enumerate(plan.models):
        main = position == 0
        # A parent model is the identity of a path, not what is loaded.
        if model.value.startswith("/") or (main and plan.recipe.parent_model is not None):
            continue
        revision = plan.revision if main else None
        pin = f" --revision {word(revision.value)}" if revision is not None else ""
        yield f"{cache}hf download {word(model.value)}{pin}"


def target_of(rank: RankPlan) -> Target:
    """Return how to reach a rank's node by hand; who logs in is stated, whatever the reader's ssh config says."""
    ssh = rank.node.ssh.value
    split = split_ssh(ssh)
    user = split.user if split is not None and split.user is not None else rank.node.user.value
    host = ssh if split is None else split.host
    port = split.port if split is not None else None
    return Target(f"{user}@{host}", f"{user}@{f'[{host}]' if ':' in host else host}", port)
