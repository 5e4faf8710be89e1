"""The append-only, hash-chained log of everything that was decided and done."""
