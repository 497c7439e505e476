"""The all-reduce over RoCE needs to know which HCA leads to which rank."""

import pytest

from sparkc.diagnostics import Severity
from support.compile_text import IMAGE, LAB, compile_text, native

SPARKRING = f"ghcr.io/fujitsupolycom/sparkring@sha256:{'0' * 64}"
ON = 'VLLM_ENABLE_ROCE_ALLREDUCE: "1"'


def warned(*env, tensor=2, inventory=LAB, image=IMAGE):
    lines = [f"parallel: {{tensor: {tensor}}}", "env:", *(f"  {line}" for line in env)]
    compiled = compile_text(native(*lines).replace(IMAGE, image), inventory)
    assert compiled.plan is not None, compiled.text
    return [found for found in compiled.report.diagnostics if found.code == "SPK417"]


def test_without_a_map_it_is_a_warning_at_the_variable():
    (found,) = warned('NCCL_DEBUG: "WARN"', ON)

    assert found.severity is Severity.WARNING
    assert found.span.source.line(found.span.line).strip() == ON
    assert "no B12X_ROCE_PEER_HCA_MAP reaches any rank" in found.message
    assert "B12X_ROCE_HCA" in found.hint


@pytest.mark.parametrize(
    "more",
    [
        "B12X_ROCE_HCA: rocep1s0f0,roceP2p1s0f0",
        "B12X_ROCE_PEER_HCA_MAP: 1=0/1",
        "B12X_ROCE_PEER_HCA_MAPS: 1=0/1;0=0/1",
    ],
)
def test_two_named_hcas_or_a_map_are_enough(more):
    assert warned(ON, more) == []


@pytest.mark.parametrize(
    "more",
    [
        "B12X_ROCE_HCA: rocep1s0f0",
        "B12X_ROCE_HCA: rocep1s0f0,rocep1s0f1,roceP2p1s0f0,roceP2p1s0f1",
        'B12X_ROCE_PEER_HCA_MAP: ""',
    ],
)
def test_other_numbers_of_hcas_and_an_empty_map_are_not(more):
    assert len(warned(ON, more)) == 1


@pytest.mark.parametrize("value", ["0", "", "false"])
def test_it_may_be_off(value):
    assert warned(f'VLLM_ENABLE_ROCE_ALLREDUCE: "{value}"') == []


def test_one_node_has_no_peers():
    assert warned(ON, tensor=1) == []


def test_a_map_of_some_nodes_leaves_the_others_without():
    lab = LAB.replace("address: 10.0.0.1", "address: 10.0.0.1, env: {B12X_ROCE_PEER_HCA_MAP: 1=0/1}")
    (found,) = warned(ON, inventory=lab)

    assert "reaches rank 1:" in found.message


def test_sparkrings_images_get_theirs():
    assert warned(ON, inventory=LAB.replace("switch", "pair").split("  - {name: s3")[0], image=SPARKRING) == []
