"""TensorRT-LLM: ``trtllm-serve`` on one node; on several, started by ``mpirun`` from rank 0.

The others run an ssh daemon, through which Open MPI starts their part, and serve nothing. The layout is that of
NVIDIA's playbook for two Sparks (https://github.com/NVIDIA/dgx-spark-playbooks/tree/main/nvidia/trt-llm), with two
differences: nothing is downloaded at the start, and each rank keeps the environment of its own node.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sparkc.diagnostics import Report
from sparkc.engines import arguments
from sparkc.engines.arguments import Words
from sparkc.engines.base import EngineRank, RankContext, World
from sparkc.engines.command_checks import (
    as_texts,
    check_port,
    engine_start,
    hub_revision,
    implied_flags,
    read_size,
)
from sparkc.engines.group_checks import command_words, image_problems, report_problems
from sparkc.engines.serving import (
    LOOPBACK,
    api_port,
    bound_host,
    http_probe,
    peer_port,
    wait_for_port,
    worker_addresses,
)
from sparkc.planning.model import Port, RankPlan, Step
from sparkc.reading.source import Span
from sparkc.recipe.model import Recipe
from sparkc.traced import Traced, from_default, from_rule

_DEFAULT_PORT = 8000
_SSH_PORT = 2233  # the playbook's: 22 is the node's own
_KEYS = "/tmp/.ssh"  # noqa: S108 - where the playbook mounts the user's keys
_HOSTFILE = "/etc/openmpi-hostfile"
_LAUNCHERS = ("mpirun", "mpiexec", "trtllm-llmapi-launch")
_SIZES = {
    "tp": ("--tp_size", "--tensor_parallel_size"),
    "pp": ("--pp_size", "--pipeline_parallel_size"),
}
_CONTEXT = ("--cp_size", "--context_parallel_size")
_OVERRIDES = {
    **_SIZES,
    "port": ("--port",),
    "host": ("--host",),
    "gpu_mem": ("--kv_cache_free_gpu_memory_fraction", "--free_gpu_memory_fraction"),
    "max_model_len": ("--max_seq_len",),
}
# What a login through ssh must find: the container's environment, without the secrets, which mpirun hands on.
_PREPARE_SSH = (
    'mkdir -p /run/sshd && rm -rf /root/.ssh && cp -R "$0" /root/.ssh && chown -R 0:0 /root/.ssh'
    ' && chmod -R go-rwx /root/.ssh && env "$@" >/root/.ssh/environment && ssh-keygen -A'
)
_DAEMON = (
    "/usr/sbin/sshd",
    "-D",
    "-e",
    *("-o", "PasswordAuthentication=no"),
    *("-o", "PermitRootLogin=prohibit-password"),
    *("-o", "PermitUserEnvironment=yes"),
)
# Each start of a container makes new host keys, so there is nothing to compare them with.
_LOGIN = "-l root -o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null"


class TensorRtLlm:
    """trtllm-serve with its PyTorch backend."""

    name = "trtllm"
    counts_world = True
    per_node_env: frozenset[str] = frozenset()

    def program(self, recipe: Recipe) -> tuple[str, ...]:  # noqa: ARG002 - the same for every recipe
        """``trtllm-serve``."""
        return ("trtllm-serve",)

    def model_words(self, model: str) -> tuple[str, ...]:
        """The model is positional."""
        return (model,)

    def override_flags(self, override: str) -> tuple[str, ...]:
        """See :class:`sparkc.engines.base.Engine`; the names have underscores."""
        return _OVERRIDES.get(override, ())

    def implied(self, recipe: Recipe, words: Words) -> Words:
        """Revision, host, port and parallel sizes, in this order, where the words lack them."""
        return implied_flags(
            words,
            (
                (("--revision",), as_texts(hub_revision(recipe))),
                (("--host",), as_texts(recipe.host)),
                (("--port",), as_texts(recipe.port)),
                (_SIZES["tp"], as_texts(recipe.parallel.tensor)),
                (_SIZES["pp"], as_texts(recipe.parallel.pipeline)),
            ),
        )

    def prepare(self, recipe: Recipe, words: Words, nnodes: int, report: Report) -> Words:  # noqa: ARG002
        """Refuse a launcher of the recipe's own and unusable ports; report what trtllm-serve does not take."""
        for word in words[: engine_start(words)]:
            if word.value.rpartition("/")[2] in _LAUNCHERS:
                report.error(
                    "SPK310",
                    f"{word.value} belongs to sparkc: the hosts are those of the inventory",
                    word.origin.span,
                    hint="begin the command with trtllm-serve; on several nodes sparkc starts it with mpirun",
                )
        check_port(recipe, words, report)
        if recipe.arguments_only and recipe.served_model_name:
            report.error(
                "SPK316",
                "trtllm-serve names a model after its folder or repository",
                recipe.served_model_name[0].origin.span,
                hint="remove served_model_name",
            )
        return words

    def api_host(self, words: Words, environment: Mapping[str, Traced[str]]) -> Traced[str]:  # noqa: ARG002
        """Loopback unless told."""
        return bound_host(words, LOOPBACK)

    def world(self, recipe: Recipe, words: Words, report: Report) -> World:
        """One MPI rank for each of tp × pp × cp. A size in the options file would win over the command line."""
        fields = recipe.parallel
        if fields.data is not None and fields.data.value > 1:
            report.error(
                "SPK314",
                "trtllm-serve has no data parallel size",
                fields.data.origin.span,
                hint="remove it; attention data parallelism is a key of the options file (--extra_llm_api_options)",
            )
        return World(
            read_size(words, _SIZES["tp"], fields.tensor, report),
            read_size(words, _SIZES["pp"], fields.pipeline, report),
            Traced(1, from_default("data parallel size", "trtllm-serve has none")),
            read_size(words, _CONTEXT, None, report) if arguments.has(words, _CONTEXT) else None,
        )

    def plan_rank(self, context: RankContext) -> EngineRank:
        """Workers start first: mpirun gives up where it cannot log in."""
        if context.nnodes == 1:
            return self._serving(context, context.words)
        port = peer_port(context, _SSH_PORT)
        secrets = [secret.value for secret in context.recipe.secrets]
        hidden = (word for secret in secrets for word in ("-u", secret))
        keys = Step(f"prepare ssh with the keys in {_KEYS}", ("sh", "-c", _PREPARE_SSH, _KEYS, *hidden))
        env = _mpi_environment(port)
        if context.rank:
            rule = from_rule("MPI worker", "mpirun on rank 0 logs in here")
            address = context.node.address or Traced("", rule)
            listen = (*arguments.flags(rule, *_DAEMON, "-p", str(port), "-o"),)
            return EngineRank(
                words=(*listen, address.with_value(f"ListenAddress={address.value}")),
                env=env,
                ports=(Port("ssh", port),),
                probe=None,
                deep_probe=None,
                wave=0,
                steps=(keys,),
                replaces_command=True,
            )
        rule = from_rule("mpirun", "it starts one part on every node, in the order of the hostfile")
        launch = ["mpirun"]
        interfaces = dict.fromkeys(node.interface.value for node in context.nodes if node.interface is not None)
        if len(interfaces) > 1:
            # mpirun hands its own OMPI_ variables to all nodes, also where the interface has another name.
            launch += ["--mca", "btl_tcp_if_include", ",".join(interfaces)]
        for secret in secrets:
            launch += ["-x", secret]
        start = engine_start(context.words)
        words = (
            *context.words[:start],
            *arguments.flags(rule, *launch, "trtllm-llmapi-launch"),
            *context.words[start:],
        )
        hosts = [node.address.value for node in context.nodes if node.address is not None]
        hostfile = Step("write the MPI hostfile", ("sh", "-c", f'printf "%s\\n" "$@" >{_HOSTFILE}', "sh", *hosts))
        waits = [wait_for_port("ssh", worker.value, port) for worker in worker_addresses(context)]
        return self._serving(context, words, env, (keys, hostfile, *waits), wave=1)

    def _serving(
        self,
        context: RankContext,
        words: Words,
        env: dict[str, Traced[str]] | None = None,
        steps: tuple[Step, ...] = (),
        *,
        wave: int = 0,
    ) -> EngineRank:
        port = api_port(words, _DEFAULT_PORT)
        return EngineRank(
            words=words,
            env=env or {},
            ports=(Port("api", port),),
            probe=http_probe(context, port),
            deep_probe="/v1/completions",
            wave=wave,
            steps=steps,
        )

    def check_group(self, ranks: Sequence[RankPlan], at: Span | None, report: Report) -> None:
        """Same image everywhere, keys on every rank, and mpirun only on rank 0, with the hosts of all ranks."""
        if len(ranks) < 2:
            return
        problems = image_problems(ranks)
        for rank in ranks:
            if all(mount.target.value != _KEYS for mount in rank.mounts):
                mount = f"{{source: ~/.ssh, target: {_KEYS}, read_only: true}}"
                problems.append(f"rank {rank.rank} has no ssh keys: add `{mount}` to mounts")
        head = [word.value for word in command_words(ranks[0])]
        if "mpirun" not in head:
            problems.append("rank 0 does not start mpirun")
        hosts = next((step.argv[4:] for step in ranks[0].steps if step.title == "write the MPI hostfile"), ())
        listening = [
            word.value.partition("=")[2]
            for rank in ranks[1:]
            for word in command_words(rank)
            if word.value.startswith("ListenAddress=")
        ]
        if list(hosts[1:]) != listening or len(hosts) != len(ranks):
            problems.append(f"the hostfile has {', '.join(hosts) or 'no host'}, ssh listens at {', '.join(listening)}")
        report_problems(problems, at, report)


def _mpi_environment(port: int) -> dict[str, Traced[str]]:
    playbook = from_rule("Open MPI", "NVIDIA's playbook for several Sparks sets it on every rank")
    login = from_rule("Open MPI's ssh", "mpirun logs in to the containers, not to their nodes")
    return {
        "OMPI_MCA_orte_default_hostfile": Traced(_HOSTFILE, playbook),
        "OMPI_MCA_rmaps_ppr_n_pernode": Traced("1", playbook),
        "OMPI_ALLOW_RUN_AS_ROOT": Traced("1", playbook),
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": Traced("1", playbook),
        "OMPI_MCA_plm_rsh_args": Traced(f"-p {port} {_LOGIN}", login),
    }
