"""What a config.json says about layers and rotation, resolved."""

from __future__ import annotations


def indexer_schedule(config: dict) -> list[str]:
    """'full' or 'shared' for each main layer (explicit list, then pattern, then the formula).
    """
    layers = config["num_hidden_layers"]
    if config.get("indexer_types"):
        return list(config["indexer_types"])[:layers]
    pattern = config.get("index_topk_pattern")
    if pattern:
        words = {"F": "full", "S": "shared"}
        return [words.get(entry, entry) for entry in pattern][:layers]
    freq = max(config.get("index_topk_freq") or 1, 1)
    offset = config.get("index_skip_topk_offset", 2)
    return ["full" if max(i - offset + 1, 0) % freq == 0 else "shared" for i in range(layers)]


def mlp_schedule(config: dict) -> list[str]:
    """'dense' or 'sparse' for each main layer."""
    if config.get("mlp_layer_types"):
        return list(config["mlp_layer_types"])
    dense = config["first_k_dense_replace"]
    return ["dense" if i < dense else "sparse" for i in range(config["num_hidden_layers"])]


def rope_theta(config: dict) -> float:
    """New spelling first, then the old top-level key, then 10000."""
    return float(
        (config.get("rope_parameters") or {}).get("rope_theta", config.get("rope_theta", 10000.0))
    )
