"""BERT-class encoders: BERT, MiniLM, DistilBERT, RoBERTa and the CLIP text encoder (see README.md)."""
