"""sparkc compiles LLM-serving recipes for DGX Spark clusters into one reviewed directory per rank."""

__version__ = "0.1.0"
