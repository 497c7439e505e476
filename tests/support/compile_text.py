"""A recipe's and an inventory's text to a plan, by the same stages as ``sparkc compile``, without a disk."""

from __future__ import annotations

from dataclasses import dataclass

from sparkc.diagnostics import Report
from sparkc.diagnostics.render import render
from sparkc.inventory.load import read_inventory
from sparkc.planning.group import Inputs
from sparkc.planning.model import Exec, Mod, Plan, RankPlan
from sparkc.planning.overrides import Overrides
from sparkc.planning.plan import make_plan
from sparkc.reading.read import read_document
from sparkc.recipe.dialects import read_recipe_file

# What a good recipe needs so that no warning about pins comes with it.
IMAGE = f"vllm/vllm-openai@sha256:{'0' * 64}"
REVISION = "0" * 40

LAB = """\
sparkc_inventory: 1
name: lab
topology: switch
defaults: {user: spark, interface: enp1s0f0np0, hcas: [rocep1s0f0, roceP2p1s0f0]}
nodes:
  - {name: s1, ssh: s1.lan, address: 10.0.0.1}
  - {name: s2, ssh: s2.lan, address: 10.0.0.2, interface: enp1s0f1np1, hcas: [rocep1s0f1, roceP2p1s0f1]}
  - {name: s3, ssh: s3.lan, address: 10.0.0.3}
  - {name: s4, ssh: s4.lan, address: 10.0.0.4}
"""


def native(*lines: str, engine: str = "vllm") -> str:
    """Return a native recipe; ``lines`` follow its head."""
    head = ["sparkc: 1", "name: demo", f"engine: {engine}", f"image: {IMAGE}"]
    if engine != "plain":
        head += ["model: org/model", f"revision: '{REVISION}'"]
    return "\n".join([*head, *lines, ""])


def v1(command: str, *lines: str) -> str:
    """Return a spark-vllm-docker recipe."""
    head = ["recipe_version: '1'", "name: Demo", f"container: {IMAGE}", f"model_revision: '{REVISION}'"]
    return "\n".join([*head, *lines, "command: |", *(f"  {line}" for line in command.splitlines()), ""])


def sparkrun(runtime: str, command: str, *lines: str) -> str:
    """Return a sparkrun recipe."""
    head = ["recipe_version: '2'", f"runtime: {runtime}", f"container: {IMAGE}", "model: org/m"]
    head.append(f"model_revision: '{REVISION}'")
    return "\n".join([*head, *lines, "command: |", *(f"  {line}" for line in command.splitlines()), ""])


@dataclass(frozen=True)
class Compiled:
    """The plan, or None, and everything that was said."""

    plan: Plan | None
    report: Report

    @property
    def ranks(self) -> tuple[RankPlan, ...]:
        """All ranks of a plan that must exist."""
        assert self.plan is not None, self.text
        return self.plan.ranks

    @property
    def codes(self) -> list[str]:
        """The codes of all diagnostics, in order."""
        return [diagnostic.code for diagnostic in self.report.diagnostics]

    @property
    def text(self) -> str:
        """All diagnostics as the user reads them."""
        return render(self.report.diagnostics, "text", color=False)

    def argv(self, rank: int = 0) -> list[str]:
        """A rank's argv, or the engine's words within its script."""
        process = self.ranks[rank].process
        return [word.value for word in (process.argv if isinstance(process, Exec) else process.engine_argv)]

    def env(self, rank: int = 0) -> dict[str, str]:
        """A rank's environment."""
        return {key: value.value for key, value in self.ranks[rank].environment.items()}


def compile_text(
    recipe: str,
    inventory: str = LAB,
    *,
    name: str = "demo.yaml",
    loaded_mods: tuple[Mod, ...] = (),
    chosen_inventory: bool = False,
    bundle_name: str | None = None,
    **overrides: object,
) -> Compiled:
    """Compile; ``overrides`` are fields of :class:`Overrides`. Mods are given loaded, ``--name`` as ``bundle_name``."""
    report = Report()
    read = read_recipe_file(name, recipe.encode(), report)
    document = read_document("inventory.yaml", inventory.encode(), report)
    nodes = None if document is None else read_inventory(document, report)
    if read is None or nodes is None:
        return Compiled(None, report)
    inputs = Inputs(
        recipe=read,
        inventory=nodes,
        overrides=Overrides(name=bundle_name, **overrides),  # type: ignore[arg-type]
        mods=loaded_mods,
        recipe_path=name,
        inventory_path="inventory.yaml",
        chosen_inventory=chosen_inventory,
    )
    return Compiled(make_plan(inputs, report), report)
