"""The server: chat completions over HTTP on the loopback interface, with counters, queueing, latency and faults.

A request is refused for its own mistakes first, then counted by its digest, then meets its fault or its answer. Nothing is logged and nothing is kept but
counters and digests, so that thousands of requests in flight cost little.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any, Self

from aiohttp import web

from iba_bench.errors import UserError
from iba_bench.fake_server.answers import Answer, body_digest
from iba_bench.fake_server.config import ServerConfig, check
from iba_bench.fake_server.faults import AT_ONCE, KINDS, USABLE, Fault, applicable, draw, send, spoil
from iba_bench.fake_server.protocol import DEFAULT_MODEL, Refused, check_key, completion, decoded, json_object, model_list
from iba_bench.fake_server.schemas import UnsupportedSchema
from iba_bench.tokens import count

HOST = "127.0.0.1"
BACKLOG = 4096


class _Stats:
    """Counters; every request ends in exactly one of answered, spoiled, refused and abandoned."""

    def __init__(self) -> None:
        self.requests = self.answered = self.spoiled = self.refused = self.abandoned = 0
        self.in_flight = self.max_in_flight = self.repeats = self.answered_again = 0
        self.faults: dict[str, int] = dict.fromkeys(KINDS, 0)
        self.asked: dict[bytes, int] = {}
        self.answered_bodies: set[bytes] = set()

    def arrive(self) -> None:
        self.requests += 1
        self.in_flight += 1
        self.max_in_flight = max(self.max_in_flight, self.in_flight)

    def ask(self, digest: bytes) -> int:
        """Count one attempt of a body; return how many there were before."""
        before = self.asked.get(digest, 0)
        self.asked[digest] = before + 1
        self.repeats += digest in self.answered_bodies
        return before

    def end(self, digest: bytes, fault: Fault | None) -> None:
        if fault is None or fault.kind in USABLE:
            self.answered += 1
            self.answered_again += digest in self.answered_bodies
            self.answered_bodies.add(digest)
        else:
            self.spoiled += 1


class FakeServer:
    """An OpenAI-compatible endpoint: ``async with FakeServer(ServerConfig(...)) as server: server.base_url``.

    Args:
        config: How it behaves.
    """

    def __init__(self, config: ServerConfig) -> None:
        self.config = config
        self._share = config.share
        self._stats = _Stats()
        self._places = asyncio.Semaphore(config.capacity) if config.capacity else nullcontext()
        self._runner: web.AppRunner | None = None
        self._port = config.port

    @property
    def base_url(self) -> str:
        """The base URL that a client is given, ``/v1`` included; known once the server is started."""
        return f"http://{HOST}:{self._port}/v1"

    @property
    def share(self) -> float:
        """Share of attempts that meet a fault; may be set while the server runs (0: faults stop)."""
        return self._share

    @share.setter
    def share(self, value: float) -> None:
        check(0 <= value <= 1, "share", value, "give a share from 0 to 1")
        self._share = value

    def stats(self) -> dict[str, Any]:
        """Return the counters.

        ``requests`` is the sum of ``answered`` (a whole answer was sent, maybe in a dress that a fault gave it), ``spoiled`` (a fault left no answer),
        ``refused`` (the request was wrong in itself, or the answerer raised), ``abandoned`` (the client left first) and ``in_flight``. ``repeats`` are
        attempts of a body that had been answered already; ``answered_again`` are answers beyond the first to a body, also where both were in flight at
        once; ``faults`` counts by kind.
        """
        stats = self._stats
        return {
            "requests": stats.requests, "answered": stats.answered, "spoiled": stats.spoiled, "refused": stats.refused, "abandoned": stats.abandoned,
            "in_flight": stats.in_flight, "max_in_flight": stats.max_in_flight, "distinct": len(stats.asked), "repeats": stats.repeats,
            "answered_again": stats.answered_again, "faults": dict(stats.faults),
        }  # fmt: skip

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.stop()

    async def start(self) -> None:
        """Listen.

        Raises:
            UserError: The port is taken or may not be used.
        """
        if self.config.usage or self.config.context_window:
            count("")  # Loading the tables takes a third of a second, which would distort the latency of the first answer.
        app = web.Application(client_max_size=0)
        app.router.add_post("/v1/chat/completions", self._complete)
        app.router.add_get("/v1/models", self._list_models)
        app.router.add_get("/stats", self._show_stats)
        app.router.add_post("/faults", self._set_faults)
        # Cancelled handlers are how a client that left is noticed, also one that still queues.
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
        await runner.setup()
        try:
            await web.TCPSite(runner, HOST, self.config.port, backlog=BACKLOG).start()
        except OSError as error:
            await runner.cleanup()
            raise UserError(f"fake server: port: cannot listen on {HOST}:{self.config.port} ({error.strerror}); give another, or 0") from error
        self._runner, self._port = runner, runner.addresses[0][1]

    async def stop(self) -> None:
        """Close the port and all connections; does nothing where the server is not running."""
        runner, self._runner = self._runner, None
        if runner is not None:
            await runner.cleanup()

    async def _complete(self, request: web.Request) -> web.StreamResponse:
        self._stats.arrive()
        try:
            return await self._serve(request)
        except Refused as refused:
            self._stats.refused += 1
            return refused.response()
        except asyncio.CancelledError:
            self._stats.abandoned += 1
            raise
        except ConnectionError:
            self._stats.abandoned += 1
            return web.Response()
        finally:
            self._stats.in_flight -= 1

    async def _serve(self, request: web.Request) -> web.StreamResponse:
        config = self.config
        check_key(request.headers.get("Authorization"), config.api_key)
        body = decoded(await request.read(), config.models, config.context_window)
        answer = self._answer(body)
        digest = body_digest(body)
        kinds = applicable(config.kinds, body, answer) if self._share else ()
        fault = draw(config.seed, digest, self._stats.ask(digest), self._share, kinds)
        if fault is None or fault.kind not in AT_ONCE:
            async with self._places:
                await asyncio.sleep(config.delay(digest))
        response = await self._send(request, body, digest, answer, fault)
        self._stats.end(digest, fault)
        return response

    async def _send(self, request: web.Request, body: dict[str, Any], digest: bytes, answer: Answer, fault: Fault | None) -> web.StreamResponse:
        if fault is None:
            return web.Response(body=completion(body, digest, answer, self.config.usage), content_type="application/json")
        self._stats.faults[fault.kind] += 1
        whole = completion(body, digest, spoil(answer, fault), self.config.usage)
        return await send(request, fault, whole, self.config.retry_after, self.config.drip)

    def _answer(self, body: dict[str, Any]) -> Answer:
        try:
            return self.config.answerer.answer(body)
        except UnsupportedSchema as error:
            raise Refused(400, f"unsupported schema: {error}", "unsupported_schema") from error
        except Exception as error:
            raise Refused(500, f"the answerer raised {error!r}", "answerer_failed") from error

    async def _list_models(self, request: web.Request) -> web.Response:
        try:
            check_key(request.headers.get("Authorization"), self.config.api_key)
        except Refused as refused:
            return refused.response()
        return web.json_response(model_list(self.config.models or (DEFAULT_MODEL,)))

    async def _show_stats(self, request: web.Request) -> web.Response:
        return web.json_response(self.stats())

    async def _set_faults(self, request: web.Request) -> web.Response:
        try:
            wanted = json_object(await request.read())
            share = wanted.get("share")
            if list(wanted) != ["share"] or isinstance(share, bool) or not isinstance(share, int | float):
                raise Refused(400, 'the body must be {"share": number from 0 to 1}', "invalid_faults")
            self.share = share
        except UserError as error:
            return Refused(400, str(error), "invalid_faults").response()
        except Refused as refused:
            return refused.response()
        return web.json_response({"share": self.share})


@contextmanager
def running(config: ServerConfig) -> Iterator[FakeServer]:
    """Let a server run in a thread of its own, for synchronous code.

    The server listens once the block is entered and is gone once it is left.

    Raises:
        UserError: The port is taken or may not be used.
    """
    server, loop = FakeServer(config), asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="fake-server", daemon=True)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(server.start(), loop).result()
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(server.stop(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
