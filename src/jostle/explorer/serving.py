"""The application: its routes, and how it is served on this machine."""

from __future__ import annotations

import html
import socket
import tempfile
import threading
import webbrowser
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from jostle import learn, workloads
from jostle.choice.selectors import Selector
from jostle.explorer import classify, compare, release, why
from jostle.explorer.access import Access, Guard, TooLarge
from jostle.explorer.forms import Form
from jostle.explorer.jobs import BackgroundJob, Jobs, PageFragment, in_words
from jostle.explorer.pages import HERE, render
from jostle.explorer.shutdown import end, stopped_gently
from jostle.kernel.errors import BadInput, JostleError
from jostle.simulate.warm_up import prepare

MOST_FIELDS = 2000


LIKELY_CELLS = 256
"""The size of a first question, for which compiled loops are loaded early: fewer cells need no loops."""


class Explorer:
    """The state of one running explorer: its secrets, its jobs, the selectors, and the curator's desk."""

    def __init__(self, access: Access, selectors: Sequence[Path] = ()) -> None:
        self.access, self.jobs, self.desk = access, Jobs(), release.Desk()
        self.selectors: dict[str, Selector] = why.found(selectors)

    # ------------------------------------------------------------------------------------------------------ pages

    async def enter(self, request: Request) -> Response:
        """The page that asks for the token. The right token, or an unused link, lets a visitor in."""
        key, offered = request.query_params.get("once"), None
        if request.method == "POST":
            async with request.form(max_files=0, max_fields=5) as fields:
                offered = str(fields.get("token", ""))
        if self.access.takes(key) or self.access.has_token(offered):
            # A page and not a redirect: a browser that came from elsewhere would not send the new cookie along.
            return self.access.admit(HTMLResponse(render("entered.html", secret=self.access.secret)))
        if key is not None and self.access.is_visitor(request.cookies):
            return Response(status_code=303, headers={"location": "/"})
        wrong = "token" if offered is not None else "link" if key is not None else ""
        return HTMLResponse(render("enter.html", wrong=wrong), status_code=403 if wrong else 200)

    def page(self, name: str, facts: Callable[[], dict[str, Any]]) -> Callable[[Request], Response]:
        """A page of the navigation. Not a coroutine, so it is made outside the loop that serves the others."""

        def shown(request: Request) -> Response:
            if name == "classify":  # learners need scikit-learn, which is loaded while somebody fills in the form
                threading.Thread(target=learn.every, daemon=True).start()
            return HTMLResponse(render(f"{name}.html", here=name, **facts()))

        return shown

    # ------------------------------------------------------------------------------------------------------- work

    def route(self, path: str, handle: Callable[[Form], Any]) -> Route:
        """A route that hands a form to `handle`, which starts a job or answers at once."""

        async def respond(request: Request) -> Response:
            async with request.form(max_files=3, max_fields=MOST_FIELDS, max_part_size=2**20) as fields:
                found: BackgroundJob | PageFragment = await handle(Form(fields))
            if isinstance(found, BackgroundJob):
                return JSONResponse({"job": found.key})
            return JSONResponse({"html": found.html, "figures": found.figures})

        return _post(path, respond)

    def job_route(self, path: str, title: str, prepare: Callable[[Form], Any]) -> Route:
        """A route that checks a form and starts a job."""

        async def begin(form: Form) -> BackgroundJob:
            return self.jobs.start(title, await prepare(form))

        return self.route(path, begin)

    async def job(self, request: Request) -> Response:
        return JSONResponse(self._job(request).to_json())

    async def cancel(self, request: Request) -> Response:
        self._job(request).cancel()
        return JSONResponse({"state": "cancelling"})

    def _job(self, request: Request) -> BackgroundJob:
        found = self.jobs.get(request.path_params["key"])
        if found is None:
            raise HTTPException(404, "This work is not known any more. Start it again.")
        return found

    def download(self, request: Request) -> Response:
        """A release as a file. Not a coroutine: errors may have to be simulated for it."""
        text, kind, name = self.desk.file(request.path_params["key"], request.path_params["kind"])
        held = {"content-disposition": f'attachment; filename="{name}"'}
        sent = None if request.method == "HEAD" else BackgroundTask(self.desk.sent, *request.path_params.values())
        return Response(text, media_type=kind, headers=held, background=sent)

    def page_facts(self) -> dict[str, Callable[[], dict[str, Any]]]:
        """What the form of each page offers. Nothing in it takes long to import: a page would wait for that."""
        return {
            "compare": lambda: compare.page_facts(self.selectors),
            "why": lambda: why.page_facts(self.selectors),
            "release": dict,
            "classify": classify.page_facts,
        }

    def routes(self) -> list[Route | Mount]:
        desk, train = self.desk, why.training(self.selectors)
        return [
            Route("/", self.page("home", dict)),
            Route("/enter", self.enter, methods=["GET", "POST"]),
            *(Route(f"/{name}", self.page(name, offers)) for name, offers in self.page_facts().items()),
            self.job_route("/compare/run", "comparing", lambda form: compare.prepare(form, self.selectors)),
            self.route("/why/look", lambda form: why.look(form, self.selectors)),
            self.job_route("/why/train", "training", train),
            self.route("/why/upload", lambda form: why.upload(form, self.selectors)),
            self.route("/release/current", desk.current),
            self.route("/release/columns", desk.columns),
            self.route("/release/open", desk.open),
            self.job_route("/release/preview", "previewing", desk.preview),
            self.route("/release/list", desk.list_question),
            self.route("/release/look", desk.look),
            self.route("/release/pay", lambda form: desk.pay(form, partial(self.jobs.start, "releasing"))),
            Route("/release/{key}.{kind}", self.download),
            self.job_route("/classify/run", "learning", classify.prepare),
            Route("/jobs/{key}", self.job),
            _post("/jobs/{key}/cancel", self.cancel),
            Route("/static/plotly.js", plotly_js),
            Mount("/static", StaticFiles(directory=HERE / "static")),
        ]


