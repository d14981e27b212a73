"""The only folder that imports ray: trainable, searcher, placement, tuner."""
