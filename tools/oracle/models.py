"""Tiny glm_moe_dsa models: the base configuration of the test plan (T0) and seeded random weights.

Weights are a dict of checkpoint names (per-expert layout) to f32 arrays [out, in]. A tensor's
values depend on the seed and on its own name only, so removing or adding tensors never changes the
others.
"""

from __future__ import annotations

import zlib

import numpy as np

from schedule import indexer_schedule, mlp_schedule

# T0 of the test plan: D = 20 differs from V = 16 and from N = 12; F F S F S with real selection
# from position 8 on.
T0 = {
    "architectures": ["GlmMoeDsaForCausalLM"],
    "model_type": "glm_moe_dsa",
    "dtype": "float32",
    "vocab_size": 256,
    "hidden_size": 64,
    "num_hidden_layers": 5,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "q_lora_rank": 32,
    "kv_lora_rank": 24,
    "qk_nope_head_dim": 12,
    "qk_rope_head_dim": 8,
    "qk_head_dim": 20,
    "v_head_dim": 16,
    "index_n_heads": 8,
    "index_head_dim": 16,
    "index_topk": 8,
    "index_topk_freq": 2,
    "index_skip_topk_offset": 2,
    "index_share_for_mtp_iteration": False,
    "n_routed_experts": 16,
    "num_experts_per_tok": 4,
    "moe_intermediate_size": 48,
    "n_shared_experts": 1,
    "intermediate_size": 96,
    "first_k_dense_replace": 2,
    "moe_layer_freq": 1,
    "n_group": 1,
    "topk_group": 1,
    "norm_topk_prob": True,
    "routed_scaling_factor": 2.5,
    "scoring_func": "sigmoid",
    "topk_method": "noaux_tc",
    "rms_norm_eps": 1e-5,
    "hidden_act": "silu",
    "attention_bias": False,
    "attention_dropout": 0.0,
    "tie_word_embeddings": False,
    "max_position_embeddings": 2048,
    "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"},
    "rope_interleave": True,
    "indexer_rope_interleave": True,
    "num_nextn_predict_layers": 1,
    "eos_token_id": [0],
    "pad_token_id": None,
}

# The same structure in a tenth of the bytes, for everything but T0: F F S F, two dense and two
# sparse layers.
SMALL = {
    **T0,
    "vocab_size": 128,
    "hidden_size": 32,
    "num_hidden_layers": 4,
    "n_routed_experts": 8,
    "num_experts_per_tok": 2,
    "moe_intermediate_size": 16,
    "intermediate_size": 48,
}

MATRIX_GAIN = (
    1.6  # std = gain / sqrt(inputs): attention far from uniform, residual stream of order one
)


def tensor_shapes(config: dict, mtp: bool) -> dict[str, tuple[int, ...]]:
    """Shapes of all checkpoint tensors, with one MTP layer if asked."""
    c, hidden, vocab = config, config["hidden_size"], config["vocab_size"]
    shapes = {
        "model.embed_tokens.weight": (vocab, hidden),
        "model.norm.weight": (hidden,),
        "lm_head.weight": (vocab, hidden),
    }
    kinds = list(zip(indexer_schedule(c), mlp_schedule(c))) + ([("full", "sparse")] if mtp else [])
    for i, (indexer, mlp) in enumerate(kinds):
        layer = _layer_shapes(c, indexer == "full", mlp == "sparse")
        if i == c["num_hidden_layers"]:
            layer.update(
                {
                    "enorm.weight": (hidden,),
                    "hnorm.weight": (hidden,),
                    "shared_head.norm.weight": (hidden,),
                    "eh_proj.weight": (hidden, 2 * hidden),
                }
            )
        shapes.update({f"model.layers.{i}.{name}": shape for name, shape in layer.items()})
    return shapes


