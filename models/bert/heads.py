"""Task heads: each takes the last hidden state [b, s, h] and declares the graph outputs.

Output names and shapes follow optimum's ONNX configurations; the pre-training pair has none there, its names are
transformers' (`prediction_logits`, `seq_relationship_logits`).
"""

from onnx import TensorProto

from ..onnxgen.exporter import Exporter, Extents
from .config import Config


def build_head(e: Exporter, config: Config, task: str, hidden_state: str) -> None:
    if task not in config.family.tasks:
        raise ValueError(
            f"{config.family.name} has no task '{task}' (expected one of {', '.join(config.family.tasks)})"
        )
    with e.scope(task):
        _HEADS[task](e, config, hidden_state)


def _output(e: Exporter, value: str, name: str, *trailing) -> None:
    e.graph.output(value, name, e.dtype.numpy, [e.symbol("batch"), *trailing])


def _feature(e: Exporter, config: Config, x: str) -> None:
    _output(e, x, "last_hidden_state", e.symbol("sequence"), config.hidden)


def _pooled(e: Exporter, config: Config, x: str) -> str:
    """BERT's pooler [b, h]: tanh(dense(first token))."""
    return e.linear_2d(e.take(x, 0, axis=1), "pooler.dense", config.hidden, config.hidden, "Tanh")


def _pooler(e: Exporter, config: Config, x: str) -> None:
    pooled = _clip_pooled(e, config, x) if config.family.name == "clip" else _pooled(e, config, x)
    _feature(e, config, x)
    _output(e, pooled, "pooler_output", config.hidden)


def _clip_pooled(e: Exporter, config: Config, x: str) -> str:
    """The state of the end-of-text token, which has the largest id: x[arange(b), argmax(ids)] -> [b, h].

    ArgMax runs on int32 as in transformers (`input_ids.to(torch.int)`).
    """
    columns = e.last_argmax(e.cast("input_ids", TensorProto.INT32))
    return e.rows_at(x, columns, Extents(e, "input_ids"))


def _masked_lm(e: Exporter, config: Config, x: str) -> None:
    _output(e, _mlm_logits(e, config, x), "logits", e.symbol("sequence"), config.vocabulary)


# (dense, norm, bias of the decoder) of the masked-LM transforms.
_MLM_NAMES = {
    "bert": ("cls.predictions.transform.dense", "cls.predictions.transform.LayerNorm", "cls.predictions"),
    "roberta": ("lm_head.dense", "lm_head.layer_norm", "lm_head"),
    "distilbert": ("vocab_transform", "vocab_layer_norm", "vocab_projector"),
}


def _mlm_logits(e: Exporter, config: Config, x: str) -> str:
    """Logits [b, s, V]: dense, gelu, norm, and the word table as decoder."""
    dense, norm, bias = _MLM_NAMES[config.family.name]
    x = e.dense_activate(x, dense, config.hidden, config.hidden, "gelu")
    x = e.layer_norm(x, norm, config.hidden, config.family.eps)
    return e.tied_linear(x, "embeddings.word_embeddings.weight", config.vocabulary, config.hidden, bias)


# First dense layer of the classification head and its activation; the classifier itself follows.
_CLASSIFIER_NAMES = {
    "bert": ("pooler.dense", "Tanh", "classifier"),
    "roberta": ("classifier.dense", "Tanh", "classifier.out_proj"),
    "distilbert": ("pre_classifier", "Relu", "classifier"),
}


def _classification(e: Exporter, config: Config, x: str) -> None:
    dense, activation, classifier = _CLASSIFIER_NAMES[config.family.name]
    first = e.linear_2d(e.take(x, 0, axis=1), dense, config.hidden, config.hidden, activation)
    _output(e, e.linear_2d(first, classifier, config.hidden, config.labels), "logits", config.labels)


def _question_answering(e: Exporter, config: Config, x: str) -> None:
    both = e.linear(x, "qa_outputs", config.hidden, 2)
    for value, name in zip(e.split_last(both, (1, 1)), ("start_logits", "end_logits")):
        _output(e, e.squeeze(value, -1), name, e.symbol("sequence"))


def _pretraining(e: Exporter, config: Config, x: str) -> None:
    pooled = _pooled(e, config, x)
    relationship = e.linear_2d(pooled, "cls.seq_relationship", config.hidden, 2)
    _output(e, _mlm_logits(e, config, x), "prediction_logits", e.symbol("sequence"), config.vocabulary)
    _output(e, relationship, "seq_relationship_logits", 2)


def _embedding(e: Exporter, config: Config, x: str) -> None:
    """Sentence embedding [b, h]: mean over the attended tokens, then L2 norm 1 (sentence-transformers' 1_Pooling).

    The clamps are sentence-transformers' 1e-9 and torch.nn.functional.normalize's 1e-12; both vanish in fp16.
    """
    extents = Extents(e, "attention_mask")
    weights = e.expand(e.unsqueeze("attention_mask", -1), (extents.batch, extents.sequence, config.hidden))
    weights = e.to_compute_type(weights)
    total = e.reduce_sum(e.op("Mul", x, weights), axis=1)
    count = e.op("Clip", e.reduce_sum(weights, axis=1), e.scalar(1e-9))
    mean = e.op("Div", total, count)
    length = e.op("Clip", e.norm_last(mean), e.scalar(1e-12))
    normalised = e.op("Div", mean, e.op("Expand", length, e.op("Shape", mean)))
    _output(e, normalised, "embedding", config.hidden)


_HEADS = {
    "feature": _feature,
    "pooler": _pooler,
    "masked-lm": _masked_lm,
    "classification": _classification,
    "question-answering": _question_answering,
    "pretraining": _pretraining,
    "embedding": _embedding,
}
