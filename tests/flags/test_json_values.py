import pytest
from flag_tools import check, said


def only(command, **where):
    found = check(f"org/m {command}", **where)
    assert len(found) == 1, found
    return found[0]


@pytest.mark.parametrize(
    "command",
    [
        '--compilation-config \'{"cudagraph_mode":"FULL_AND_PIECEWISE","custom_ops":["all"]}\'',
        '--compilation-config \'{"pass_config":{"fuse_norm_quant":true}}\'',
        '--kernel-config \'{"moe_backend":"FLASHINFER-B12X","monokernel":"yes"}\'',
        "--speculative-config None",
        "--hf-overrides anything",
        '--hf-overrides \'{"a":{"b":1}}\'',
        '--kv-transfer-config \'{"kv_connector":"NixlConnector","kv_connector_extra_config":{"bytes":80g}}\'',
    ],
)
def test_what_vllm_takes(command):
    assert check(f"org/m {command}") == ()


@pytest.mark.parametrize(
    ("text", "reason", "hint"),
    [
        ("{method:mtp}", "expecting property name enclosed in double quotes at character 2", "the quotes are gone"),
        ("{'method':'mtp'}", "expecting property name", "JSON has double quotes"),
        ('{"a":True}', "expecting value at character 6", "JSON writes true, false and null"),
        ('{"a":1', "expecting ',' delimiter", "check braces"),
    ],
)
def test_text_that_is_no_json(text, reason, hint):
    found = only(f"--speculative-config '{text}'" if "'" not in text else f'--speculative-config "{text}"')
    assert found.code == "SPK812"
    assert found.message.startswith(f"--speculative-config takes JSON, and this is none: {reason}")
    assert found.hint.startswith(hint)


def test_unknown_keys_are_found_at_any_depth():
    found = only('--compilation-config \'{"cudagraf_mode":"FULL"}\'')
    assert found.message == "--compilation-config of vLLM 0.33.0 has no key cudagraf_mode (given)"
    assert found.hint == "did you mean 'cudagraph_mode'?"
    assert only('--compilation-config \'{"pass_config":{"nope":1}}\'').message.startswith(
        "--compilation-config of vLLM 0.33.0 has no key pass_config.nope"
    )
    assert only("-cc.nope 1").code == "SPK813"
    assert only("--compilation-config.pass_config.nope=1").code == "SPK813"


def test_values_of_fields():
    assert only("-cc.cudagraph_mode PIECWISE").hint == "did you mean 'PIECEWISE'?"
    assert said("org/m -cc.cudagraph_mode full_decode_only -cc.mode 3") == []
    assert said("org/m -cc.mode 4") == ["error SPK814"]
    assert only('--kernel-config \'{"moe_backend":"nope"}\'').code == "SPK814"
    assert only('--compilation-config \'{"cudagraph_num_of_warmups":"many"}\'').message == (
        'cudagraph_num_of_warmups of --compilation-config is a int, got "many" (given)'
    )
    assert only("--compilation-config 3").message == "--compilation-config takes a JSON object, got 3 (given)"


def test_a_key_of_a_later_version_is_unknown_to_an_older_one():
    draft = '--speculative-config \'{"method":"mtp","num_speculative_tokens":2,"disable_eagle_block_drop":true}\''
    assert said(f"org/m {draft}") == []
    assert said(f"org/m {draft}", version="0.20.2") == ["error SPK813"]


def test_dotted_keys_replace_json_beside_them():
    found = only("--compilation-config '{\"mode\":3}' -cc.cudagraph_mode NONE")
    assert found.code == "SPK815"
    assert found.message == "dotted keys of --compilation-config replace the JSON given beside them, all of it (given)"


def test_dotted_keys_are_read_together():
    assert said("org/m --speculative-config.method eagle3 --speculative-config.num_speculative_tokens 2") == [
        "error SPK820"
    ]
