"""Who it happens to: persona model, population, life events and the ledger."""
