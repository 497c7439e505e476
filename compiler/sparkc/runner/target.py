"""Where a node is: what ssh needs to reach it."""

from __future__ import annotations

from sparkc.bundle.manifest import RankEntry
from sparkc.errors import SparkcError
from sparkc.inventory.address import split_ssh
from sparkc.record import dataclass


@dataclass(frozen=True)
class Target:
    """One machine over ssh: ``node`` is its name in messages, ``host`` an address or alias without brackets.

    ``port`` is None where only the user's ssh config decides.
    """

    node: str
    host: str
    user: str
    port: int | None = None

    @property
    def login(self) -> str:
        """The words after ``ssh`` that reach the node by hand."""
        port = f" -p {self.port}" if self.port else ""
        return f"{self.user}@{self.host}{port}"


def make_target(node: str, ssh: str, user: str) -> Target:
    """Return the target that an inventory's or a bundle's ``ssh`` and ``user`` mean.

    Raises:
        SparkcError: the text is no ssh target; a bundle from elsewhere may hold anything, and none of it becomes
            an option of ssh.
    """
    split = split_ssh(ssh)
    if split is None or not _is_login(user):
        raise SparkcError(
            f"{ssh!r} with user {user!r} is no ssh target",
            host=node,
            hint="compile the bundle again; an ssh target is [user@]host[:port]",
        )
    return Target(node, split.host, user, split.port)


def rank_target(rank: RankEntry) -> Target:
    """Return the target of one rank of a bundle."""
    return make_target(rank.node, rank.ssh, rank.user)


def _is_login(user: str) -> bool:
    return bool(user) and user[0] != "-" and user.isprintable() and not any(c.isspace() or c in "@:/\"'" for c in user)
