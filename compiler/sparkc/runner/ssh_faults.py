"""Why ssh failed, and what to type next: ssh says it in English prose only."""

from __future__ import annotations

from sparkc.diagnostics.escape import printable_lines
from sparkc.errors import SparkcError
from sparkc.runner.target import Target


def connection_error(target: Target, said: str, doing: str = "") -> SparkcError:
    """Return the error for an ssh that failed, from what it printed; ``doing`` is what was under way."""
    # ssh ends some of its lines as a terminal in raw mode needs it.
    lines = [line for line in printable_lines(said.replace("\r\n", "\n").strip()) if line.strip()]
    text = said.lower()
    by_hand = f"ssh {target.login}"
    if "host key verification failed" in text or "remote host identification has changed" in text:
        changed = "has changed" in text
        what = "its host key is not the one in known_hosts" if changed else "its host key is not known yet"
        forget = f"if the node was installed anew, type `ssh-keygen -R {_known_name(target)}`, then " if changed else ""
        hint = f"{forget}type `{by_hand}` once and compare the key it shows"
    elif "permission denied" in text or "too many authentication failures" in text:
        what = f"does not let {target.user} in"
        hint = (
            f"ssh-copy-id {target.login} (or load the key: ssh-add); IdentitiesOnly helps where the agent has many keys"
        )
    elif "could not resolve" in text or "name or service not known" in text:
        what = f"the name {target.host} cannot be resolved"
        hint = f"correct `ssh:` of {target.node} in the inventory and compile again, or add the host to ~/.ssh/config"
    elif doing:
        what = f"the connection was lost during {doing}"
        hint = f"look at the node: {by_hand}; the same command can be typed again"
    else:
        what = "cannot be reached"
        hint = f"is it on, and is this its address? try {by_hand}"
    return SparkcError(what, host=target.node, output="\n".join(lines[-6:]), hint=hint)


def _known_name(target: Target) -> str:
    return target.host if target.port in (None, 22) else f"'[{target.host}]:{target.port}'"
