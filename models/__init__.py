"""Seeded, torch-free generators of the models that the compiler is tested and measured with (see README.md)."""
