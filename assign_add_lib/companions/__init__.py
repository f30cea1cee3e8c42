"""Companions: other small systems that learn parts and must compose them, one folder each."""
