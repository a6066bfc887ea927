"""Slow, obvious numpy f64 forward pass of glm_moe_dsa, one token (row) at a time.

Written from the DeepSeek-V2, V3 and V3.2 reports, sharing no code with the library. It cross-checks every fixture made with transformers, is the only oracle where the
library's behaviour is unspecified (ties in top-k), and measures the margins at every top-k border,
so that a fixture can promise that no row hangs on rounding.

Shapes: H hidden, nh heads, Rq/R q and kv latent, N nope, P rope, V value dim, nI/dI index heads and
their dim, E experts. Weights are a dict of checkpoint names (per-expert layout) to float arrays
[out, in].
"""

from __future__ import annotations

import dataclasses

import numpy as np

from schedule import indexer_schedule, mlp_schedule, rope_theta
from slow_math import border_gap, inverse_frequencies, layer_norm, rms_norm, silu, top_indices


@dataclasses.dataclass(frozen=True)
class Rules:
    """What may be got wrong. The defaults are right; any other value is a mistake to be caught."""

    latent_norm_eps: float = 1e-6
    k_norm_eps: float = 1e-6
    angles: str = "f32"  # "f64": double angles; "pow64": inv_freq in double, rounded once
    ties: str = "lower"  # "higher": the later position wins
    theta: float | None = None  # None: as the config says
    rope: str = "interleaved"  # "half"
    indexer_rope: str = "interleaved"
    indexer_rope_first: bool = True
    k_norm_bias: bool = True
    selection: str = "topk"  # "dense": no selection; "window": the last K positions
    group_mask: float = -np.inf  # 0.0 in older library versions
    bias_in_weights: bool = False  # correction bias leaks into the mixing weights
    scale_shared: bool = False  # routed scaling applied to the shared expert too
    renormalise: bool | None = None  # None: as the config says
    mtp_concat: str = "embed_first"
    mtp_feed: str = "normed"  # "raw": hidden before model.norm
    mtp_recycle: str = "normed"  # "raw": hidden before shared_head.norm


RIGHT = Rules()


class _Layer:
    """Weights of one decoder layer in f64 and its caches: a list entry per position."""

    def __init__(self, config: dict, weights: dict, index: int, full: bool, sparse: bool):
        self.prefix = f"model.layers.{index}."
        self.full, self.sparse = full, sparse
        self.w = {
            name[len(self.prefix) :]: np.asarray(value, np.float64)
            for name, value in weights.items()
            if name.startswith(self.prefix)
        }
        self.latents, self.rope_keys, self.index_keys = [], [], []

    def pop(self):
        self.latents.pop()
        self.rope_keys.pop()
        if self.full:
            self.index_keys.pop()


@dataclasses.dataclass
class RowMargins:
    """Gaps at the top-k borders of one row. Indexer: (layer, gap, mean |score| of the row)."""

    router: float = np.inf
    indexer: list = dataclasses.field(default_factory=list)

    def smallest(self, layer_mean: dict | None = None) -> float:
        gaps = [
            gap / (layer_mean[layer] if layer_mean else max(mean, 1e-30))
            for layer, gap, mean in self.indexer
        ]
        return min([self.router, *gaps])


@dataclasses.dataclass
class Row:
    """One position: logits [vocab], hidden [H] after and before model.norm, residuals [L][H]."""

    token: int
    logits: np.ndarray
    normed: np.ndarray
    raw: np.ndarray
    residuals: list
    margins: RowMargins


@dataclasses.dataclass
class MtpRow:
    """One MTP row: logits [vocab], hidden [H] after and before shared_head.norm."""

    logits: np.ndarray
    normed: np.ndarray
    raw: np.ndarray
    margins: RowMargins


