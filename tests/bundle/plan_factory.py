"""Plans by hand, for tests of the bundle: planning is not needed to know what a plan must look like on disk."""

from __future__ import annotations

from dataclasses import replace

from sparkc.diagnostics import Report
from sparkc.inventory.model import Inventory, Node
from sparkc.planning.model import (
    Container,
    Endpoint,
    Exec,
    Mod,
    ModFile,
    Mount,
    Plan,
    Port,
    Probe,
    RankPlan,
    Shell,
    Step,
)
from sparkc.reading.source import Source, Span
from sparkc.recipe.model import Argv, Deviation, Recipe
from sparkc.traced import Traced, from_default, from_file, from_flag, from_rule

RECIPE = Source("recipes/demo.yaml", "sparkc: 1\n")
INVENTORY = Source("inventory.yaml", "sparkc_inventory: 1\n")


def recipe_value(value, key="key"):
    return Traced(value, from_file(Span(RECIPE, 3, 1, 3, 2), key))


def inventory_value(value, key="nodes[0].key"):
    return Traced(value, from_file(Span(INVENTORY, 3, 1, 3, 2), key))


def default(value, reason="what the reference uses"):
    return Traced(value, from_default("built-in value", reason))


def rule(value, name="cluster environment", reason="vLLM needs it on every rank"):
    return Traced(value, from_rule(name, reason))


def flag(value, text="--port 8000"):
    return Traced(value, from_flag(text))


def node(number=1, **changes):
    made = Node(
        name=inventory_value(f"spark-{number}"),
        ssh=inventory_value(f"spark-{number}.lan"),
        user=inventory_value("spark"),
        home=inventory_value("/home/spark"),
        address=inventory_value(f"192.168.177.{10 + number}"),
        interface=inventory_value("enp1s0f0np0"),
        hcas=(inventory_value("rocep1s0f0"), inventory_value("roceP2p1s0f0")),
    )
    return replace(made, **changes)


def container(**changes):
    made = Container(
        image=recipe_value("registry.example/vllm:1.0", "image"),
        network=default("host"),
        privileged=default(False),
        ipc_host=default(False),
        shm_size=default("64gb"),
        memory=None,
        memory_swap=None,
        pids=None,
        ulimits={"stack": default(67108864), "memlock": default(-1), "nofile": default(1048576)},
        devices=(rule("/dev/infiniband", "RDMA", "the node lists HCAs"),),
        cap_add=(rule("IPC_LOCK", "RDMA", "the node lists HCAs"),),
        security_opt=(),
        publish=(),
        keep_entrypoint=default(False),
        stop_grace=default(60),
    )
    return replace(made, **changes)


def rank(number=0, *, world=1, argv=("vllm", "serve", "org/model-a", "--port", "8000"), **changes):
    role = "solo" if world == 1 else "head" if number == 0 else "worker"
    serves = number == 0
    made = RankPlan(
        rank=number,
        node=node(number + 1),
        role=role,
        process=Exec(tuple(recipe_value(word, f"args[{i}]") for i, word in enumerate(argv))),
        steps=(),
        environment={
            "PYTORCH_CUDA_ALLOC_CONF": default("expandable_segments:True"),
            "NCCL_DEBUG": recipe_value("WARN", "env.NCCL_DEBUG").over(inventory_value("INFO", "env.NCCL_DEBUG")),
            "VLLM_HOST_IP": inventory_value(f"192.168.177.{11 + number}", f"nodes[{number}].address"),
        },
        mounts=(
            Mount(
                rule("/home/spark/.cache/huggingface", "caches", "models are shared by all recipes"),
                default("/root/.cache/huggingface"),
                read_only=False,
                create=True,
            ),
            Mount(recipe_value("/srv/templates", "mounts[0].source"), default("/templates"), True, False),
        ),
        container=container(),
        probe=Probe(("CMD", "curl", "-fsS", "http://127.0.0.1:8000/health"), "http://127.0.0.1:8000/health", 1800, 10)
        if serves
        else None,
        deep_probe="/v1/completions" if serves else None,
        ports=(Port("API", 8000),) if serves else (),
        wave=1 if serves and world > 1 else 0,
    )
    return replace(made, **changes)


