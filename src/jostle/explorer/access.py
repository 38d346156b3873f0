"""Who may talk to the explorer: whoever has the printed link or token, from one of the explorer's own pages.

Four checks stand before every page. The `Host` header must name this machine, so that a foreign name that resolves to it is
turned away. The visitor needs a cookie, which is given for the token, or for a link that works once: a link stays in the
browser's history, where it is worth nothing then. Everything but an empty page needs a second secret in a header, which no
foreign page can send or read. And no request is larger than an upload may be.

The second secret is not in any page, because a cookie is no secret on a machine with several users: browsers send it to
every port of a host, so that whoever serves something on another port of 127.0.0.1 may get to see it. What a script keeps
for an origin is kept for the port, too; so that is where the secret is.
"""

from __future__ import annotations

import hmac
import ipaddress
import re
import secrets
import socket
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST_REQUEST: Final = 8 * 2**20
"""In bytes: an upload and the form around it."""

HEADER: Final = "x-jostle-secret"
OPEN: Final = ("/enter", "/static/")
"""Open to visitors without a cookie: the page that asks for the token, and static files."""

BEHIND: Final = "/jobs/"
"""Only scripts request these. The browser itself opens pages and downloads, and sends no secret along."""

HOST: Final = re.compile(r"(\[[^\[\]]*\]|[^:\[\]]*)(?::(\d+))?")
"""A `Host` header: a name, or an IPv6 address in brackets, and perhaps a port."""

HTTP_PORT: Final = "80"
"""Browsers leave it out."""

PROTECTION: Final = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
        "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}
"""Nothing is loaded from elsewhere, and no other page may frame, read or open ours. Plotly sets styles of its own."""


def _secret() -> str:
    return secrets.token_urlsafe(24)


@dataclass(frozen=True, kw_only=True)
class Access:
    """The secrets of one run of the explorer, and the names that it answers to."""

    host: str = "127.0.0.1"
    port: int = 8000
    token: str = field(default_factory=_secret, repr=False)
    """Printed at start-up, to be typed."""

    session: str = field(default_factory=_secret, repr=False)
    """The cookie's value."""

    secret: str = field(default_factory=_secret, repr=False)
    """Sent along by the explorer's own scripts."""

    _links: set[str] = field(default_factory=set, repr=False)

    @property
    def cookie(self) -> str:
        """The cookie's name: cookies of one host are shared by all of its ports."""
        return f"jostle_{self.port}"

    @property
    def address(self) -> str:
        # A browser may take this name for ::1, where another user of the machine may listen.
        host = "127.0.0.1" if self.everywhere or self.host.lower() == "localhost" else self.host
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}/"

    @property
    def everywhere(self) -> bool:
        return self.host in ("0.0.0.0", "::")  # noqa: S104  # compared, not bound

    def knows(self, host: str) -> bool:
        """Whether a `Host` header means this server.

        >>> access = Access(port=8000)
        >>> access.knows("localhost:8000"), access.knows("evil.example:8000"), access.knows("localhost:9")
        (True, False, False)
        >>> Access(port=80).knows("localhost"), Access(port=80).knows("[::1]"), access.knows("localhost")
        (True, True, False)
        """
        found = HOST.fullmatch(host)
        if found is None or (found[2] or HTTP_PORT) != str(self.port):
            return False
        bare = found[1].strip("[]").lower()
        if bare in {"localhost", "127.0.0.1", "::1", self.host.lower()}:
            return True
        return self.everywhere and (bare == socket.gethostname().lower() or _is_address(bare))

    def link(self) -> str:
        """An address that lets a browser in, once.

        >>> access = Access(port=8000)
        >>> key = access.link().rpartition("=")[2]
        >>> access.takes(key), access.takes(key)
        (True, False)
        """
        key = _secret()
        self._links.add(key)
        return f"{self.address}enter?once={key}"

    def takes(self, key: str | None) -> bool:
        """Whether this is the key of a link that was not used yet. It is used now."""
        found = [one for one in self._links if _same(key, one)]
        self._links.difference_update(found)
        return bool(found)

    def has_token(self, offered: str | None) -> bool:
        """Whether this is the token; compared in constant time."""
        return _same(offered, self.token)

    def is_visitor(self, cookies: dict[str, str]) -> bool:
        return _same(cookies.get(self.cookie), self.session)

    def admit(self, response: Response) -> Response:
        response.set_cookie(self.cookie, self.session, httponly=True, samesite="strict", path="/")
        return response


class Guard:
    """The four checks, around an application."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self.app, self.access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        refused = self._refused(Request(scope))
        if refused is not None:
            await refused(scope, receive, _protected(send))
        else:
            # The page got the type of an unforeseen error. The server would also print its message, which may quote values.
            with suppress(Exception):
                await self.app(scope, _limited(receive), _protected(send))

    def _refused(self, request: Request) -> Response | None:
        headers, path = request.headers, str(request.scope["path"])  # the request's URL would have to be well formed
        if not self.access.knows(headers.get("host", "")):
            return _refusal(421, "This address is not the explorer's. Use the one that was printed at start-up.")
        if _length(headers) > LARGEST_REQUEST:
            return _refusal(413, f"This is larger than {LARGEST_REQUEST // 2**20} MB. Send a smaller file.")
        if path.startswith(OPEN):
            return None
        if not self.access.is_visitor(request.cookies):
            if request.method != "GET" or _wants_json(headers):
                return _refusal(401, "You are not signed in here. Open the address that was printed at start-up.")
            return Response(status_code=303, headers={"location": "/enter"})
        if request.method in ("GET", "HEAD") and not path.startswith(BEHIND):
            return None
        if not _same(headers.get(HEADER), self.access.secret) or not self._from_here(headers.get("origin")):
            return _refusal(403, "This did not come from a page of this explorer. Open the address that was printed again.")
        return None

    def _from_here(self, origin: str | None) -> bool:
        """Whether the request comes from one of our pages; programs other than browsers send no origin."""
        return origin is None or (origin.startswith("http://") and self.access.knows(origin.removeprefix("http://")))


class TooLarge(Exception):
    """A request that went on for too long."""


def _limited(receive: Receive) -> Receive:
    """The same request, until it is too large: the announced length may be missing or false."""
    seen = 0

    async def counted() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > LARGEST_REQUEST:
            raise TooLarge
        return message

    return counted


def _protected(send: Send) -> Send:
    async def guarded(message: Message) -> None:
        if message["type"] == "http.response.start":
            there = Headers(raw=message["headers"])
            added: Iterable[tuple[str, str]] = PROTECTION.items()
            if "cache-control" not in there:
                added = (*added, ("cache-control", "no-store"))
            message["headers"] = [*message["headers"], *((name.encode(), value.encode()) for name, value in added)]
        await send(message)

    return guarded


def _refusal(status: int, message: str) -> Response:
    return JSONResponse({"error": message}, status_code=status)


def _length(headers: Headers) -> int:
    length = headers.get("content-length", "0")
    return int(length) if length.isascii() and length.isdigit() and len(length) < 16 else LARGEST_REQUEST + 1


def _wants_json(headers: Headers) -> bool:
    return "application/json" in headers.get("accept", "")


def _same(offered: str | None, secret: str) -> bool:
    return offered is not None and hmac.compare_digest(offered.encode(), secret.encode())


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
