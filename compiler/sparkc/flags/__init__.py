"""The flag check: an engine's command line and environment against what that version of the engine really accepts."""
