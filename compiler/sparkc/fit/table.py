"""The sum as a table."""

from __future__ import annotations

from sparkc.fit.advice import gib
from sparkc.fit.model import Fit, RankFit

_BASIS = {"measured": "measured", "config": "from config", "estimated": "estimated"}


def table(fit: Fit) -> str:
    """Return the tightest rank's sum line by line, what its cache holds, the other ranks in short, and the verdict."""
    rank = fit.tightest
    rows = [
        *(_row(line.name, line.size, line.basis, line.formula) for line in rank.lines if line.place == "budget"),
        _row("KV cache", max(rank.pool, 0), rank.pool_basis, rank.pool_formula),
        _row("engine", rank.budget, None, fit.limit),
        *(_row(line.name, line.size, line.basis, line.formula) for line in rank.lines if line.place == "beside"),
        _row("sum", rank.total, None, ""),
        _row("node", rank.memory, None, f"{rank.node}, from {rank.memory_from}"),
        _row("free", rank.left, None, ""),
        *(
            _row(f"({line.name})", line.size, line.basis, line.formula)
            for line in rank.lines
            if line.place == "reclaimable"
        ),
    ]
    width = max(len(row[0]) for row in rows)
    title = f"rank {rank.rank} on {rank.node}, {rank.layers} layers"
    if len(fit.ranks) > 1:
        title += f"; the tightest of {len(fit.ranks)} ranks"
    lines = [title, "", *(f"  {a:<{width}}  {b:>11}  {c:<11}  {d}".rstrip() for a, b, c, d in rows), "", *_cache(fit)]
    others = [other for other in fit.ranks if other is not rank]
    if others:
        lines += ["", *(_short(other) for other in others)]
    lines += ["", "It fits." if fit.fits else "It does not fit:", *(f"  {problem}" for problem in fit.problems)]
    if fit.advice:
        lines += ["What would help:", *(f"  {text}" for text in fit.advice)]
    return "\n".join(lines)


def _row(name: str, size: int, basis: str | None, formula: str) -> tuple[str, str, str, str]:
    return name, gib(size), "" if basis is None else _BASIS[basis], formula


def _cache(fit: Fit) -> list[str]:
    rank = fit.tightest
    token = f"{rank.token / 1024:.2f} KiB a token and rank ({_BASIS[fit.cache_basis]}, cache type {fit.cache})"
    if rank.fixed:
        token += f", and {rank.fixed / (1 << 20):.1f} MiB a sequence for windows and recurrent states"
    full = rank.tokens / fit.max_length if fit.max_length else 0.0
    room = f"It holds {rank.tokens:,} tokens: {full:.2f} sequences of {fit.max_length:,} tokens"
    return [f"KV cache: {token}", f"{room}; at most {fit.sequences} run at once."]


def _short(rank: RankFit) -> str:
    weights = gib(sum(line.size for line in rank.lines if line.name == "weights"))
    room = f"KV cache {gib(max(rank.pool, 0))} for {rank.tokens:,} tokens"
    return f"rank {rank.rank} on {rank.node}: {rank.layers} layers, weights {weights}, {room}, {gib(rank.left)} free"
