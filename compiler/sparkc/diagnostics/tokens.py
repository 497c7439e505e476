"""What an access token looks like, so that no message repeats one."""

from __future__ import annotations

from sparkc.patterns import pattern

# Published prefixes of access tokens: Hugging Face, OpenAI and Anthropic, GitHub, GitLab, Slack, AWS, NVIDIA NGC.
TOKEN = pattern(
    r"(?<![A-Za-z0-9_])(?:hf_[A-Za-z0-9]{16,}|sk-[A-Za-z0-9_-]{20,}|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}"
    r"|glpat-[\w-]{20,}|xox[abprs]-[\w-]{10,}|AKIA[0-9A-Z]{16}|nvapi-[\w-]{20,})"
)


def masked(text: str) -> str:
    """Return ``text`` of the same length with every token's characters replaced by ``*``, its prefix kept."""
    return TOKEN.sub(lambda match: match[0][:3] + "*" * (len(match[0]) - 3), text)
