"""Exams made from a seed, with their marking key: `make exam SEED=7 CHAPTERS="1 5 7"`.

Numbers, problems and tables are drawn from the seed and every answer is computed from them, so a seed that nobody knows is an
exam that nobody has seen.
"""
