"""What the study says of its network, put to the shipped runs: `subjects` measures, `study` claims."""
