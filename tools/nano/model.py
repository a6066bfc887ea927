"""The `glm_moe_dsa` forward pass for training: flat batches, fused experts.

Weights carry the checkpoint's names (dots and all) in one dict, so export is a plain copy; routed
experts are stacked per layer: `...mlp.experts.gate_up_proj` [E, 2I, H] and `.down_proj` [E, H, I].
"""

import torch
import torch.nn.functional as F

from batch import Batch, Group, collect, spread
from experts import RoutedExperts
from settings import CONFIG as C
from settings import INDEX_NORM_EPS, LAYERS, MTP_LAYER

H, HEADS, RQ, R = C["hidden_size"], C["num_attention_heads"], C["q_lora_rank"], C["kv_lora_rank"]
N, P, V = C["qk_nope_head_dim"], C["qk_rope_head_dim"], C["v_head_dim"]
D = N + P
E, I = C["n_routed_experts"], C["moe_intermediate_size"]
NI, DI = C["index_n_heads"], C["index_head_dim"]
EPS = C["rms_norm_eps"]


def is_full(layer: int) -> bool:
    """Whether the layer has an indexer of its own."""
    return layer >= LAYERS or C["indexer_types"][layer] == "full"


def is_sparse(layer: int) -> bool:
    return layer >= LAYERS or C["mlp_layer_types"][layer] == "sparse"


def shapes() -> dict[str, tuple[int, ...]]:
    """Every weight and its shape; a matrix is [out, in]."""
    table = {
        "model.embed_tokens.weight": (C["vocab_size"], H),
        "lm_head.weight": (C["vocab_size"], H),
        "model.norm.weight": (H,),
    }
    for layer in range(LAYERS + 1):
        p = f"model.layers.{layer}."
        a = p + "self_attn."
        table |= {
            p + "input_layernorm.weight": (H,),
            p + "post_attention_layernorm.weight": (H,),
            a + "q_a_proj.weight": (RQ, H),
            a + "q_a_layernorm.weight": (RQ,),
            a + "q_b_proj.weight": (HEADS * D, RQ),
            a + "kv_a_proj_with_mqa.weight": (R + P, H),
            a + "kv_a_layernorm.weight": (R,),
            a + "kv_b_proj.weight": (HEADS * (N + V), R),
            a + "o_proj.weight": (H, HEADS * V),
        }
        if is_full(layer):
            x = a + "indexer."
            table |= {
                x + "wq_b.weight": (NI * DI, RQ),
                x + "wk.weight": (DI, H),
                x + "weights_proj.weight": (NI, H),
                x + "k_norm.weight": (DI,),
                x + "k_norm.bias": (DI,),
            }
        inner = C["intermediate_size"]
        if is_sparse(layer):
            inner = I * C["n_shared_experts"]
            table |= {
                p + "mlp.gate.weight": (E, H),
                p + "mlp.gate.e_score_correction_bias": (E,),
                p + "mlp.experts.gate_up_proj": (E, 2 * I, H),
                p + "mlp.experts.down_proj": (E, H, I),
            }
        m = p + ("mlp.shared_experts." if is_sparse(layer) else "mlp.")
        table |= {
            m + "gate_proj.weight": (inner, H),
            m + "up_proj.weight": (inner, H),
            m + "down_proj.weight": (H, inner),
        }
    p = f"model.layers.{MTP_LAYER}."
    return table | {
        p + "eh_proj.weight": (H, 2 * H),
        p + "enorm.weight": (H,),
        p + "hnorm.weight": (H,),
        p + "shared_head.norm.weight": (H,),
    }


def initial_value(name: str, shape: tuple[int, ...], generator: torch.Generator) -> torch.Tensor:
    if name.endswith("bias"):
        return torch.zeros(shape)
    if len(shape) == 1:
        return torch.ones(shape)
    if name.endswith(("o_proj.weight", "down_proj.weight", "experts.down_proj")):
        return torch.zeros(shape)  # every layer starts as the identity
    std = 0.02 if "embed_tokens" in name or "lm_head" in name or "mlp.gate." in name else 0.5 * shape[-1] ** -0.5
    if "embed_tokens" in name:
        std = 0.5
    return torch.randn(shape, generator=generator) * std


