"""Replays on labeled pools: how often a promise is broken, and what it costs in labels."""
