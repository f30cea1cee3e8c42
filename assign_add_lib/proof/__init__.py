"""For all problems: search for the worst context of a question, changes that help, and bounds that hold whatever stands there."""