class SlowModel:
    """The model and its caches. `push` appends a token, `pop` takes it back; `mtp_*` likewise."""

    def __init__(self, config: dict, weights: dict, rules: Rules = RIGHT, first_position: int = 0):
        self.config, self.rules, self.first_position = config, rules, first_position
        self.eps = config["rms_norm_eps"]
        count = config["num_hidden_layers"]
        self.embed = np.asarray(weights["model.embed_tokens.weight"], np.float64)
        self.final_norm = np.asarray(weights["model.norm.weight"], np.float64)
        self.head = np.asarray(weights["lm_head.weight"], np.float64)
        kinds, mlps = indexer_schedule(config), mlp_schedule(config)
        self.layers = [
            _Layer(config, weights, i, kinds[i] == "full", mlps[i] == "sparse")
            for i in range(count)
        ]
        has_mtp = f"model.layers.{count}.eh_proj.weight" in weights
        self.mtp_layer = _Layer(config, weights, count, True, True) if has_mtp else None
        self.inv_freq = inverse_frequencies(
            rules.theta or rope_theta(config), config["qk_rope_head_dim"], rules.angles
        )
        self.rows: list[Row] = []
        self.mtp_rows: list[MtpRow] = []

    def push(self, token: int) -> Row:
        x = self.embed[token].copy()
        margins, selection, residuals = RowMargins(), None, []
        for number, layer in enumerate(self.layers):
            x, selection = self._decoder_layer(layer, number, x, len(self.rows), selection, margins)
            residuals.append(x)
        normed = rms_norm(x, self.final_norm, self.eps)
        row = Row(token, self.head @ normed, normed, x, residuals, margins)
        self.rows.append(row)
        return row

    def pop(self):
        self.rows.pop()
        for layer in self.layers:
            layer.pop()

    def smallest_margin(self) -> float:
        """Smallest gap at a top-k border of any main row; index gaps are over their layer's mean
        |score| (MTP not counted).
        """
        means: dict[int, list] = {}
        for row in self.rows:
            for layer, _, mean in row.margins.indexer:
                means.setdefault(layer, []).append(mean)
        layer_mean = {layer: float(np.mean(values)) for layer, values in means.items()}
        return min(row.margins.smallest(layer_mean) for row in self.rows)

    def mtp_push(self, next_token: int, hidden: np.ndarray | None = None) -> MtpRow:
        """MTP row len(mtp_rows): `hidden` [H] (default: the main model's state of that row) and the
        token after it.
        """
        w, position = self.mtp_layer.w, len(self.mtp_rows)
        if hidden is None:
            main = self.rows[position]
            hidden = main.normed if self.rules.mtp_feed == "normed" else main.raw
        parts = [
            rms_norm(self.embed[next_token], w["enorm.weight"], self.eps),
            rms_norm(hidden, w["hnorm.weight"], self.eps),
        ]
        if self.rules.mtp_concat != "embed_first":
            parts.reverse()
        x = w["eh_proj.weight"] @ np.concatenate(parts)
        margins = RowMargins()
        raw, _ = self._decoder_layer(self.mtp_layer, len(self.layers), x, position, None, margins)
        normed = rms_norm(raw, w["shared_head.norm.weight"], self.eps)
        row = MtpRow(self.head @ normed, normed, raw, margins)
        self.mtp_rows.append(row)
        return row

    def mtp_pop(self):
        self.mtp_rows.pop()
        self.mtp_layer.pop()

    def drafts(
        self, row: int, next_token: int, depth: int
    ) -> list[tuple[int, np.ndarray, RowMargins]]:
        """Draft `depth` tokens: step 1 is MTP row `row` with `next_token`; later steps recycle the
        step's own hidden.

        Needs MTP rows 0..row-1 and no later ones. Leaves the caches as they were. Returns (token,
        logits, margins) per step.
        """
        assert len(self.mtp_rows) == row
        steps, token, hidden = [], next_token, None
        for _ in range(depth):
            step = self.mtp_push(token, hidden)
            token = int(np.argmax(step.logits))
            hidden = step.normed if self.rules.mtp_recycle == "normed" else step.raw
            steps.append((token, step.logits, step.margins))
        for _ in range(depth):
            self.mtp_pop()
        return steps

    # One decoder layer (c.3). x: [H], the residual stream.
    def _decoder_layer(self, layer, number, x, position, selection, margins):
        a = rms_norm(x, layer.w["input_layernorm.weight"], self.eps)
        mixed, selection = self._attention(layer, number, a, position, selection, margins)
        x = x + mixed
        m = rms_norm(x, layer.w["post_attention_layernorm.weight"], self.eps)
        return (
            x + (self._moe(layer, m, margins) if layer.sparse else self._ffn(layer.w, "mlp.", m)),
            selection,
        )

    def _rotate(self, v: np.ndarray, position: int, kind: str) -> np.ndarray:
        """Rotate the last axis [.., P]. Pairs (2j, 2j+1), or (j, j + P/2) for the half-split
        mistake.
        """
        p = position + self.first_position
        if self.rules.angles == "f64":
            angle = p * self.inv_freq
        else:
            angle = (
                (np.float32(p) * self.inv_freq.astype(np.float32))
                .astype(np.float32)
                .astype(np.float64)
            )
        cos, sin = np.cos(angle), np.sin(angle)
        half = v.shape[-1] // 2
        first, second = (
            (slice(0, None, 2), slice(1, None, 2))
            if kind == "interleaved"
            else (slice(0, half), slice(half, None))
        )
        out = np.empty_like(v)
        out[..., first] = v[..., first] * cos - v[..., second] * sin
        out[..., second] = v[..., first] * sin + v[..., second] * cos
        return out

    # Attention of one query over its selected keys, explicit form (c.4, c.6). a: [H], the normed
    # input.
    def _attention(self, layer, number, a, position, selection, margins):
        c, w, rules = self.config, layer.w, self.rules
        heads, nope, rope, value = (
            c["num_attention_heads"],
            c["qk_nope_head_dim"],
            c["qk_rope_head_dim"],
            c["v_head_dim"],
        )
        latent_dim = c["kv_lora_rank"]
        ql = rms_norm(
            w["self_attn.q_a_proj.weight"] @ a,
            w["self_attn.q_a_layernorm.weight"],
            rules.latent_norm_eps,
        )
        q = (w["self_attn.q_b_proj.weight"] @ ql).reshape(heads, nope + rope)
        z = w["self_attn.kv_a_proj_with_mqa.weight"] @ a
        layer.latents.append(
            rms_norm(z[:latent_dim], w["self_attn.kv_a_layernorm.weight"], rules.latent_norm_eps)
        )
        layer.rope_keys.append(self._rotate(z[latent_dim:], position, rules.rope))
        if layer.full:
            selection = self._select(layer, number, a, ql, position, margins)
        latents = np.stack(layer.latents)[selection]  # [T, R]
        rope_keys = np.stack(layer.rope_keys)[selection]  # [T, P]
        kv_b = w["self_attn.kv_b_proj.weight"].reshape(heads, nope + value, latent_dim)
        keys = np.einsum("hnr,tr->htn", kv_b[:, :nope], latents)
        values = np.einsum("hvr,tr->htv", kv_b[:, nope:], latents)
        scores = (
            np.einsum("hn,htn->ht", q[:, :nope], keys)
            + self._rotate(q[:, nope:], position, rules.rope) @ rope_keys.T
        )
        scores *= (nope + rope) ** -0.5
        probabilities = np.exp(scores - scores.max(axis=1, keepdims=True))
        probabilities /= probabilities.sum(axis=1, keepdims=True)
        mixed = np.einsum("ht,htv->hv", probabilities, values).reshape(-1)
        return w["self_attn.o_proj.weight"] @ mixed, selection

    # The lightning indexer (c.7): positions [min(K, p+1)], ascending, that query p may read.
    def _select(self, layer, number, a, ql, position, margins):
        c, w, rules = self.config, layer.w, self.rules
        heads, dim, rope, topk = (
            c["index_n_heads"],
            c["index_head_dim"],
            c["qk_rope_head_dim"],
            c["index_topk"],
        )
        bias = w["self_attn.indexer.k_norm.bias"] * (1.0 if rules.k_norm_bias else 0.0)
        key = layer_norm(
            w["self_attn.indexer.wk.weight"] @ a,
            w["self_attn.indexer.k_norm.weight"],
            bias,
            rules.k_norm_eps,
        )
        query = (w["self_attn.indexer.wq_b.weight"] @ ql).reshape(heads, dim)
        part = slice(0, rope) if rules.indexer_rope_first else slice(dim - rope, dim)
        key[part] = self._rotate(key[part], position, rules.indexer_rope)
        query[:, part] = self._rotate(query[:, part], position, rules.indexer_rope)
        layer.index_keys.append(key)
        if rules.selection == "dense" or position + 1 <= topk:
            return np.arange(position + 1)
        if rules.selection == "window":
            return np.arange(position + 1 - topk, position + 1)
        dots = query @ np.stack(layer.index_keys).T * dim**-0.5  # [nI, p+1]
        head_weights = (w["self_attn.indexer.weights_proj.weight"] @ a) * heads**-0.5
        scores = head_weights @ np.maximum(dots, 0.0)
        gap = border_gap(scores, topk)
        # Where ties at exactly 0 reach the border, a dot that rounding could lift above 0 would
        # break the tie.
        order = np.sort(scores)[::-1]
        zero = (
            float(np.abs(dots[:, scores == 0.0]).min())
            if order[topk - 1] == order[topk] == 0.0
            else np.inf
        )
        margins.indexer.append((number, min(gap, zero), float(np.abs(scores).mean())))
        return np.sort(top_indices(scores, topk, rules.ties))

    def _ffn(self, w: dict, prefix: str, m: np.ndarray) -> np.ndarray:
        gate, up = w[prefix + "gate_proj.weight"] @ m, w[prefix + "up_proj.weight"] @ m
        return w[prefix + "down_proj.weight"] @ (silu(gate) * up)

    # Router and experts (c.8, c.9). m: [H], the normed input.
    def _moe(self, layer, m, margins):
        c, w, rules = self.config, layer.w, self.rules
        groups, topk, scale = (
            c.get("n_group", 1),
            c["num_experts_per_tok"],
            c["routed_scaling_factor"],
        )
        sigma = 1.0 / (1.0 + np.exp(-(w["mlp.gate.weight"] @ m)))
        choice = sigma + w["mlp.gate.e_score_correction_bias"]
        if groups > 1:
            by_group = choice.reshape(groups, -1)
            group_scores = np.sort(by_group, axis=1)[:, -2:].sum(axis=1)
            margins.router = min(margins.router, border_gap(group_scores, c["topk_group"]))
            kept = np.isin(np.arange(groups), top_indices(group_scores, c["topk_group"]))
            choice = np.where(kept[:, None], by_group, rules.group_mask).reshape(-1)
        if np.isfinite(rules.group_mask) or np.isfinite(np.sort(choice)[::-1][: topk + 1]).all():
            margins.router = min(margins.router, border_gap(choice, topk))
        chosen = np.sort(top_indices(choice, topk))
        mix = (choice if rules.bias_in_weights else sigma)[chosen]
        if c["norm_topk_prob"] if rules.renormalise is None else rules.renormalise:
            mix = mix / (mix.sum() + 1e-20)
        mix = mix * scale
        out = np.zeros_like(m)
        for expert, weight in zip(chosen, mix):
            out += weight * self._ffn(w, f"mlp.experts.{expert}.", m)
        if c.get("n_shared_experts"):
            out += self._ffn(w, "mlp.shared_experts.", m) * (scale if rules.scale_shared else 1.0)
        return out
