"""The engines there are. A new engine is one file and one line here."""

from __future__ import annotations

from collections.abc import Mapping

from sparkc.engines.base import Engine
from sparkc.engines.plain import Plain
from sparkc.engines.vllm import Vllm
from sparkc.engines.vllm_ray import VllmRay

ENGINES: Mapping[str, Engine] = {engine.name: engine for engine in (Vllm(), VllmRay(), Plain())}
NAMES: tuple[str, ...] = tuple(ENGINES)
