"""The command line: one file per command, each a thin function that returns an exit code."""
