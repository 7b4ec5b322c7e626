"""What lets one test serve a blocking client and an asyncio one, of whatever package."""

import inspect


class Awaited:
    """An asyncio client behind blocking calls, so that one test serves both clients."""

    def __init__(self, loop, client):
        self._loop = loop
        self._client = client

    def __getattr__(self, name):
        method = getattr(self._client, name)

        def call(*arguments, **options):
            answer = method(*arguments, **options)
            assert inspect.isawaitable(answer)
            return self._loop.run_until_complete(answer)

        return call
