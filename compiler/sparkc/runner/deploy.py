"""What a deploy wants: the release of a bundle on disk."""

from __future__ import annotations

from functools import partial

from sparkc.runner.bundle_folder import Bundle
from sparkc.runner.facts import NodeFacts
from sparkc.runner.group import Member
from sparkc.runner.preflight import Environments
from sparkc.runner.rollout import Wanted
from sparkc.runner.secrets import Secrets
from sparkc.runner.transfer import give_secrets, prepare, upload


def wanted(
    bundle: Bundle,
    environments: Environments,
    secrets: Secrets,
    *,
    require_pinned: bool = False,
    replaced: tuple[str, ...] = (),
) -> Wanted:
    """Return what is to run after a deploy of ``bundle``."""
    return Wanted(
        manifest=bundle.manifest,
        environments=environments,
        secrets=secrets,
        prepare=partial(_bring, bundle, secrets),
        doing=f"deploying {bundle.manifest.group_digest[:12]}",
        require_pinned=require_pinned,
        replaced=replaced,
    )


def _bring(bundle: Bundle, secrets: Secrets, member: Member, facts: NodeFacts) -> None:
    """Bring a rank's release to its node, as far as it is not there."""
    release = facts.releases.find(bundle.manifest.group_digest)
    if release is None or release.changed:
        noisy = bool(facts.stray.strip())
        upload(member, bundle.folder, facts.releases.current, secrets, noisy=noisy)
        return
    prepare(member)
    if secrets.sha256 is not None and release.secrets_sha256 != secrets.sha256:
        give_secrets(member, secrets)
