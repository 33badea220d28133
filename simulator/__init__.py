"""The factory: plan, converse, inject, compile, gate, release."""
