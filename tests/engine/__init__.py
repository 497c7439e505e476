"""The real engine, vLLM for the CPU, on nodes of the lab. How to run these tests: docs/how-to/real-engine.md."""
