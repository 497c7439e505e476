"""``python -m tests.lab``: bring a lab up, look at it, cut its cables, bring it down."""

# ruff: noqa: T201 - a command line prints

from __future__ import annotations

import argparse
import os
import signal
import sys
import time

from . import state
from .cleanup import down, is_up
from .cluster import Lab
from .requirements import why_not
from .state import LINKS
from .system import LabError


def main(arguments: list[str]) -> int:
    """Run one command and return its exit code: 1 with one line on standard error when it cannot be done."""
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # `status | head -1` is no fault
    options = _parser().parse_args(arguments)
    reason = why_not()
    if reason is not None:
        print(reason, file=sys.stderr)
        return 1
    try:
        return int(options.action(options))
    except LabError as error:
        print(error, file=sys.stderr)
        return 1


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.lab", description="A cluster in a box.")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def command(name: str, action: object, text: str) -> argparse.ArgumentParser:
        made = commands.add_parser(name, help=text, description=text)
        made.add_argument("--name", default="lab", help="which lab (%(default)s)")
        made.set_defaults(action=action)
        return made

    up = command("up", _up, "Bring a lab up.")
    up.add_argument("--nodes", type=int, default=4, help="how many (%(default)s)")
    up.add_argument("--mtu", type=int, default=9000, help="MTU of the rails (%(default)s)")
    up.add_argument("--rate", help="limit of the rails, such as 1gbit")
    up.add_argument("--no-image", metavar="NODE,NODE", default="", help="nodes without the stub image, or: all")
    command("down", _down, "Bring a lab down, also what a crash left of it.")
    ssh = command("ssh", _ssh, "Log in to a node, or run a command on it.")
    ssh.add_argument("node", help="such as spark-1")
    ssh.add_argument("words", nargs=argparse.REMAINDER, metavar="COMMAND")
    run = command("run", _run, "Run a program on the control machine, such as sparkc.")
    run.add_argument("words", nargs=argparse.REMAINDER, metavar="PROGRAM")
    for name, action, text in (("cut", _cut, "Pull a node's cables."), ("heal", _heal, "Plug them in again.")):
        cable = command(name, action, text)
        cable.add_argument("node", help="such as spark-1")
        cable.add_argument("--link", choices=[*LINKS, "all"], default="all")
    status = command("status", _status, "Tell what is up.")
    status.set_defaults(name=None)
    return parser


def _up(options: argparse.Namespace) -> int:
    start = time.monotonic()
    names = [f"spark-{number + 1}" for number in range(options.nodes)]
    without = names if options.no_image == "all" else [name for name in options.no_image.split(",") if name]
    lab = Lab.up(options.name, options.nodes, mtu=options.mtu, rate=options.rate, without_image=without)
    print(f"lab {lab.name} is up: {len(lab.nodes)} nodes in {time.monotonic() - start:.1f} s")
    return _status(options)


def _down(options: argparse.Namespace) -> int:
    print(f"lab {options.name} is down" if down(options.name) else f"there is no lab {options.name}")
    return 0


def _ssh(options: argparse.Namespace) -> int:
    lab = Lab.attach(options.name)
    return lab.control(["ssh", lab[options.node].name, *options.words]).wait()


def _run(options: argparse.Namespace) -> int:
    return Lab.attach(options.name).control(options.words or [os.environ.get("SHELL", "/bin/sh")]).wait()


def _cut(options: argparse.Namespace) -> int:
    Lab.attach(options.name)[options.node].cut(options.link)
    return 0


def _heal(options: argparse.Namespace) -> int:
    Lab.attach(options.name)[options.node].heal(options.link)
    return 0


def _status(options: argparse.Namespace) -> int:
    for name in state.labs() if options.name is None else [options.name]:
        facts = state.load(name)
        if facts is None or not is_up(facts):
            print(f"{name}: left over, or on its way up or down")
            continue
        print(f"{name}: control machine {facts.control_address}")
        for node in Lab(facts).nodes:
            engine = "docker answers" if node.docker.alive() else "docker does not answer"
            print(f"  {node.name}  {node.address()}  rail-a {node.address('rail-a')}  {engine}")
    return 0


sys.exit(main(sys.argv[1:]))
