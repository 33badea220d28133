"""The gates: every claim about an instance is derived again by an independent path."""

from simulator.gates.failure import Failure
from simulator.gates.run import NOISE_GATES, check_view

__all__ = ["NOISE_GATES", "Failure", "check_view"]
