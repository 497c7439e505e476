"""Serving engines: what each rank runs. One file per engine behind the protocol in ``base.py``."""
