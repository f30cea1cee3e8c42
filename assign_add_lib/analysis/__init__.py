"""Analyses of a trained network, one a module."""
