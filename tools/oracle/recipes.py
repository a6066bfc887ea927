"""The list of fixtures: one Recipe each. What a fixture is for is said in `about`; README.md has
the overview.
"""

from __future__ import annotations

import dataclasses

from container import INT4, INT8, ContainerPlan, grouped
from fp8 import QUANTIZATION_CONFIG
from models import SMALL, T0


@dataclasses.dataclass(frozen=True)
class Case:
    """A token sequence: random prompt, then the greedy continuation up to `total` ids."""

    name: str
    prompt_length: int = 24
    total: int = 44
    first_position: int = 0
    distinct: int = 5  # how many different tokens the continuation must have at least


@dataclasses.dataclass(frozen=True)
class Recipe:
    name: str
    about: str
    config: dict
    cases: tuple[Case, ...] = (Case("greedy"),)
    dtype: str = "BF16"  # how plain checkpoints store the weights
    layout: str = "plain"  # fused: 3-D expert tensors; fp8: e4m3 with block scales
    kept: dict = dataclasses.field(default_factory=dict)  # fp8: suffix of a matrix kept -> dtype
    shards: int = 1
    index: bool = False  # write model.safetensors.index.json
    container: ContainerPlan | None = None  # a colibri container instead of a plain checkpoint
    mtp: bool = False
    mtp_copies: bool = False  # store copies of embed_tokens and the head in the MTP layer
    mtp_depth_rows: tuple[int, ...] = ()  # rows from which four tokens are drafted
    layers: bool = False  # store the residual stream after every layer but the last
    std: dict = dataclasses.field(default_factory=dict)
    very_negative_biases: bool = False
    latent_norm_eps: float = 1e-6
    weights_of: str = ""  # use the seed of that fixture: same weights, other config
    own_oracle: bool = False  # reference is slow_forward, where the library is unspecified
    tolerance: float = 2e-5
    margin: float = 1e-4
    checks: tuple[str, ...] = ()  # names of mistakes (mistakes.py) that this fixture must catch

    @property
    def logit_gap(self) -> float:
        """Smallest allowed distance of the two best logits, over the range of the case."""
        return max(3 * self.tolerance, 1e-4)


def _small(**changes) -> dict:
    return {**SMALL, **changes}


def _without(config: dict, *keys: str) -> dict:
    return {key: value for key, value in config.items() if key not in keys}


# Contradicts index_topk_freq 2 with offset 2, which says F F S F.
FULL_SHARED = "full shared full full".split()

# Small enough that every row can keep margins of 1.5e-3: F S F, one dense layer, two sparse ones.
QUANTISED = _small(
    num_hidden_layers=3, indexer_types=["full", "shared", "full"], first_k_dense_replace=1
)


def _quantised(
    name: str,
    about: str,
    plan: ContainerPlan,
    mtp: bool = False,
    checks: tuple[str, ...] = (),
    **changes,
) -> Recipe:
    return Recipe(
        name,
        about,
        {**QUANTISED, **changes},
        (Case("greedy", 20, 40),),
        dtype="F32",
        container=plan,
        mtp=mtp,
        tolerance=1e-3,
        margin=1.5e-3,
        checks=checks,
    )


