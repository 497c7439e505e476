"""Which bundle a command about running ranks means, and which nodes to begin with when looking for it."""

from __future__ import annotations

from sparkc.bundle.manifest import Manifest
from sparkc.cli.bundle_argument import has_folder, nodes_of, open_bundle
from sparkc.record import dataclass
from sparkc.runner.ssh import Ssh
from sparkc.runner.survey import start_of, survey
from sparkc.runner.target import Target


@dataclass(frozen=True)
class Meant:
    """A bundle by name. ``compiled`` is what its folder says, None when only nodes may still know of it."""

    name: str
    compiled: Manifest | None
    start: dict[Target, str]


def meant_by(argument: str, inventory: str | None) -> Meant:
    """Return the bundle that BUNDLE means: a folder, or the name of one that may be gone.

    Raises:
        SparkcError: there is neither a folder nor an inventory.
    """
    name, start = nodes_of(argument, inventory)
    compiled = open_bundle(argument).manifest if has_folder(argument) else None
    return Meant(name, compiled, start if compiled is None else start | start_of(compiled))


def deployed_manifest(ssh: Ssh, argument: str, inventory: str | None) -> Manifest:
    """Return the bundle whose containers a command is about: the folder's, else what the nodes say of it.

    Raises:
        SparkcError: nobody knows such a bundle, or not where it is.
    """
    meant = meant_by(argument, inventory)
    if meant.compiled is not None:
        return meant.compiled
    found = survey(ssh, meant.start, meant.name)
    deployed = found.deployed.get(meant.name, ())
    return deployed[0] if deployed else open_bundle(argument).manifest
