"""The gates: every claim about an instance is derived again by an independent path."""

from simulator.gates.failure import Failure
from simulator.gates.run import check_persona

__all__ = ["Failure", "check_persona"]