RECIPES = [
    Recipe(
        "t0",
        "the base model of the test plan, BF16, MTP, residual stream",
        T0,
        mtp=True,
        layers=True,
        checks=(
            "half-split rope",
            "half-split indexer rope",
            "indexer rope on the last dims",
            "no k_norm bias",
            "no selection",
            "window instead of selection",
            "bias in the expert weights",
            "no renormalisation",
            "scaled shared expert",
            "mtp: hidden first",
            "mtp: hidden before model.norm",
        ),
    ),
    Recipe(
        "t1-dense", "K larger than the sequence: equal to dense attention", _small(index_topk=64)
    ),
    Recipe(
        "t1-border",
        "sequences of K-1, K, K+1 and more tokens",
        _small(index_topk=32),
        (
            Case("below", 11, 31),
            Case("equal", 12, 32),
            Case("above", 13, 33),
            Case("beyond", 24, 50),
        ),
        checks=("no selection",),
    ),
    Recipe(
        "t2-types",
        "indexer_types wins over pattern and formula",
        _small(indexer_types=FULL_SHARED, index_topk_pattern="FFSF"),
    ),
    Recipe(
        "t2-pattern",
        "index_topk_pattern as a string wins over the formula",
        _small(index_topk_pattern="FSFF"),
        weights_of="t2-types",
    ),
    Recipe(
        "t2-pattern-list",
        "index_topk_pattern as a list of words",
        _small(index_topk_pattern=FULL_SHARED),
        weights_of="t2-types",
    ),
    Recipe(
        "t3",
        "expert groups masked with minus infinity, two shared experts fused, very negative biases",
        _small(
            n_group=4, topk_group=2, n_routed_experts=16, num_experts_per_tok=4, n_shared_experts=2
        ),
        very_negative_biases=True,
        checks=("groups masked with zero", "bias in the expert weights"),
    ),
    Recipe(
        "t4-nonorm",
        "norm_topk_prob false",
        _small(norm_topk_prob=False),
        checks=("renormalisation",),
    ),
    Recipe("t4-k1", "one expert per token", _small(num_experts_per_tok=1)),
    Recipe("t4-kall", "every expert for every token", _small(num_experts_per_tok=8)),
    Recipe(
        "t5",
        "FP8 blocks: 28-row heads of kv_b straddle block rows, partial blocks both ways",
        _small(
            vocab_size=64,
            hidden_size=192,
            num_attention_heads=12,
            num_key_value_heads=12,
            q_lora_rank=160,
            kv_lora_rank=136,
            num_hidden_layers=1,
            first_k_dense_replace=0,
            indexer_types=["full"],
            n_routed_experts=4,
            quantization_config=QUANTIZATION_CONFIG,
        ),
        layout="fp8",
        margin=1e-3,
    ),
    Recipe(
        "t5-mixed",
        "FP8 beside BF16 and F32 in every kind of layer, MTP",
        _small(num_hidden_layers=3, quantization_config=QUANTIZATION_CONFIG),
        layout="fp8",
        kept={
            "o_proj.weight": "F32",
            "shared_experts.up_proj.weight": "BF16",
            "experts.1.down_proj.weight": "BF16",
            "experts.2.gate_proj.weight": "F32",
        },
        mtp=True,
        margin=1e-3,
    ),
    Recipe(
        "t6-square",
        "fused 3-D experts where 2I == H: gate_up alone does not tell the axis order",
        SMALL,
        layout="fused",
        mtp=True,
        weights_of="t11",
    ),
    Recipe(
        "t6-oblong",
        "fused 3-D experts where 2I differs from H",
        _small(moe_intermediate_size=20),
        layout="fused",
    ),
    Recipe(
        "t6-transposed",
        "t6-oblong's experts as [in, out]",
        _small(moe_intermediate_size=20),
        layout="fused-transposed",
        weights_of="t6-oblong",
    ),
    Recipe(
        "t6-square-transposed",
        "t6-square's experts as [in, out]: only the shape of down_proj tells",
        SMALL,
        layout="fused-transposed",
        weights_of="t11",
    ),
    Recipe(
        "t7-new",
        "rope_parameters.rope_theta 5000, list of eos ids",
        _small(rope_parameters={"rope_theta": 5000.0, "rope_type": "default"}, eos_token_id=[5, 7]),
        checks=("theta 10000",),
    ),
    Recipe(
        "t7-old",
        "top-level rope_theta 5000, rope_scaling null, scalar eos id: same logits as t7-new",
        {
            **_without(SMALL, "rope_parameters"),
            "rope_theta": 5000.0,
            "rope_scaling": None,
            "eos_token_id": 5,
        },
        weights_of="t7-new",
        checks=("theta 10000",),
    ),
    Recipe(
        "t8",
        "theta 8e6 and positions from 10^6 on: angles in f32",
        _small(
            rope_parameters={"rope_theta": 8e6, "rope_type": "default"},
            qk_rope_head_dim=32,
            qk_head_dim=44,
            index_head_dim=40,
            max_position_embeddings=1048576,
        ),
        (
            Case("start"),
            Case("million", first_position=1000000),
            Case("end", first_position=1048576 - 48),
        ),
        checks=("angles in double", "inverse frequencies in double"),
    ),
    Recipe(
        "t9-eps6",
        "tiny latents, latent_norm_eps 1e-6",
        SMALL,
        latent_norm_eps=1e-6,
        std={"q_a_proj.weight": 0.0018, "kv_a_proj_with_mqa.weight": 0.0018},
        checks=("latent eps 1e-5",),
    ),
    Recipe(
        "t9-eps5",
        "tiny latents, latent_norm_eps 1e-5 (the library's modules patched)",
        SMALL,
        latent_norm_eps=1e-5,
        std={"q_a_proj.weight": 0.0018, "kv_a_proj_with_mqa.weight": 0.0018},
        checks=("latent eps 1e-6",),
    ),
    Recipe(
        "t9-knorm",
        "tiny indexer keys before k_norm: LayerNorm eps 1e-6",
        SMALL,
        std={"indexer.wk.weight": 0.00056},
        checks=("k_norm eps 1e-5",),
    ),
    Recipe(
        "t10",
        "two index heads: exact ties at score 0, the lower position wins",
        _small(index_n_heads=2),
        (Case("greedy", 24, 48),),
        own_oracle=True,
        checks=("ties: higher position",),
    ),
    Recipe(
        "t10-one",
        "one index head: half of the scores are exactly 0",
        _small(index_n_heads=1),
        (Case("greedy", 24, 48),),
        own_oracle=True,
        checks=("ties: higher position",),
    ),
    Recipe(
        "t11",
        "MTP drafts of depth 4, head and embeddings shared",
        SMALL,
        mtp=True,
        mtp_depth_rows=(5, 17, 30),
        checks=(
            "mtp: recycled before shared_head.norm",
            "mtp: hidden first",
            "mtp: hidden before model.norm",
        ),
    ),
    Recipe(
        "t11-copies",
        "t11 with embed_tokens and shared_head.head stored in the MTP layer",
        SMALL,
        mtp=True,
        mtp_copies=True,
        mtp_depth_rows=(5, 17, 30),
        weights_of="t11",
        checks=("mtp: recycled before shared_head.norm",),
    ),
    Recipe(
        "t12",
        "odd sizes everywhere, F32, no index file",
        _small(
            hidden_size=45,
            num_attention_heads=3,
            num_key_value_heads=3,
            q_lora_rank=33,
            kv_lora_rank=23,
            qk_nope_head_dim=11,
            qk_rope_head_dim=6,
            qk_head_dim=17,
            v_head_dim=15,
            index_n_heads=9,
            index_head_dim=17,
            moe_intermediate_size=49,
            intermediate_size=47,
            vocab_size=251,
            n_routed_experts=7,
            num_experts_per_tok=3,
        ),
        dtype="F32",
        mtp=True,
    ),
    Recipe(
        "t13",
        "indexer heads without a nope part (index_head_dim == qk_rope_head_dim)",
        _small(index_head_dim=8, index_topk=6),
        (Case("greedy"), Case("border", 3, 16)),
        mtp=True,
    ),
    Recipe(
        "t14",
        "BF16 weights, six layers (F F S F S F), a sequence of ten times K",
        _small(num_hidden_layers=6),
        (Case("greedy", 40, 80),),
    ),
    Recipe("plain-bf16", "BF16 checkpoint in one file", SMALL, dtype="BF16"),
    Recipe("plain-f16", "F16 checkpoint in one file", SMALL, dtype="F16", mtp=True),
    Recipe(
        "sharded-index",
        "five shards with model.safetensors.index.json",
        SMALL,
        shards=5,
        index=True,
        mtp=True,
    ),
    Recipe("sharded-noindex", "six shards without an index", SMALL, dtype="F32", shards=6),
    _quantised("c-int8-row", "container, int8-row throughout", ContainerPlan(INT8, INT8)),
    _quantised(
        "c-int4-row",
        "container, int4-row with odd row lengths",
        ContainerPlan(INT4, INT4),
        q_lora_rank=33,
        kv_lora_rank=23,
        moe_intermediate_size=25,
    ),
    _quantised(
        "c-int4-grouped",
        "container, int4-grouped (64) experts and dense, short last groups, two main files",
        ContainerPlan(grouped(64), grouped(64), shards=2),
        mtp=True,
        hidden_size=128,
        moe_intermediate_size=160,
        n_routed_experts=4,
        intermediate_size=160,
    ),
    _quantised(
        "c-mixed",
        "container, int4-grouped (32) experts, int8 dense and weights_proj, colibri.fmt, MTP",
        ContainerPlan(grouped(32), INT8, weights_proj=INT8, shards=3, stamp=True),
        mtp=True,
        hidden_size=64,
        moe_intermediate_size=80,
    ),
]
