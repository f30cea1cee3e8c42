"""The speed of a training step, side by side with TransformerLens: python tools/bench/training_speed.py [REPEATS [THREADS]]."""

import sys

from assign_add_lib.speed import main

if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
