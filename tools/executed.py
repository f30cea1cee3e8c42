"""When a notebook was executed and how long that took: a record in its metadata, good for code and outputs of that run."""

import json
from datetime import UTC, datetime
from hashlib import sha256

RECORD = "executed"


def digest(notebook):
    """What tells a notebook's code and outputs from others; the first code cell, in which an address is stamped, is left out."""
    _, *cells = [cell for cell in notebook.cells if cell.cell_type == "code"] or [None]
    held = [(cell.source, cell.get("outputs", [])) for cell in cells]
    return sha256(json.dumps(held, sort_keys=True).encode()).hexdigest()[:16]


def recorded(notebook):
    """The notebook's record, or None where there is none of its code and outputs as they stand."""
    record = notebook.metadata.get(RECORD)
    return record if record and record["held"] == digest(notebook) else None


def record(notebook, seconds, before=None):
    """Write the record of an execution that has just ended; one that gave what stood there `before` leaves that one's."""
    made = {"date": datetime.now(UTC).date().isoformat(), "seconds": round(seconds), "held": digest(notebook)}
    old = before and recorded(before)
    notebook.metadata[RECORD] = old if old and old["held"] == made["held"] else made
