"""Sizes of the models, and which parameter names their state dicts use."""

from dataclasses import dataclass


@dataclass(frozen=True)
class LayerNames:
    """Parameter names inside one encoder layer, as in transformers' state dicts."""

    query: str
    key: str
    value: str
    attention_output: str
    attention_norm: str
    ffn_in: str
    ffn_out: str
    ffn_norm: str


BERT_LAYER = LayerNames(
    query="attention.self.query",
    key="attention.self.key",
    value="attention.self.value",
    attention_output="attention.output.dense",
    attention_norm="attention.output.LayerNorm",
    ffn_in="intermediate.dense",
    ffn_out="output.dense",
    ffn_norm="output.LayerNorm",
)
DISTILBERT_LAYER = LayerNames(
    query="attention.q_lin",
    key="attention.k_lin",
    value="attention.v_lin",
    attention_output="attention.out_lin",
    attention_norm="sa_layer_norm",
    ffn_in="ffn.lin1",
    ffn_out="ffn.lin2",
    ffn_norm="output_layer_norm",
)
CLIP_LAYER = LayerNames(
    query="self_attn.q_proj",
    key="self_attn.k_proj",
    value="self_attn.v_proj",
    attention_output="self_attn.out_proj",
    attention_norm="layer_norm1",
    ffn_in="mlp.fc1",
    ffn_out="mlp.fc2",
    ffn_norm="layer_norm2",
)


@dataclass(frozen=True)
class Family:
    """What sets one architecture apart. `style` selects the spelling of its eager attention (see Exporter)."""

    name: str
    style: str
    layer_prefix: str
    layer: LayerNames
    activation: str
    eps: float
    types: int  # rows of the token-type table; 0 = none
    token_types_are_input: bool
    position_offset: int  # RoBERTa counts positions from padding_idx + 1
    tasks: tuple[str, ...]


_BERT_TASKS = ("feature", "pooler", "masked-lm", "classification", "question-answering")
BERT = Family(
    "bert", "bert", "encoder.layer", BERT_LAYER, "gelu", 1e-12, 2, True, 0, (*_BERT_TASKS, "pretraining", "embedding")
)
ROBERTA = Family("roberta", "bert", "encoder.layer", BERT_LAYER, "gelu", 1e-5, 1, False, 2, _BERT_TASKS)
DISTILBERT = Family(
    "distilbert", "distilbert", "transformer.layer", DISTILBERT_LAYER, "gelu", 1e-12, 0, False, 0,
    ("feature", "masked-lm", "classification", "question-answering"),
)  # fmt: skip
CLIP = Family("clip", "clip", "encoder.layers", CLIP_LAYER, "quick-gelu", 1e-5, 0, False, 0, ("feature", "pooler"))


@dataclass(frozen=True)
class Config:
    """Sizes. `positions` counts usable positions; RoBERTa's table has `position_offset` more rows."""

    family: Family
    layers: int
    hidden: int
    heads: int
    ffn: int
    vocabulary: int
    positions: int = 512
    labels: int = 2


# Published sizes; the tiny ones keep every op of the large (hidden 32, 2 layers, 4 heads, ffn 64, vocabulary 100).
CONFIGS = {
    "tiny": Config(BERT, 2, 32, 4, 64, 100, positions=64),
    "mini": Config(BERT, 4, 256, 4, 1024, 30522),
    "minilm": Config(BERT, 6, 384, 12, 1536, 30522),
    "base": Config(BERT, 12, 768, 12, 3072, 30522),
    "large": Config(BERT, 24, 1024, 16, 4096, 30522),
    "roberta-tiny": Config(ROBERTA, 2, 32, 4, 64, 100, positions=64),
    "roberta-base": Config(ROBERTA, 12, 768, 12, 3072, 50265),
    "distilbert-tiny": Config(DISTILBERT, 2, 32, 4, 64, 100, positions=64),
    "distilbert-base": Config(DISTILBERT, 6, 768, 12, 3072, 30522),
    "clip-tiny": Config(CLIP, 2, 32, 4, 64, 100, positions=64),
    "clip-large": Config(CLIP, 12, 768, 12, 3072, 49408, positions=77),
}
