"""Real exports of tiny models, and the test that holds the generators against them (see README.md)."""
