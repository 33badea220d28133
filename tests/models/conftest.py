"""What several test files need: virtual time, and servers on a free port."""

import asyncio
import json
import selectors

import pytest
from aiohttp import web

from iba_bench.models.http import HttpTransport
from iba_bench.models.reply import CallFailed, Reply
from iba_bench.models.request import Request

ASK = Request("openai_compatible", "", "tiny", ({"role": "user", "content": "Hello there"},), {"max_tokens": 9})


class VirtualTime(selectors.DefaultSelector):
    """A selector that does not sleep but moves its clock on."""

    now = 0.0

    def select(self, timeout=None):
        ready = super().select(0)
        if not ready and timeout:
            self.now += timeout
        return ready


def run_virtually(main):
    """Run ``await main(clock)`` in virtual time."""
    selector = VirtualTime()
    loop = asyncio.SelectorEventLoop(selector)
    loop.time = lambda: selector.now
    try:
        return loop.run_until_complete(main(loop.time))
    finally:
        loop.close()


async def served(handler, use):
    """Serve ``handler`` at a free port and return ``await use(base_url)``."""
    app = web.Application(client_max_size=1 << 26)
    app.router.add_route("*", "/v1/chat/completions", handler)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        return await use(f"http://127.0.0.1:{runner.addresses[0][1]}/v1")
    finally:
        await runner.cleanup()


def page(body, status=200, headers=None, content_type="application/json"):
    """Return a handler that answers with ``body``, as JSON where it is no text."""
    text = body if isinstance(body, str) else json.dumps(body)

    async def handler(_):
        return web.Response(text=text, status=status, headers=headers, content_type=content_type)

    return handler


def ended(serve, answer, request=ASK, timeout=5.0, **options):
    """Return what a call ends with: the reply or the failure."""

    async def use(base_url):
        transport = HttpTransport(base_url, **options)
        try:
            return await transport.send(request, timeout)
        except CallFailed as failure:
            failure.message = failure.message.replace(base_url, "URL")
            return failure
        finally:
            await transport.close()

    return asyncio.run(serve(answer, use))


def told(end):
    """Return the reply, or the failure as (kind, message without address, status, retry_after)."""
    return end if isinstance(end, Reply) else (end.kind, end.message, end.status, end.retry_after)


@pytest.fixture
def virtually():
    return run_virtually


@pytest.fixture(name="served")
def served_fixture():
    return served


@pytest.fixture
def outcome():
    """Call a server: ``outcome(serve, answer, request, timeout, **options of the transport)``."""
    return lambda *args, **options: told(ended(*args, **options))


@pytest.fixture
def answered():
    """Call a server that answers with ``body``, and tell how that ended."""
    return lambda body, status=200, headers=None, content_type="application/json", sent=None, **options: told(
        ended(served, page(body, status, headers, content_type), headers=sent, **options)
    )


@pytest.fixture
def failed():
    """Call a server that answers with ``body``, and return the failure itself."""
    return lambda body, **options: ended(served, page(body), **options)
