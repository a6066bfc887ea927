"""The reference: transformers' own GlmMoeDsaForCausalLM in f32 on the CPU, and an MTP layer put
together from its modules.

The class has no MTP layer, so `Reference.mtp` feeds the library's decoder layer, norms and linear
modules in the order of the DeepSeek-V3 report (2.2): embedding norm first, hidden norm second,
`eh_proj`, one decoder layer with its own indexer, `shared_head.norm`, the shared head.
"""

from __future__ import annotations

import copy
import inspect

import numpy as np
import torch
from transformers.models.glm_moe_dsa import modeling_glm_moe_dsa as library
from transformers.models.glm_moe_dsa.configuration_glm_moe_dsa import GlmMoeDsaConfig

from schedule import indexer_schedule, rope_theta

# Keys of config.json that the library would read in its own way; it gets the resolved values
# instead.
_RESOLVED = (
    "rope_theta",
    "rope_scaling",
    "index_topk_pattern",
    "index_topk_freq",
    "index_skip_topk_offset",
    "quantization_config",
)


def library_config(config: dict, extra_layers: int = 0) -> GlmMoeDsaConfig:
    """The library's config for a config.json. `extra_layers` MTP layers are appended as full,
    sparse layers.
    """
    values = {
        key: value
        for key, value in config.items()
        if key not in _RESOLVED and not key.startswith("_")
    }
    values["rope_parameters"] = {"rope_theta": rope_theta(config), "rope_type": "default"}
    values["indexer_types"] = indexer_schedule(config) + ["full"] * extra_layers
    layers = values["num_hidden_layers"]
    dense = values["first_k_dense_replace"]
    mlp = values.get("mlp_layer_types") or ["dense"] * dense + ["sparse"] * (layers - dense)
    values["mlp_layer_types"] = mlp + ["sparse"] * extra_layers
    values["num_hidden_layers"] = layers + extra_layers
    result = GlmMoeDsaConfig(**values)
    # The schedule was resolved here; the library must come to the same one from the file's own
    # keys.
    own = GlmMoeDsaConfig(
        **{
            k: v
            for k, v in config.items()
            if k in _RESOLVED + ("indexer_types", "num_hidden_layers")
        }
    )
    assert own.indexer_types == indexer_schedule(config)
    result._attn_implementation = "eager"
    result._experts_implementation = "eager"
    return result


def _fuse_experts(tensors: dict, prefix: str, experts: int) -> dict:
    """Per-expert checkpoint tensors -> the library's stacked parameters [E, 2I, H] and [E, H, I]
    below `prefix`.
    """
    parts = {
        kind: [tensors.pop(f"{prefix}{e}.{kind}_proj.weight") for e in range(experts)]
        for kind in ("gate", "up", "down")
    }
    gate_up = [torch.cat(pair) for pair in zip(parts["gate"], parts["up"])]
    return {
        prefix + "gate_up_proj": torch.stack(gate_up),
        prefix + "down_proj": torch.stack(parts["down"]),
    }


def _as_state(weights: dict, experts: int) -> dict:
    tensors = {
        name: torch.from_numpy(np.ascontiguousarray(value, np.float32))
        for name, value in weights.items()
    }
    prefixes = {
        name[: name.index(".experts.") + len(".experts.")]
        for name in tensors
        if ".mlp.experts." in name
    }
    for prefix in sorted(prefixes):
        tensors.update(_fuse_experts(tensors, prefix, experts))
    return tensors


