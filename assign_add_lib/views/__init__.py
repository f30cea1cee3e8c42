"""What a reader sees and moves: figures, attention views and sliders."""
