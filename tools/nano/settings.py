"""The one place for the sizes of the built-in model: a `glm_moe_dsa` config.json as a dict."""

EOS_TOKENS = ["<|endoftext|>", "<|user|>", "<|observation|>"]

# Small, and unlike GLM-5.2 where that tests more: the latent is no multiple of 32, the pattern of
# full and shared indexer layers follows no formula.
CONFIG = {
    "architectures": ["GlmMoeDsaForCausalLM"],
    "model_type": "glm_moe_dsa",
    "vocab_size": 3072,
    "hidden_size": 192,
    "num_hidden_layers": 6,
    "first_k_dense_replace": 1,
    "mlp_layer_types": ["dense"] + ["sparse"] * 5,
    "intermediate_size": 512,
    "moe_intermediate_size": 128,
    "n_routed_experts": 32,
    "num_experts_per_tok": 4,
    "n_shared_experts": 1,
    "n_group": 1,
    "topk_group": 1,
    "norm_topk_prob": True,
    "routed_scaling_factor": 2.5,
    "scoring_func": "sigmoid",
    "topk_method": "noaux_tc",
    "num_attention_heads": 8,
    "num_key_value_heads": 8,
    "q_lora_rank": 96,
    "kv_lora_rank": 72,
    "qk_nope_head_dim": 16,
    "qk_rope_head_dim": 16,
    "qk_head_dim": 32,
    "v_head_dim": 32,
    "attention_bias": False,
    "rope_parameters": {"rope_theta": 10000.0, "rope_type": "default"},
    "rope_interleave": True,
    "indexer_rope_interleave": True,
    "index_n_heads": 4,
    "index_head_dim": 32,
    "index_topk": 32,
    "indexer_types": ["full", "full", "shared", "full", "shared", "shared"],
    "num_nextn_predict_layers": 1,
    "max_position_embeddings": 1024,
    "rms_norm_eps": 1e-5,
    "hidden_act": "silu",
    "tie_word_embeddings": False,
    "dtype": "float32",
}
LAYERS = CONFIG["num_hidden_layers"]
MTP_LAYER = LAYERS  # the next-token layer's index in tensor names
INDEX_NORM_EPS = 1e-6
