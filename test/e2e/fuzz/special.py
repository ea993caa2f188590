"""Seed -> one pointwise or reducing operator on special values."""


def generate_special(seed: int):
    raise NotImplementedError