def rms_norm(x, weight):
    return F.rms_norm(x, weight.shape, weight, EPS)


def rope_tables(positions: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """cos and sin [N, P/2] of every token's angles."""
    frequency = 1.0 / (C["rope_parameters"]["rope_theta"] ** (torch.arange(0, P, 2).float() / P))
    angle = positions.float()[:, None] * frequency
    return angle.cos(), angle.sin()


def rotate(x, cos, sin):
    """Interleaved rotation of x [N, heads, P]: pairs are (2j, 2j+1)."""
    even, odd = x[..., 0::2], x[..., 1::2]
    cos, sin = cos[:, None], sin[:, None]
    return torch.stack([even * cos - odd * sin, even * sin + odd * cos], dim=-1).flatten(-2)


def route(logits, bias):
    """logits [N, E] -> chosen expert ids [N, k] and their weights [N, k]."""
    score = torch.sigmoid(logits)
    chosen = (score.detach() + bias).topk(C["num_experts_per_tok"], dim=-1, sorted=False).indices
    weight = score.gather(-1, chosen)
    return chosen, weight / (weight.sum(-1, keepdim=True) + 1e-20) * C["routed_scaling_factor"]


class Model:
    """weights: name -> tensor. `sparse` = attention restricted to the indexer's selection.

    loads[layer] counts the tokens each expert got since the caller last cleared it.
    trace: if a dict, receives what the indexer's training needs, per full layer.
    """

    def __init__(self, weights: dict[str, torch.Tensor], sparse: bool = False):
        self.w = weights
        self.sparse = sparse
        self.loads = torch.zeros(LAYERS + 1, E)
        self.trace: dict | None = None
        self.depth = LAYERS  # layers above are skipped (they are still the identity)

    def hidden(self, batch: Batch) -> torch.Tensor:
        """The main model up to and with its last norm: [N, H]."""
        x = F.embedding(batch.tokens, self.w["model.embed_tokens.weight"])
        rope = rope_tables(batch.positions)
        selection = None
        for layer in range(self.depth):
            x, selection = self.layer(layer, x, batch, rope, selection)
        return rms_norm(x, self.w["model.norm.weight"])

    def mtp_hidden(self, batch: Batch, hidden: torch.Tensor) -> torch.Tensor:
        """Row i sees the main model's state at i and the token at i+1, predicts the token at i+2."""
        p = f"model.layers.{MTP_LAYER}."
        ahead = F.embedding(batch.next_tokens, self.w["model.embed_tokens.weight"])
        both = torch.cat(
            [rms_norm(ahead, self.w[p + "enorm.weight"]), rms_norm(hidden, self.w[p + "hnorm.weight"])], dim=-1
        )
        x = F.linear(both, self.w[p + "eh_proj.weight"])
        x, _ = self.layer(MTP_LAYER, x, batch, rope_tables(batch.positions), None)
        return rms_norm(x, self.w[p + "shared_head.norm.weight"])

    def logits(self, hidden: torch.Tensor) -> torch.Tensor:
        return F.linear(hidden, self.w["lm_head.weight"])

    def layer(self, layer, x, batch, rope, selection):
        p = f"model.layers.{layer}."
        mixed, selection = self.attention(
            layer, rms_norm(x, self.w[p + "input_layernorm.weight"]), batch, rope, selection
        )
        x = x + mixed
        m = rms_norm(x, self.w[p + "post_attention_layernorm.weight"])
        x = x + (self.experts(layer, m) if is_sparse(layer) else self.mlp(p + "mlp.", m))
        return x, selection

    def attention(self, layer, a, batch, rope, selection):
        """a [N, H] normed input -> ([N, H], the selection used)."""
        w, p = self.w, f"model.layers.{layer}.self_attn."
        rows = a.shape[0]
        ql = rms_norm(F.linear(a, w[p + "q_a_proj.weight"]), w[p + "q_a_layernorm.weight"])
        q = F.linear(ql, w[p + "q_b_proj.weight"]).view(rows, HEADS, D)
        z = F.linear(a, w[p + "kv_a_proj_with_mqa.weight"])
        latent = rms_norm(z[:, :R], w[p + "kv_a_layernorm.weight"])
        kv = F.linear(latent, w[p + "kv_b_proj.weight"]).view(rows, HEADS, N + V)
        k_rope = rotate(z[:, None, R:], *rope).expand(rows, HEADS, P)
        q = torch.cat([q[..., :N], rotate(q[..., N:], *rope)], dim=-1)
        qkv = torch.cat([q, kv[..., :N], k_rope, kv[..., N:]], dim=-1).flatten(1)
        if self.sparse and is_full(layer):
            selection = [self.select(p, ql, a, rope, group) for group in batch.groups]
        if self.trace is not None and is_full(layer):
            self.trace[layer] = (ql, a, rope)
        out = []
        for index, group in enumerate(batch.groups):
            cells = (
                spread(qkv[group.start : group.end], group)
                .view(group.count, group.length, HEADS, 2 * D + V)
                .transpose(1, 2)
            )
            q_g, k_g, v_g = cells.split([D, D, V], dim=-1)
            if self.trace is not None:
                self.trace.setdefault(("mass", layer), []).append(attention_mass(q_g, k_g))
            mixed = (
                F.scaled_dot_product_attention(q_g, k_g, v_g, attn_mask=selection[index][:, None])
                if self.sparse
                else F.scaled_dot_product_attention(q_g, k_g, v_g, is_causal=True)
            )
            out.append(collect(mixed.transpose(1, 2).flatten(2), group))
        return F.linear(torch.cat(out), w[p + "o_proj.weight"]), selection

    def index_scores(self, p, ql, a, rope, group: Group):
        """Indexer scores [count, length, length] of one group; p is the attention's prefix."""
        part = slice(group.start, group.end)
        rope = (rope[0][part], rope[1][part])
        w, x = self.w, p + "indexer."
        q = F.linear(ql[part], w[x + "wq_b.weight"]).view(-1, NI, DI)
        k = F.layer_norm(
            F.linear(a[part], w[x + "wk.weight"]), (DI,), w[x + "k_norm.weight"], w[x + "k_norm.bias"], INDEX_NORM_EPS
        )[:, None]
        q = torch.cat([rotate(q[..., :P], *rope), q[..., P:]], dim=-1)
        k = torch.cat([rotate(k[..., :P], *rope), k[..., P:]], dim=-1)
        weight = F.linear(a[part], w[x + "weights_proj.weight"]) * NI**-0.5
        q, k, weight = spread(q.flatten(1), group), spread(k.flatten(1), group), spread(weight, group)
        dots = torch.einsum("bqhd,bkd->bhqk", q.view(*q.shape[:2], NI, DI), k) * DI**-0.5
        return torch.einsum("bqh,bhqk->bqk", weight, F.relu(dots))

    def select(self, p, ql, a, rope, group: Group):
        """Allowed keys [count, length, length]: the top index_topk among t <= p."""
        scores = self.index_scores(p, ql, a, rope, group)
        causal = torch.ones(group.length, group.length, dtype=torch.bool).tril()
        scores = scores.masked_fill(~causal, float("-inf"))
        best = scores.topk(min(C["index_topk"], group.length), dim=-1).indices
        return torch.zeros_like(scores, dtype=torch.bool).scatter_(-1, best, True) & causal

    def mlp(self, prefix, m):
        gate, up = F.linear(m, self.w[prefix + "gate_proj.weight"]), F.linear(m, self.w[prefix + "up_proj.weight"])
        return F.linear(F.silu(gate) * up, self.w[prefix + "down_proj.weight"])

    def experts(self, layer, m):
        p = f"model.layers.{layer}.mlp."
        chosen, weight = route(F.linear(m, self.w[p + "gate.weight"]), self.w[p + "gate.e_score_correction_bias"])
        self.loads[layer] += torch.bincount(chosen.flatten(), minlength=E)
        routed = RoutedExperts.apply(
            m, chosen, weight, self.w[p + "experts.gate_up_proj"], self.w[p + "experts.down_proj"]
        )
        return routed + self.mlp(p + "shared_experts.", m)


def attention_mass(q, k):
    """Dense causal attention summed over heads: [count, length, length], rows sum to 1."""
    scores = (q @ k.transpose(-1, -2)) * D**-0.5
    causal = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    return scores.masked_fill(~causal, float("-inf")).softmax(-1).mean(1).detach()
