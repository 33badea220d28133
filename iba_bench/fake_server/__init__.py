"""A fake OpenAI-compatible server for tests, demos and benchmarks: answers addressed by content, faults drawn by seed."""

from iba_bench.fake_server.answers import Answer, Answerer, FunctionCall, ScriptedAnswerer, TextAnswerer, body_digest
from iba_bench.fake_server.config import ServerConfig
from iba_bench.fake_server.faults import KINDS, Fault, FaultKind
from iba_bench.fake_server.schemas import UnsupportedSchema
from iba_bench.fake_server.server import FakeServer, running

__all__ = [
    "KINDS", "Answer", "Answerer", "FakeServer", "Fault", "FaultKind", "FunctionCall", "ScriptedAnswerer", "ServerConfig", "TextAnswerer",
    "UnsupportedSchema", "body_digest", "running",
]  # fmt: skip
