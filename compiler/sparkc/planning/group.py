"""What planning works on: the inputs of a compile, and what is decided once for all ranks."""

from __future__ import annotations

from sparkc.engines.base import Engine
from sparkc.fabric.base import Fabric
from sparkc.inventory.model import Inventory
from sparkc.planning.command import CommandPlan
from sparkc.planning.model import Mod
from sparkc.planning.overrides import Overrides
from sparkc.planning.parameters import BY_RANK, Parameters, rank_parameters, used_parameters
from sparkc.planning.selection import Selection
from sparkc.recipe.model import Param, Recipe
from sparkc.record import dataclass
from sparkc.traced import Traced


@dataclass(frozen=True)
class Inputs:
    """Everything that a plan depends on.

    ``recipe_path`` is relative to the project; for a recipe from outside it is only the file's name, and
    ``recipe_sha256`` its hash. ``inventory_path`` is None for the built-in example and ad-hoc inventories.
    ``chosen_inventory``: the inventory was named with ``--inventory``, so its name is part of the identity.
    """

    recipe: Recipe
    inventory: Inventory
    overrides: Overrides
    mods: tuple[Mod, ...] = ()
    recipe_path: str = ""
    recipe_sha256: str | None = None
    inventory_path: str | None = None
    chosen_inventory: bool = False


@dataclass(frozen=True)
class Group:
    """What is decided once for all ranks."""

    inputs: Inputs
    engine: Engine
    fabric: Fabric
    command: CommandPlan
    selection: Selection
    values: Parameters
    master_port: Traced[int]

    @property
    def nnodes(self) -> int:
        """The number of ranks; a rank is a node."""
        return len(self.selection.nodes)

    def differs_by_rank(self) -> bool:
        """Return whether the recipe places something of its own rank or node into the command or the environment."""
        recipe = self.inputs.recipe
        env = (part for value in recipe.env.values() for part in value.value or () if isinstance(part, Param))
        return not BY_RANK.isdisjoint((*used_parameters(recipe), *(param.name for param in env)))

    def rank_values(self, rank: int) -> Parameters:
        """Return the parameters of one rank."""
        nodes = self.selection.nodes
        return rank_parameters(
            self.inputs.recipe,
            self.values,
            rank=rank,
            nnodes=self.nnodes,
            node=nodes[rank],
            head=nodes[0],
            port=self.command.port,
        )
