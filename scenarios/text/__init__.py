"""The text half of the constraint language: what a text can be measured for."""

from scenarios.text.check import check, parse_spec
from scenarios.text.finding import Finding
from scenarios.text.spec import TextSpec

__all__ = ["Finding", "TextSpec", "check", "parse_spec"]
