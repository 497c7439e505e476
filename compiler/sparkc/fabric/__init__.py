"""Fabric topologies: which environment wires the ranks together. One file per topology."""
