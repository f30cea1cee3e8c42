"""Kobayashi, Schug et al.: when can transformers compositionally generalise in-context?  arXiv 2407.12275."""
