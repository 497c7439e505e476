"""Bringing a node back to how ``up`` left it, between two tests."""

from __future__ import annotations

from . import project
from .docker_engine import BYSTANDER
from .image import Image
from .login import Login
from .node import Node
from .stub_image import TAG


def reset(node: Node, image: Image) -> None:
    """Undo what a test did to a node: cables, engine, containers, images, the login user and its files.

    ``image`` is the stub image, loaded when the node has it no more, or another under its name. The bystander is kept
    when it runs. What a test changed elsewhere, as root on the node, stays.
    """
    node.heal_all()
    node.slow_docker(0)
    node.set_compose(None)
    _reset_engine(node, image)
    Login().write(node.folder)
    node.run(["sh", "/lab/node/reset.sh"])
    project.make_caches(node)
    node.log.clear()


def _reset_engine(node: Node, image: Image) -> None:
    engine = node.docker
    if not engine.running():
        engine.start()
    elif engine.paused():
        engine.resume()
    for name in engine.containers():
        if name != BYSTANDER:
            engine.remove(name)
    for reference in engine.references():
        # An engine with containerd's image store gives loaded images a digest of their own.
        if reference != TAG and not reference.startswith(f"{TAG.partition(':')[0]}@"):
            engine.remove_image(reference)
    if engine.images().get(TAG) != image.id:
        engine.remove(BYSTANDER)
        engine.remove_image(TAG)
        engine.load_image(image)
    engine.start_bystander()
