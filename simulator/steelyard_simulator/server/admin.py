"""GET and POST /admin/config: the faults and settings of fault.py, at run time."""

import orjson
from aiohttp import web

from steelyard_simulator.server.backend import BACKEND
from steelyard_simulator.server.error import BadRequest

PATH = "/admin/config"


async def show(request: web.Request) -> web.Response:
    """The state."""
    return _state(request)


async def change(request: web.Request) -> web.Response:
    """Changes the given fields, all or none; answers with the new state."""
    try:
        fields = orjson.loads(await request.read())
    except orjson.JSONDecodeError as error:
        raise BadRequest(f"the body is not JSON: {error}") from None
    if not isinstance(fields, dict):
        raise BadRequest('the body must be an object, such as {"error_rate": 0.1}')
    request.app[BACKEND].configure(fields)
    return _state(request)


def _state(request: web.Request) -> web.Response:
    body = request.app[BACKEND].faults.model_dump_json().encode()
    return web.Response(body=body, content_type="application/json")