def _post(path: str, endpoint: Callable[[Request], Any]) -> Route:
    return Route(path, endpoint, methods=["POST"])


def plotly_js(request: Request) -> Response:
    """The script that ships inside the package plotly."""
    from plotly.offline import get_plotlyjs

    return Response(get_plotlyjs(), media_type="text/javascript", headers={"cache-control": "max-age=86400"})


def application(explorer: Explorer) -> Guard:
    """The explorer, with its checks around it."""
    handlers = {JostleError: _refused, TooLarge: _too_large, HTTPException: _unknown, Exception: _unforeseen}
    return Guard(Starlette(routes=explorer.routes(), exception_handlers=handlers), explorer.access)


async def _refused(request: Request, error: Exception) -> Response:
    field = error.argument if isinstance(error, BadInput) else ""
    words = f"{error.problem}. {error.remedy[:1].upper()}{error.remedy[1:]}." if isinstance(error, BadInput) else str(error)
    return JSONResponse({"error": words[:1].upper() + words[1:], "field": field}, status_code=422)


async def _too_large(request: Request, error: Exception) -> Response:
    return JSONResponse({"error": "This is too large. Send a smaller file.", "field": ""}, status_code=413)


async def _unknown(request: Request, error: Exception) -> Response:
    status, words = (error.status_code, error.detail) if isinstance(error, HTTPException) else (404, "")
    return _message(request, status, words)


async def _unforeseen(request: Request, error: Exception) -> Response:
    return _message(request, 500, in_words(error))


def _message(request: Request, status: int, words: str) -> Response:
    """A page for a person who follows a link, a message for a page's script."""
    if request.method == "GET" and "text/html" in request.headers.get("accept", ""):
        return HTMLResponse(render("missing.html", message=words), status_code=status)
    return JSONResponse({"error": words, "field": ""}, status_code=status)


# ------------------------------------------------------------------------------------------------------------ serving


def serve(
    *,
    host: str,
    port: int,
    browser: bool,
    selectors: Sequence[Path],
    say: Callable[..., None],
    started: Callable[[Access], None] | None = None,
) -> None:
    """Serve until interrupted, and announce the address once the port is bound; `say` takes a text, and perhaps a style.

    With `started`, the address and the token are passed to it instead.
    """
    listening, here = _bound(host, port), Path.cwd()
    access = Access(host=host, port=listening.getsockname()[1])
    explorer = Explorer(access, selectors)
    if started is None:
        say(f"The explorer is at  {access.link()}")
        say(f"This link works once. In another browser, open {access.address} and type the token  {access.token}")
    else:
        started(access)
    say("Whoever has one of them can read your files and spend your budget. Stop it with Ctrl+C.")
    if host not in ("127.0.0.1", "localhost", "::1"):
        say("It can be reached from other machines, and what is sent is not encrypted.", "bold red")
    # Access lines would repeat the key of the link, which is in the first address.
    quiet: Any = {"log_level": "warning", "access_log": False, "server_header": False}
    folder = tempfile.TemporaryDirectory()
    opening = threading.Timer(0.5, _open_browser, [access, Path(folder.name)])
    server = uvicorn.Server(uvicorn.Config(application(explorer), lifespan="off", timeout_graceful_shutdown=2, **quiet))
    with stopped_gently(server), listening, folder:
        if browser:
            opening.start()
        for asked in (workloads.identity(LIKELY_CELLS), workloads.prefix(LIKELY_CELLS)):
            prepare(asked, "Pythia")  # loops are compiled, or loaded, while somebody fills in a first form
        try:
            server.run(sockets=[listening])
        finally:
            opening.cancel()
            end(explorer.jobs, explorer.desk, here, say)


def _open_browser(access: Access, folder: Path) -> None:
    """Open the link through a file that nobody else may read: everybody on a machine sees a program's arguments."""
    page = folder / "explorer.html"
    page.write_text(f'<!doctype html><meta http-equiv="refresh" content="0; url={html.escape(access.link())}">', "utf-8")
    webbrowser.open(page.as_uri())


def _bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(128)  # a browser that is quick waits, and is not turned away
    except OSError as error:
        listening.close()
        problem = f"{host}:{port} cannot be bound ({error.strerror or type(error).__name__})"
        raise BadInput("port", problem, "name another port, or leave it out for a free one") from None
    return listening