class Reference:
    """The library's model with `weights` (checkpoint names -> f32 arrays), positions starting at
    `first_position`.
    """

    def __init__(
        self, config: dict, weights: dict, latent_norm_eps: float = 1e-6, first_position: int = 0
    ):
        torch.set_num_threads(1)
        self.config, self.first_position = config, first_position
        main = config["num_hidden_layers"]
        state = _as_state(weights, config["n_routed_experts"])
        mtp_prefix = f"model.layers.{main}."
        mtp_state = {
            name[len(mtp_prefix) :]: state.pop(name)
            for name in list(state)
            if name.startswith(mtp_prefix)
        }
        self.model = library.GlmMoeDsaForCausalLM(library_config(config)).float().eval()
        self.model.load_state_dict(state, strict=True)
        self.mtp_layer = self._build_mtp(mtp_state, main) if mtp_state else None
        self._set_latent_eps(latent_norm_eps)
        self._check_library()

    def _build_mtp(self, state: dict, index: int):
        config = library_config(self.config, extra_layers=1)
        hidden, eps = config.hidden_size, config.rms_norm_eps
        self.enorm, self.hnorm, self.shared_norm = (
            library.GlmMoeDsaRMSNorm(hidden, eps) for _ in range(3)
        )
        self.eh_proj = torch.nn.Linear(2 * hidden, hidden, bias=False)
        for module, name in (
            (self.enorm, "enorm"),
            (self.hnorm, "hnorm"),
            (self.shared_norm, "shared_head.norm"),
            (self.eh_proj, "eh_proj"),
        ):
            module.load_state_dict({"weight": state.pop(name + ".weight")})
        for copied, original in (
            ("embed_tokens.weight", self.model.model.embed_tokens),
            ("shared_head.head.weight", self.model.lm_head),
        ):
            if copied in state:
                assert torch.equal(state.pop(copied), original.weight)
        layer = library.GlmMoeDsaDecoderLayer(config, index).float().eval()
        layer.load_state_dict(state, strict=True)
        return layer

    def _set_latent_eps(self, eps: float):
        layers = list(self.model.model.layers) + (
            [self.mtp_layer] if self.mtp_layer is not None else []
        )
        for layer in layers:
            layer.self_attn.q_a_layernorm.variance_epsilon = eps
            layer.self_attn.kv_a_layernorm.variance_epsilon = eps

    def _check_library(self):
        """This version of the library must have the properties that the fixtures rely on (spec 0.2,
        h.1).
        """
        for kind, layer in zip(indexer_schedule(self.config), self.model.model.layers):
            assert (layer.self_attn.indexer is None) == (kind == "shared")
        for rotating in (library.GlmMoeDsaIndexer, library.GlmMoeDsaAttention):
            assert "apply_rotary_pos_emb_interleave(" in inspect.getsource(rotating)

    def _positions(self, rows: int) -> torch.Tensor:
        return torch.arange(rows)[None] + self.first_position

    @torch.no_grad()
    def run(self, ids: list[int]) -> tuple[np.ndarray, np.ndarray, list[np.ndarray]]:
        """logits [n, vocab], hidden after model.norm [n, H], and the residual stream [n, H] after
        each layer but the last.
        """
        out = self.model(
            input_ids=torch.tensor([ids]),
            position_ids=self._positions(len(ids)),
            use_cache=False,
            output_hidden_states=True,
        )
        states = [state[0].numpy() for state in out.hidden_states]
        return out.logits[0].numpy(), states[-1], states[1:-1]

    def greedy(self, prompt: list[int], count: int) -> list[int]:
        """`prompt` and `count` tokens of greedy continuation, recomputed from scratch at every
        step.
        """
        ids = list(prompt)
        for _ in range(count):
            ids.append(int(np.argmax(self.run(ids)[0][-1])))
        return ids

    @torch.no_grad()
    def mtp(self, hidden: np.ndarray, next_tokens: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """MTP logits [r, vocab] and normed hidden [r, H]. hidden: [r, H]; next_tokens[i] is the
        token after row i.
        """
        rows = len(next_tokens)
        embedded = self.model.model.embed_tokens(torch.tensor([next_tokens]))
        joined = torch.cat(
            [self.enorm(embedded), self.hnorm(torch.from_numpy(hidden[None, :rows].copy()))], dim=-1
        )
        x = self.eh_proj(joined)
        smallest = torch.finfo(torch.float32).min
        mask = torch.triu(torch.full((rows, rows), smallest), diagonal=1)[None, None]
        positions = self._positions(rows)
        x, _ = self.mtp_layer(
            x,
            attention_mask=mask,
            position_ids=positions,
            use_cache=False,
            position_embeddings=self.model.model.rotary_emb(x, position_ids=positions),
        )
        normed = self.shared_norm(x)
        return self.model.lm_head(normed)[0].numpy(), normed[0].numpy()

    def mtp_drafts(
        self, hidden: np.ndarray, ids: list[int], row: int, depth: int
    ) -> tuple[list[int], np.ndarray]:
        """Draft `depth` tokens from MTP row `row`. Returns the drafts and their logits
        [depth, vocab].

        hidden: [n, H] after model.norm. Every step after the first recycles the step's own hidden
        after shared_head.norm.
        """
        tokens, states, logits, drafts = (
            list(ids[1 : row + 2]),
            copy.copy(hidden[: row + 1]),
            [],
            [],
        )
        for _ in range(depth):
            all_logits, normed = self.mtp(states, tokens)
            logits.append(all_logits[-1])
            drafts.append(int(np.argmax(all_logits[-1])))
            tokens.append(drafts[-1])
            states = np.concatenate([states, normed[-1:]])
        return drafts, np.stack(logits)
