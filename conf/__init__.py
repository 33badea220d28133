"""Hydra config groups; a package, so that a console script finds them."""
