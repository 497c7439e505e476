"""Where things lie on a node.

::

    <home>/.local/share/sparkc/<bundle>/
      lock/                     held while something changes
      current, previous         links into releases/
      releases/<group digest>/  plays the part of out/: self-contained
        .sparkc-secrets.env     0600; two levels above the rank folder, where compose.yaml looks for it
        <bundle>/bundle.json    the whole manifest, so that a node alone knows its group
        <bundle>/rank-1-spark-2/

A release has secrets of its own: going back to it needs those it was started with.
"""

from __future__ import annotations

from pathlib import PurePosixPath

from sparkc.bundle.manifest import Manifest, RankEntry
from sparkc.record import dataclass

ROOT = ".local/share/sparkc"
SECRETS = ".sparkc-secrets.env"
KEPT = 3


@dataclass(frozen=True)
class Layout:
    """The folders of one bundle on one node, as absolute paths."""

    root: str
    bundle: str

    @property
    def base(self) -> str:
        """The bundle's own folder."""
        return f"{self.root}/{self.bundle}"

    @property
    def releases(self) -> str:
        """All releases."""
        return f"{self.base}/releases"

    def release(self, digest: str) -> str:
        """One release, by group digest."""
        return f"{self.releases}/{digest}"

    def rank_folder(self, digest: str, folder: str) -> str:
        """The folder that Compose is called on."""
        return f"{self.release(digest)}/{self.bundle}/{folder}"


def layout(manifest: Manifest, rank: RankEntry) -> Layout:
    """Return where the bundle lies on a rank's node."""
    return root_layout(rank.home, manifest.name)


def root_layout(home: str, bundle: str) -> Layout:
    """Return where ``bundle`` lies below a login user's ``home``."""
    return Layout(str(PurePosixPath(home) / ROOT), bundle)