def _layer_shapes(c: dict, full: bool, sparse: bool) -> dict[str, tuple[int, ...]]:
    hidden, heads, q_lora, kv_lora = (
        c["hidden_size"],
        c["num_attention_heads"],
        c["q_lora_rank"],
        c["kv_lora_rank"],
    )
    nope, rope, value = c["qk_nope_head_dim"], c["qk_rope_head_dim"], c["v_head_dim"]
    shapes = {
        "input_layernorm.weight": (hidden,),
        "post_attention_layernorm.weight": (hidden,),
        "self_attn.q_a_proj.weight": (q_lora, hidden),
        "self_attn.q_a_layernorm.weight": (q_lora,),
        "self_attn.q_b_proj.weight": (heads * (nope + rope), q_lora),
        "self_attn.kv_a_proj_with_mqa.weight": (kv_lora + rope, hidden),
        "self_attn.kv_a_layernorm.weight": (kv_lora,),
        "self_attn.kv_b_proj.weight": (heads * (nope + value), kv_lora),
        "self_attn.o_proj.weight": (hidden, heads * value),
    }
    if full:
        dim = c["index_head_dim"]
        shapes.update(
            {
                "self_attn.indexer.wq_b.weight": (c["index_n_heads"] * dim, q_lora),
                "self_attn.indexer.wk.weight": (dim, hidden),
                "self_attn.indexer.weights_proj.weight": (c["index_n_heads"], hidden),
                "self_attn.indexer.k_norm.weight": (dim,),
                "self_attn.indexer.k_norm.bias": (dim,),
            }
        )
    blocks = {"mlp.": c["intermediate_size"]}
    if sparse:
        width = c["moe_intermediate_size"]
        shapes.update(
            {
                "mlp.gate.weight": (c["n_routed_experts"], hidden),
                "mlp.gate.e_score_correction_bias": (c["n_routed_experts"],),
            }
        )
        blocks = {f"mlp.experts.{e}.": width for e in range(c["n_routed_experts"])}
        if c.get("n_shared_experts"):
            blocks["mlp.shared_experts."] = width * c["n_shared_experts"]
    for prefix, width in blocks.items():
        shapes.update(
            {
                prefix + "gate_proj.weight": (width, hidden),
                prefix + "up_proj.weight": (width, hidden),
                prefix + "down_proj.weight": (hidden, width),
            }
        )
    return shapes


def make_weights(
    config: dict,
    seed: int,
    mtp: bool,
    std: dict[str, float] | None = None,
    very_negative_biases: bool = False,
) -> dict[str, np.ndarray]:
    """Random f32 weights. `std` gives the standard deviation of tensors whose name ends with the
    key.
    """
    weights = {}
    for name, shape in tensor_shapes(config, mtp).items():
        rng = np.random.default_rng([seed, zlib.crc32(name.encode())])
        if name.endswith("e_score_correction_bias"):
            values = rng.normal(0, 0.3, shape)
            if very_negative_biases:
                values[rng.permutation(shape[0])[: shape[0] * 5 // 8]] -= 2.0
        elif name.endswith("k_norm.bias"):
            values = rng.normal(0, 0.5, shape)
        elif len(shape) == 1:
            values = rng.uniform(0.5, 1.5, shape)
        else:
            values = rng.normal(0, MATRIX_GAIN / np.sqrt(shape[1]), shape)
            if name == "model.embed_tokens.weight":
                values = rng.normal(0, 0.7, shape)
        for suffix, deviation in (std or {}).items():
            if name.endswith(suffix):
                values = rng.normal(0, deviation, shape)
        weights[name] = values.astype(np.float32)
    return weights


def round_to(values: np.ndarray, dtype: str) -> np.ndarray:
    """f32 values rounded (half to even) to what `dtype` (F32, BF16, F16) can hold, still as f32."""
    if dtype == "F32":
        return values
    if dtype == "F16":
        return values.astype(np.float16).astype(np.float32)
    bits = values.astype(np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) & np.uint32(0xFFFF0000)).view(np.float32)


def round_weights(weights: dict, dtype: str) -> dict:
    """Everything rounded to `dtype` but the correction biases, which checkpoints keep in F32."""
    return {
        name: value if name.endswith("e_score_correction_bias") else round_to(value, dtype)
        for name, value in weights.items()
    }
