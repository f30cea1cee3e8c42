"""What this book adds to Sphinx, in the order in which it is set up."""

import gc
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path += [folder for folder in (str(HERE), str(HERE.parent)) if folder not in sys.path]

# What Sphinx reads it keeps to the end; to look through it for cycles again and again is a third of a build.
gc.set_threshold(20_000, 50, 100)

EXTENSIONS = ("book_tidy", "mathematics", "live_network", "finish", "status")
EXTENSIONS += ("quiz_folds", "guess_first", "absent", "moved", "evidence", "module_api", "site_search")


def setup(app):
    """Set them all up."""
    for name in EXTENSIONS:
        app.setup_extension(name)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
