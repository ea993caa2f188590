"""The encoders, written once against `Exporter`; shapes: b batch, s sequence, h hidden."""

import numpy as np
from onnx import TensorProto

from ..onnxgen.exporter import Exporter, Extents
from .config import Config

ROBERTA_PADDING_ID = 1


def build_encoder(e: Exporter, config: Config) -> str:
    """Declares the inputs and writes the encoder; returns the last hidden state [b, s, h]."""
    if config.family.name == "clip":
        return _clip_encoder(e, config)
    return _post_norm_encoder(e, config)


def _id_input(e: Exporter, name: str) -> str:
    return e.graph.input(name, np.int64, [e.symbol("batch"), e.symbol("sequence")])


# --- BERT, RoBERTa, DistilBERT ----------------------------------------------------------------------------------------


def _post_norm_encoder(e: Exporter, config: Config) -> str:
    family = config.family
    ids, mask = _id_input(e, "input_ids"), _id_input(e, "attention_mask")
    types = _id_input(e, "token_type_ids") if family.token_types_are_input else None
    extents = Extents(e, ids)
    with e.scope("embeddings"):
        lookups = [("embeddings.word_embeddings.weight", config.vocabulary, ids)]
        position_ids = _position_ids(e, config, ids, extents)
        if family.types:
            type_ids = types or _zero_types(e, config, extents, position_ids)
            lookups.append(("embeddings.token_type_embeddings.weight", family.types, type_ids))
        rows = config.positions + family.position_offset
        lookups.append(("embeddings.position_embeddings.weight", rows, position_ids))
        x = e.embed_and_norm(lookups, config.hidden, "embeddings.LayerNorm", family.eps)
    # DistilBERT takes the positions' length from the embedded words, so the mask reads the ids' anew.
    queries = Extents(e, ids) if family.name == "distilbert" else extents
    attention_mask = e.padding_mask(mask, family.style, queries)
    for index in range(config.layers):
        with e.scope(f"{family.layer_prefix}.{index}"):
            x = _post_norm_layer(e, config, x, f"{family.layer_prefix}.{index}.", attention_mask)
    return x


def _post_norm_layer(e: Exporter, config: Config, x: str, prefix: str, mask: str) -> str:
    """Attention, add, norm, feed-forward, add, norm (Vaswani et al. 2017, as in BERT)."""
    names, hidden, eps = config.family.layer, config.hidden, config.family.eps
    projections = [prefix + n for n in (names.query, names.key, names.value)]
    with e.scope("attention"):
        context = e.self_attention(x, projections, hidden, config.heads, mask, config.family.style)
        output, norm = prefix + names.attention_output, prefix + names.attention_norm
        x = e.dense_add_norm(context, output, hidden, x, norm, hidden, eps)
    with e.scope("ffn"):
        inner = e.dense_activate(x, prefix + names.ffn_in, hidden, config.ffn, config.family.activation)
        return e.dense_add_norm(inner, prefix + names.ffn_out, config.ffn, x, prefix + names.ffn_norm, hidden, eps)


def _position_ids(e: Exporter, config: Config, ids: str, extents: Extents) -> str:
    if config.family.name == "roberta":
        return _roberta_position_ids(e, ids)
    if e.fuses_default_positions:
        return ""
    return _first_positions(e, config, extents)


def _first_positions(e: Exporter, config: Config, extents: Extents) -> str:
    """0..s-1 as int64 [1, s]: a slice of the buffer `position_ids` [1, positions]."""
    buffer = np.arange(config.positions, dtype=np.int64)[None]
    return e.leading_columns("embeddings.position_ids", buffer, extents.sequence)


def _zero_types(e: Exporter, config: Config, extents: Extents, position_ids: str) -> str:
    """RoBERTa's token types, registered as zeros [1, positions]; its only type is 0."""
    zeros = np.zeros((1, config.positions + config.family.position_offset), np.int64)
    return e.buffered_types("embeddings.token_type_ids", zeros, extents, position_ids)


def _roberta_position_ids(e: Exporter, ids: str) -> str:
    """create_position_ids_from_input_ids: padding keeps its id, the others count from padding + 1; int64 [b, s].

    `mask = ids.ne(pad).int(); (cumsum(mask, 1).type_as(mask) * mask).long() + pad`, in int32 until the end.
    """
    not_padding = e.op("Not", e.op("Equal", ids, e.int_scalar(ROBERTA_PADDING_ID)))
    mask = e.cast(not_padding, TensorProto.INT32)
    positions = e.op("Mul", e.cumulative_sum(mask, axis=1), mask)
    return e.op("Add", e.cast(positions, TensorProto.INT64), e.int_scalar(ROBERTA_PADDING_ID))


# --- CLIP text --------------------------------------------------------------------------------------------------------


def _clip_encoder(e: Exporter, config: Config) -> str:
    """Pre-norm, causal, no padding mask, final norm."""
    graph_ids = Extents(e, _id_input(e, "input_ids"))
    ids = e.reshape("input_ids", (-1, graph_ids.sequence))
    eps = config.family.eps
    with e.scope("embeddings"):
        words = e.lookup("embeddings.token_embedding.weight", config.vocabulary, config.hidden, ids)
        position_ids = _first_positions(e, config, Extents(e, ids))
        positions = e.lookup("embeddings.position_embedding.weight", config.positions, config.hidden, position_ids)
        x = e.op("Add", words, positions)
    mask = e.causal_mask(graph_ids)
    for index in range(config.layers):
        with e.scope(f"encoder.layers.{index}"):
            x = _pre_norm_layer(e, config, x, f"encoder.layers.{index}.", mask)
    return e.layer_norm(x, "final_layer_norm", config.hidden, eps)


def _pre_norm_layer(e: Exporter, config: Config, x: str, prefix: str, mask: str) -> str:
    names, hidden, eps = config.family.layer, config.hidden, config.family.eps
    projections = [prefix + n for n in (names.query, names.key, names.value)]
    with e.scope("self_attn"):
        normed = e.layer_norm(x, prefix + names.attention_norm, hidden, eps)
        context = e.self_attention(normed, projections, hidden, config.heads, mask, config.family.style)
        x = e.dense_add(context, prefix + names.attention_output, hidden, x, hidden)
    with e.scope("mlp"):
        normed = e.layer_norm(x, prefix + names.ffn_norm, hidden, eps)
        inner = e.dense_activate(normed, prefix + names.ffn_in, hidden, config.ffn, config.family.activation)
        return e.dense_add(inner, prefix + names.ffn_out, config.ffn, x, hidden)
