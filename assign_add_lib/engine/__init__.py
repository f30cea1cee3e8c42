"""The engine: what any system needs to be trained, kept, swept, shipped and judged.  Nothing here knows what is learned."""
