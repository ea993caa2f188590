"""The tokenizer of uncased BERT: basic tokenisation, then greedy WordPiece.

Rewritten from the description in google-research/bert `tokenization.py` (Apache-2.0); Unicode categories are Python's.
"""

import unicodedata
from pathlib import Path

import numpy as np

MAX_WORD_CHARACTERS = 100  # longer words become [UNK], as in the original (BertTokenizer's max_input_chars_per_word)

# Code points that BERT treats as Chinese characters, each its own word: the CJK Unified Ideographs blocks, but not
# Hangul, Hiragana or Katakana, which are written with spaces or handled as alphabets.
CJK_RANGES = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B820, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)


def _is_whitespace(char: str) -> bool:
    return char in " \t\n\r" or unicodedata.category(char) == "Zs"


def _is_dropped(char: str) -> bool:
    """NUL, the replacement character, and control or format characters other than white space."""
    return char in "\0\ufffd" or (unicodedata.category(char)[0] == "C" and not _is_whitespace(char))


def _is_cjk(char: str) -> bool:
    return any(first <= ord(char) <= last for first, last in CJK_RANGES)


def _is_punctuation(char: str) -> bool:
    """ASCII that is neither letter, digit nor space (also `$`, `^`, which Unicode calls symbols), and category P."""
    is_ascii_symbol = 33 <= ord(char) <= 126 and not char.isalnum()
    return is_ascii_symbol or unicodedata.category(char)[0] == "P"


def _strip_accents(text: str) -> str:
    return "".join(c for c in unicodedata.normalize("NFD", text) if unicodedata.category(c) != "Mn")


def _pad_with_spaces(text: str, needs_space) -> str:
    return "".join(f" {c} " if needs_space(c) else c for c in text)


def basic_tokens(text: str) -> list[str]:
    """Lower-case words without accents; every punctuation mark and CJK character is a word."""
    kept = (" " if _is_whitespace(c) else c for c in text if not _is_dropped(c))
    spaced = _pad_with_spaces("".join(kept), _is_cjk)
    # Character by character, as the tokenizers library does: str.lower() would turn a last sigma into its final form.
    lowered = "".join(c.lower() for c in spaced)
    return _pad_with_spaces(_strip_accents(lowered), _is_punctuation).split()


class WordPiece:
    """Tokenizer over a vocabulary file (one token a line; the line number is the id)."""

    def __init__(self, vocabulary: list[str]):
        self._id_of = {token: index for index, token in enumerate(vocabulary)}
        self.padding_id = self._id_of["[PAD]"]

    @classmethod
    def from_file(cls, path: Path) -> "WordPiece":
        return cls(Path(path).read_text(encoding="utf-8").splitlines())

    def _pieces(self, word: str) -> list[str]:
        """Longest match first from the left; continuation pieces carry `##`. One unknown piece spoils the word."""
        if len(word) > MAX_WORD_CHARACTERS:
            return ["[UNK]"]
        pieces, start = [], 0
        while start < len(word):
            prefix = "##" if start else ""
            ends = (e for e in range(len(word), start, -1) if prefix + word[start:e] in self._id_of)
            end = next(ends, None)
            if end is None:
                return ["[UNK]"]
            pieces.append(prefix + word[start:end])
            start = end
        return pieces

    def tokenize(self, text: str) -> list[str]:
        return [piece for word in basic_tokens(text) for piece in self._pieces(word)]

    def encode(self, text: str, max_length: int) -> list[int]:
        """[CLS] tokens [SEP] as ids, cut to `max_length`."""
        tokens = ["[CLS]", *self.tokenize(text)[: max_length - 2], "[SEP]"]
        return [self._id_of[token] for token in tokens]

    def encode_batch(self, texts: list[str], length: int) -> dict[str, np.ndarray]:
        """Model inputs, int64 [len(texts), length], padded on the right."""
        ids = np.full((len(texts), length), self.padding_id, np.int64)
        mask = np.zeros_like(ids)
        for row, text in enumerate(texts):
            encoded = self.encode(text, length)
            ids[row, : len(encoded)] = encoded
            mask[row, : len(encoded)] = 1
        return {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