def plan(*ranks, recipe_changes=None, **changes):
    ranks = ranks or (rank(),)
    recipe = Recipe(
        source=RECIPE,
        dialect="native",
        title="demo",
        base_name=recipe_value("demo", "name"),
        engine=recipe_value("vllm", "engine"),
        image=recipe_value("registry.example/vllm:1.0", "image"),
        command=Argv(()),
        description="A model for tests",
        model=recipe_value("org/model-a", "model"),
    )
    inventory = Inventory("lab", "file", INVENTORY, inventory_value("switch"), tuple(r.node for r in ranks))
    made = Plan(
        name="demo",
        recipe=replace(recipe, **(recipe_changes or {})),
        recipe_path="recipes/demo.yaml",
        recipe_sha256=None,
        inventory=inventory,
        inventory_path="inventory.yaml",
        overrides={},
        engine="vllm",
        nnodes=len(ranks),
        ranks=ranks,
        mods=(),
        secrets=(),
        earlyoom=None,
        models=(recipe_value("org/model-a", "model"),),
        revision=(recipe_changes or {}).get("revision"),
        parameters={},
        api_port=recipe_value(8000, "port"),
        endpoints=(Endpoint("spark-1", "http://spark-1.lan:8000", local=False),),
        ready_timeout=1800,
        diagnostics=(),
    )
    return replace(made, **changes)


def mod(name="drop-caches", script="#!/bin/sh\necho applied\n", **changes):
    made = Mod(
        name,
        recipe_value(f"mods/{name}", "mods[0]"),
        (
            ModFile("files/patch.bin", b"\x00\xff\r\n", 0o644),
            ModFile("mod.yaml", b"sparkc_mod: 1\n", 0o644),
            ModFile("run.sh", script.encode(), 0o755),
        ),
    )
    return replace(made, **changes)


def findings(*messages):
    report = Report()
    for message in messages:
        report.warning("SPK399", message, Span(RECIPE, 4, 1, 4, 5), hint="pin it by digest")
    return report.diagnostics


def plans():
    """One plan per kind of bundle, by name."""
    two = (rank(0, world=2), rank(1, world=2, argv=("vllm", "serve", "org/model-a", "--headless")))
    once = Step("start the Ray head", ("ray", "start", "--head", "--port=29501"))
    retried = Step("join the Ray head at 192.168.177.11:29501", ("ray", "start", "--address=192.168.177.11:29501"), 600)
    script = "#!/bin/bash\nulimit -n 4096\nexec vllm serve org/model-a | tee /tmp/log\n"
    return {
        "solo": plan(
            rank(
                container=container(
                    network=flag("bridge", "-p 9000:8000"), publish=(flag("9000:8000", "-p 9000:8000"),)
                )
            ),
            parameters={"port": flag("8000").over(recipe_value("9000", "defaults.port"))},
            overrides={"publish": ["9000:8000"]},
            recipe_changes={"revision": recipe_value("0123456789abcdef0123456789abcdef01234567", "revision")},
        ),
        "pair": plan(*two, diagnostics=findings("image is a tag, see image: in the recipe")),
        "ray": plan(
            rank(0, world=2, steps=(once,), wave=0, argv=("vllm", "serve", "org/model-a")),
            rank(1, world=2, steps=(retried,), wave=1, argv=("ray", "start", "--block")),
            engine="vllm-ray",
            mods=(mod(), mod("loop", every_start=True), mod("old", files=(), native_since="0.26")),
            earlyoom=default(("-M", "524288,102400", "-s", "100", "-r", "60")),
        ),
        "script": plan(
            rank(
                process=Shell(recipe_value(script, "command"), "/bin/bash", (recipe_value("/entry.sh", "entrypoint"),)),
                environment={"MULTI": recipe_value("a\nb$c", "env.MULTI"), "PLAIN": recipe_value("x", "env.PLAIN")},
            ),
            recipe_changes={
                "notes": {"driver": "580.x only"},
                "links": {"status": "http://spark-1:8000/status"},
                "derived_from": {"source": recipe_value("https://example.org/profile", "derived_from.source")},
                "deviations": (Deviation("args.--async-scheduling", "not in the qualified shape"),),
            },
        ),
        "secrets": plan(
            rank(
                container=container(
                    ipc_host=recipe_value(True, "container.ipc_host"),
                    privileged=recipe_value(True, "container.privileged"),
                    shm_size=None,
                    memory=flag("110gb", "--mem-limit-gb 110"),
                    memory_swap=flag("120gb", "--mem-limit-gb 110"),
                    pids=flag(4096, "--pids-limit 4096"),
                    security_opt=(recipe_value("seccomp=unconfined", "container.security_opt[0]"),),
                )
            ),
            secrets=(recipe_value("HF_TOKEN", "secrets[0]"),),
        ),
    }


def stamps(folder):
    """Return what tells whether anything below a folder was written: everything but the time of the last read."""
    found = {path: path.lstat() for path in [folder, *folder.rglob("*")] if path.is_symlink() or path.exists()}
    return {path: (stat.st_ino, stat.st_mode, stat.st_mtime_ns, stat.st_ctime_ns) for path, stat in found.items()}
