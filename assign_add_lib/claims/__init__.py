"""What the study says of its network, put to the shipped runs: `evidence` measures, `study` claims."""
