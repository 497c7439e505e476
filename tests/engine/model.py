"""A Llama of 360,000 random weights, written file by file without any library: the same bytes on every machine.

Its tokens are printable ASCII characters and a few pairs of letters, so that whatever it says is text.
"""

from __future__ import annotations

import hashlib
import json
import random
import struct
from pathlib import Path
from typing import Any

NAME = "lab/tiny"

_HIDDEN, _HEADS, _LAYERS, _INNER = 128, 4, 2, 256  # a head for each of four ranks, as wide as the CPU code takes
_BEGIN, _END, _UNKNOWN = "<s>", "</s>", "<unk>"
_PAIRS = ("th", "he", "in", "er", "an", "re", "nd", "on", "en", "at", "ou", "ed", "ha", "to", "or", "it", "is", "hi")
_SPACE = "Ġ"  # what a byte-level tokenizer writes for a space


def snapshot() -> dict[str, bytes]:
    """Return the model's files as its repository would have them."""
    tokens = [_BEGIN, _END, _UNKNOWN, _SPACE, *map(chr, range(0x21, 0x7F)), *_PAIRS]
    return {
        "config.json": _json(_config(len(tokens))),
        "generation_config.json": _json({"bos_token_id": 0, "eos_token_id": 1}),
        "tokenizer.json": _json(_tokenizer(tokens)),
        "tokenizer_config.json": _json(
            {
                "tokenizer_class": "PreTrainedTokenizerFast",
                "bos_token": _BEGIN,
                "eos_token": _END,
                "unk_token": _UNKNOWN,
                "model_max_length": 512,
            }
        ),
        "model.safetensors": _safetensors(_weights(len(tokens))),
    }


def revision() -> str:
    """Return the commit hash that stands for these files."""
    digest = hashlib.sha1(usedforsecurity=False)
    for name, content in sorted(snapshot().items()):
        digest.update(name.encode() + content)
    return digest.hexdigest()


def download(cache: Path) -> None:
    """Put the model into a Hugging Face cache (``…/huggingface``) as a finished download leaves it."""
    repository = cache / "hub" / f"models--{NAME.replace('/', '--')}"
    place = repository / "snapshots" / revision()
    for folder in (repository / "blobs", repository / "refs", place):
        folder.mkdir(parents=True)
    (repository / "refs/main").write_text(revision(), encoding="ascii")
    for name, content in snapshot().items():
        digest = hashlib.sha256(content).hexdigest()
        (repository / "blobs" / digest).write_bytes(content)
        (place / name).symlink_to(f"../../blobs/{digest}")


def _config(vocabulary: int) -> dict[str, Any]:
    return {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": _HIDDEN,
        "intermediate_size": _INNER,
        "num_hidden_layers": _LAYERS,
        "num_attention_heads": _HEADS,
        "num_key_value_heads": _HEADS,
        "head_dim": _HIDDEN // _HEADS,
        "vocab_size": vocabulary,
        "max_position_embeddings": 512,
        "rms_norm_eps": 1e-5,
        "rope_theta": 10000.0,
        "hidden_act": "silu",
        "tie_word_embeddings": False,
        "attention_bias": False,
        "mlp_bias": False,
        "bos_token_id": 0,
        "eos_token_id": 1,
        # Sums over two and over four ranks differ in their last bits, which are few enough in float32 to pick the
        # same token.
        "torch_dtype": "float32",
    }


def _tokenizer(tokens: list[str]) -> dict[str, Any]:
    """Return a tokenizer in the format of Hugging Face's library: byte-level BPE."""
    special = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False, "special": True}
    byte_level = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    return {
        "version": "1.0",
        "added_tokens": [{"id": number, "content": tokens[number], **special} for number in range(3)],
        "pre_tokenizer": byte_level,
        "decoder": byte_level,
        "model": {
            "type": "BPE",
            "unk_token": _UNKNOWN,
            "vocab": {token: number for number, token in enumerate(tokens)},
            "merges": [" ".join(pair) for pair in _PAIRS],
        },
    }


def _weights(vocabulary: int) -> dict[str, tuple[int, ...]]:
    """Return the shape of each tensor; one dimension is a norm's, whose weights are all 1."""
    square = (_HIDDEN, _HIDDEN)
    shapes: dict[str, tuple[int, ...]] = {
        "model.embed_tokens.weight": (vocabulary, _HIDDEN),
        "model.norm.weight": (_HIDDEN,),
        "lm_head.weight": (vocabulary, _HIDDEN),
    }
    for layer in range(_LAYERS):
        block = {
            "input_layernorm": (_HIDDEN,),
            "post_attention_layernorm": (_HIDDEN,),
            **{f"self_attn.{name}_proj": square for name in "qkvo"},
            "mlp.gate_proj": (_INNER, _HIDDEN),
            "mlp.up_proj": (_INNER, _HIDDEN),
            "mlp.down_proj": (_HIDDEN, _INNER),
        }
        shapes |= {f"model.layers.{layer}.{name}.weight": shape for name, shape in block.items()}
    return shapes


def _safetensors(shapes: dict[str, tuple[int, ...]]) -> bytes:
    """Return a file of safetensors: the header's length, the header in JSON, the numbers."""
    numbers = random.Random(20261201)
    header, body = {}, bytearray()
    for name, shape in shapes.items():
        start = len(body)
        if len(shape) == 1:
            body += struct.pack("<f", 1.0) * shape[0]
        else:
            for _ in range(shape[0]):
                body += struct.pack(f"<{shape[1]}f", *(numbers.gauss(0.0, 0.3) for _ in range(shape[1])))
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [start, len(body)]}
    text = _json({"__metadata__": {"format": "pt"}, **header})
    text += b" " * (-len(text) % 8)  # the numbers are aligned
    return struct.pack("<Q", len(text)) + text + bytes(body)


def _json(value: Any) -> bytes:
    return json.dumps(value).encode()
