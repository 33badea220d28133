"""Model calls: what is asked and answered, the record, budget and pace, and the clients that agents hold. See ``docs/decisions/0007-model-calls.md``."""
