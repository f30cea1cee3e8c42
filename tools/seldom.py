"""Let Python look for cycles seldom, here (as a pytest plugin) and in each kernel that is started from here (by PYTHONSTARTUP).

What PyTorch, pandas and Matplotlib define stays to the end; to look through it again and again is a quarter of their import.
"""

import gc
import os

gc.set_threshold(20_000, 50, 100)
os.environ["PYTHONSTARTUP"] = __file__

del gc, os  # a notebook finds no name that it has not imported itself
