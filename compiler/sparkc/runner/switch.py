"""From the group that runs to another one, as one unit: the new one serves, or the old one, or it is said what is.

A deploy and a rollback end here alike. Up to this point nothing that runs was touched.
"""

from __future__ import annotations

from collections.abc import Mapping

from sparkc.errors import SparkcError
from sparkc.record import dataclass, replace
from sparkc.runner.deep_probe import deep_probe
from sparkc.runner.group import Group
from sparkc.runner.lifecycle import start, stop
from sparkc.runner.logs import last_logs
from sparkc.runner.progress import Progress
from sparkc.runner.secrets import Secrets
from sparkc.runner.waiting import wait_until_serving

_LOG_LINES = 12
_AGAIN = "mend the cause and deploy again; --no-rollback leaves a failed start as it is, for study"


@dataclass(frozen=True)
class How:
    """How to switch. ``wait_seconds`` is None for no waiting; without ``bring_back`` a wreck is left for study.

    ``secrets`` may hold the key that a completion needs.
    """

    wait_seconds: float | None
    bring_back: bool = True
    secrets: Secrets = Secrets()


class SwitchFailed(SparkcError):  # noqa: N818 - what happened, not what the caller did wrong
    """The new group does not serve; the message says what does. ``interrupted``: by Ctrl-C."""

    def __init__(self, message: str, *, interrupted: bool, output: str, hint: str) -> None:
        super().__init__(message, output=output, hint=hint)
        self.interrupted = interrupted


def switch(new: Group, running: tuple[Group, ...], back: tuple[Group, ...], how: How, progress: Progress) -> None:
    """Stop the ``running`` groups, start ``new`` and wait until it serves.

    ``back`` lists those that are to run again if the new group does not come up, other bundles included.

    Raises:
        SwitchFailed: it did not work or was interrupted; what could be brought back was.
    """
    why: SparkcError | None = None
    started = False
    try:
        progress.phase("stop what runs")
        _stop_all((*running, new), progress)
        progress.phase("start")
        start(new, progress)
        started = True
        wait(new, how, progress)
    except SparkcError as error:
        why = error
    except KeyboardInterrupt:
        why = None
    else:
        return
    # What to type about a group that runs is no help once it is gone.
    advice = None if why is None or (started and how.bring_back) else why.hint
    raise _failed(new, back, why, advice, how, progress)


def wait(group: Group, how: How, progress: Progress) -> None:
    """Wait until a started group serves, the first completion included, unless ``how`` says not to.

    Raises:
        SparkcError: it does not.
        KeyboardInterrupt: Ctrl-C.
    """
    if how.wait_seconds is None:
        return
    progress.phase("wait until it serves")
    wait_until_serving(group, how.wait_seconds, progress)
    progress.phase("ask for one token")
    for number, answer in deep_probe(group, how.secrets.values).items():
        if isinstance(answer, SparkcError):
            raise answer
        if answer is not None:
            progress.say(f"rank {number}: {answer}")


def _failed(
    new: Group, back: tuple[Group, ...], why: SparkcError | None, advice: str | None, how: How, progress: Progress
) -> SwitchFailed:
    """Bring the old groups back and return the whole report.

    ``advice`` is what to type about the cause; where not even the old groups serve, there is something more urgent.
    """
    cause = "interrupted" if why is None else f"{why.host}: {why.message}" if why.host else why.message
    name = new.manifest.name
    logs: Mapping[int, tuple[str, ...] | SparkcError] = {}
    more = ""
    try:
        progress.say(f"{cause}; going back (Ctrl-C again leaves everything as it is)" if how.bring_back else cause)
        logs = last_logs(new, _LOG_LINES) if why is not None else {}
        if not how.bring_back:
            outcome = f"{name} is left as it is on every node, for study"
            hint = f"sparkc status {name}; then sparkc down {name}, or deploy again"
        else:
            outcome, hint = _bring_back(new, back, progress)
        hint = advice or hint
    except KeyboardInterrupt:
        outcome = f"interrupted again: what runs of {name} now is not known"
        hint = f"sparkc status {name} tells; deploying again, sparkc rollback {name} and sparkc down {name} all work"
    except SparkcError as error:
        outcome, more = f"going back failed as well, so {name} serves nothing", f"going back: {error.facts}"
        hint = f"sparkc status {name}; when the cause is mended, deploy again or sparkc rollback {name}"
    said = "\n".join(_last_lines(number, lines) for number, lines in logs.items())
    return SwitchFailed(
        f"{name}: {cause}; {outcome}",
        interrupted=why is None,
        output="\n".join(part for part in (why.output if why is not None else None, more, said) if part),
        hint=hint,
    )


def _bring_back(new: Group, old: tuple[Group, ...], progress: Progress) -> tuple[str, str]:
    """Stop the new group and start the old ones; return what then is, and what to type next."""
    name = new.manifest.name
    progress.phase("go back to what ran before" if old else "stop what was started")
    _stop_all((new,), progress)
    for group in old:
        start(group, progress, back=True)
    for group in old:
        wait_until_serving(group, group.manifest.ready_timeout, progress)
    if not old:
        return f"nothing of {name} runs now, as before", _AGAIN
    back = ", ".join(f"{group.manifest.name} {group.manifest.group_digest[:12]}" for group in old)
    return f"what ran before serves again ({back})", _AGAIN


def _last_lines(number: int, lines: tuple[str, ...] | SparkcError) -> str:
    said = (f"(unknown: {lines.message})",) if isinstance(lines, SparkcError) else lines or ("(nothing)",)
    return "\n".join((f"last lines of rank {number}:", *(f"  {line}" for line in said)))


def _stop_all(groups: tuple[Group, ...], progress: Progress) -> None:
    """Stop all groups; nodes that an earlier group of the same bundle has seen to are not asked again.

    Raises:
        SparkcError: it is not known of every node that the containers are gone.
    """
    seen: set[tuple[str, object]] = set()
    unconfirmed: list[SparkcError] = []
    for group in groups:
        name = group.manifest.name
        members = tuple(m for m in group.members if (name, m.connection.target) not in seen)
        seen |= {(name, member.connection.target) for member in group.members}
        if members or group.unreached:
            unconfirmed += stop(replace(group, members=members), progress).unconfirmed.values()
    if unconfirmed:
        raise SparkcError(
            "it could not be confirmed on every node that the old containers are gone",
            output="\n".join(error.facts for error in unconfirmed),
            hint=unconfirmed[0].hint,
        )
