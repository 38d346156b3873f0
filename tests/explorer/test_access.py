"""Who gets in, over real connections to a real server."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import re
import signal
import socket
import subprocess
import time
from contextlib import contextmanager, nullcontext

import pytest

from tests.explorer.browsing import JOSTLE, PATIENCE, Running, started, stopped

if os.environ.get("JOSTLE_REQUIRE_ALL") != "1":
    pytest.importorskip("starlette", reason="the explorer is not installed: pip install 'jostle[explorer]'")

from jostle.explorer.access import Access, Guard


class Visitor:
    def __init__(self, explorer):
        self.explorer, self.port = explorer, int(explorer.address.rsplit(":", 1)[1].strip("/"))

    def ask(self, method, path, body=None, **headers):
        line = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        line.request(method, path, body=body, headers={"Host": f"127.0.0.1:{self.port}"} | named)
        answer = line.getresponse()
        answer.text = answer.read().decode()
        line.close()
        return answer

    def enter(self):
        entered = self.offer(self.explorer.token)
        assert entered.status == 200
        self.cookie = entered.headers["set-cookie"].split(";")[0]
        self.secret = re.search(r'name="secret" content="([^"]+)"', entered.text)[1]
        return self

    def offer(self, token):
        return self.ask("POST", "/enter", f"token={token}", Content_Type="application/x-www-form-urlencoded")

    def post(self, path, fields=None, **headers):
        parts = "".join(
            f'--b\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
            for name, value in (fields or {}).items()
        )
        kind = {"Content_Type": "multipart/form-data; boundary=b", "Cookie": self.cookie, "X_Jostle_Secret": self.secret}
        return self.ask("POST", path, f"{parts}--b--\r\n".encode(), **(kind | headers))

    def finished(self, path, fields):
        """What a job found, once it has ended."""
        job = json.loads(self.post(path, fields).text)["job"]
        while True:
            told = json.loads(self.ask("GET", f"/jobs/{job}", Cookie=self.cookie, X_Jostle_Secret=self.secret).text)
            if told["state"] in ("done", "failed", "cancelled"):
                return told
            time.sleep(0.05)


@pytest.fixture(scope="session")
def stranger(explorer):
    return Visitor(explorer)


@pytest.fixture(scope="session")
def visitor(explorer):
    return Visitor(explorer).enter()


def test_without_the_token_there_is_the_door_and_nothing_else(stranger):
    for path in ("/", "/compare", "/why", "/release", "/classify", "/jobs/x", "/release/x.csv"):
        answer = stranger.ask("GET", path)
        assert (answer.status, answer.headers["location"], answer.text) == (303, "/enter", "")
    assert stranger.ask("POST", "/compare/run").status == 401
    assert stranger.ask("GET", "/enter").status == 200
    for wrong, words in ((stranger.offer("guess"), "not the token"), (stranger.ask("GET", "/enter?once=guess"), "once")):
        assert wrong.status == 403
        assert "set-cookie" not in wrong.headers
        assert words in wrong.text


def test_a_link_lets_one_browser_in_and_then_nobody(stranger, explorer):
    path = "/" + explorer.link.removeprefix(explorer.address)
    assert explorer.token not in path
    first, second = stranger.ask("GET", path), stranger.ask("GET", path)
    assert (first.status, second.status) == (200, 403)
    assert "set-cookie" not in second.headers
    assert 'name="secret"' not in second.text
    again = stranger.ask("GET", path, Cookie=first.headers["set-cookie"].split(";")[0])
    assert (again.status, again.headers["location"]) == (303, "/")  # whoever is in already is not stopped


def test_a_cookie_that_another_port_saw_opens_empty_pages_and_nothing_else(visitor, explorer):
    for path in ("/compare", "/why", "/release", "/classify", "/enter"):
        page = visitor.ask("GET", path, Cookie=visitor.cookie)
        assert page.status == 200
        for secret in (visitor.secret, explorer.token, visitor.cookie.split("=")[1]):
            assert secret not in page.text
    assert visitor.ask("GET", "/jobs/x", Cookie=visitor.cookie).status == 403
    assert visitor.post("/release/current", X_Jostle_Secret="").status == 403


def test_a_page_of_another_origin_is_turned_away_even_with_the_secret(visitor):
    for origin in (
        "http://evil.example",
        "null",
        f"http://127.0.0.1:{visitor.port + 1}",
        f"https://127.0.0.1:{visitor.port}",
    ):
        assert visitor.post("/release/current", Origin=origin).status == 403
    assert visitor.post("/release/current", Origin=f"http://127.0.0.1:{visitor.port}").status == 200
    asked = {"Origin": "http://evil.example", "Access_Control_Request_Method": "POST", "Cookie": visitor.cookie}
    answer = visitor.ask("OPTIONS", "/release/pay", **asked)
    assert answer.status == 403
    assert not [name for name in answer.headers if name.lower().startswith("access-control")]


def test_the_cookie_is_out_of_reach_of_scripts_and_of_other_sites(stranger, explorer):
    cookie = stranger.offer(explorer.token).headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=strict" in cookie
    assert explorer.token.lower() not in cookie


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:{port}",
        "127.0.0.1",
        "127.0.0.1:1",
        "",
        "localhost.evil:{port}",
        "[::1",
        "[::1]]:{port}",
    ],
)
def test_a_foreign_host_is_turned_away_even_with_the_cookie(visitor, host):
    answer = visitor.ask("GET", "/compare", Host=host.format(port=visitor.port), Cookie=visitor.cookie)
    assert answer.status in (400, 421)
    assert "<html" not in answer.text


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "127.0.0.1:80", "[::1]:80", "LOCALHOST"])
def test_browsers_leave_the_usual_port_out(host):
    guard = Guard(None, Access(port=80))
    assert guard.access.knows(host)
    assert guard._from_here(f"http://{host}")
    assert not guard._from_here(f"https://{host}")
    assert Access(port=8000).knows(host) is False


@pytest.mark.parametrize(
    "host", ["", ":80", "evil.example", "127.0.0.1:8000", "[::1", "::1]", "[[::1]]", "::1", "[::1]x", "80"]
)
def test_the_usual_port_opens_to_no_other_host(host):
    assert not Access(port=80).knows(host)


def test_localhost_is_this_machine_too(visitor):
    assert visitor.ask("GET", "/compare", Host=f"localhost:{visitor.port}", Cookie=visitor.cookie).status == 200


@pytest.mark.parametrize(
    "path", ["/compare/run", "/why/train", "/release/open", "/release/pay", "/classify/run", "/jobs/x/cancel"]
)
def test_what_changes_anything_needs_the_second_secret(visitor, path):
    for wrong in ("", "guess", visitor.secret[:-1]):
        assert visitor.post(path, X_Jostle_Secret=wrong).status == 403


def test_every_answer_forbids_what_is_not_ours(visitor):
    for path in ("/compare", "/static/style.css", "/enter"):
        headers = visitor.ask("GET", path, Cookie=visitor.cookie).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["x-content-type-options"] == "nosniff"
    assert visitor.ask("GET", "/compare", Cookie=visitor.cookie).headers["cache-control"] == "no-store"


def test_a_request_that_is_too_large_is_refused_however_it_is_announced(visitor):
    announced = visitor.post("/compare/run", {"dataset": "x" * (9 * 2**20)})
    assert announced.status == 413
    line = http.client.HTTPConnection("127.0.0.1", visitor.port, timeout=PATIENCE)
    headers = {"Host": f"127.0.0.1:{visitor.port}", "Cookie": visitor.cookie, "X-Jostle-Secret": visitor.secret}
    headers["Content-Type"] = "multipart/form-data; boundary=b"
    piece = b"x" * 2**18
    start = b'--b\r\nContent-Disposition: form-data; name="upload"; filename="x"\r\n\r\n'
    try:
        line.request("POST", "/compare/run", body=iter([start, *[piece] * 40]), headers=headers, encode_chunked=True)
        assert line.getresponse().status == 413
    except (ConnectionResetError, BrokenPipeError):
        pass  # the server hung up in the middle, which is as good
    line.close()


@pytest.mark.parametrize(
    ("path", "fields", "field"),
    [
        ("/compare/run", {"epsilon": "-1"}, "epsilon"),
        ("/compare/run", {"epsilon": "nan"}, "epsilon"),
        ("/compare/run", {"dataset": "../../etc/passwd"}, "dataset"),
        ("/compare/run", {"workload": "mixed"}, "workload"),
        ("/compare/run", {"cells": "1e9"}, "cells"),
        ("/compare/run", {"dataset": "upload"}, "upload"),
        ("/why/upload", {}, "selector_file"),
        ("/release/open", {"data": "nowhere.csv"}, "schema"),
        ("/release/columns", {"data": "nowhere.csv"}, "heading"),
        ("/release/columns", {"data": "nowhere.csv", "heading": "none"}, "column_names"),
        ("/release/columns", {"data": "nowhere.csv", "heading": "names"}, "data"),
        ("/release/pay", {"question": "x"}, "question"),
        ("/release/preview", {"table_key": "x"}, "data"),
        ("/classify/run", {"epsilons": "lots"}, "epsilons"),
        ("/classify/run", {"epsilons": "1", "labelled": "upload"}, "upload"),
    ],
)
def test_what_is_wrong_is_said_at_its_field(visitor, path, fields, field):
    answer = visitor.post(path, fields)
    told = json.loads(answer.text)
    assert (answer.status, told["field"]) == (422, field)
    assert "Traceback" not in answer.text


def test_no_exception_reaches_the_server_which_would_log_it(caplog, capfd):
    """Its message may quote values. The page has had the type of it before."""

    async def unforeseen(scope, receive, send):
        raise RuntimeError("Ada Lovelace, 36")

    access = Access(host="127.0.0.1", port=80)
    headers = [(b"host", b"127.0.0.1"), (b"cookie", f"{access.cookie}={access.session}".encode())]
    scope = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": headers}
    asyncio.run(Guard(unforeseen, access)(scope, None, None))
    assert "Ada" not in caplog.text + "".join(capfd.readouterr())


def test_what_is_not_there_has_a_page_or_a_message(visitor):
    assert visitor.ask("GET", "/nowhere", Cookie=visitor.cookie).status == 404
    asked = {"Cookie": visitor.cookie, "X_Jostle_Secret": visitor.secret}
    assert "not known any more" in visitor.ask("GET", "/jobs/x", **asked).text
    page = visitor.ask("GET", "/release/x.csv", Cookie=visitor.cookie, Accept="text/html")
    assert page.status == 404
    assert "To the explorer" in page.text
    assert visitor.ask("GET", "/static/../pages.py", Cookie=visitor.cookie).status == 404


def test_a_port_that_is_taken_is_said_in_one_line(explorer, tmp_path):
    port = explorer.address.rsplit(":", 1)[1].strip("/")
    command = [*JOSTLE, "explore", "--no-browser", "--port", port]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False, timeout=PATIENCE)
    assert done.returncode == 2
    assert "port: 127.0.0.1" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_script_is_told_the_way_in_as_json(tmp_path):
    command = [*JOSTLE, "explore", "--no-browser", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    told = json.loads(process.stdout.readline())
    running = Running(**told, process=process)
    try:
        assert Visitor(running).enter().secret
        assert told["link"].startswith(f"{told['address']}enter?once=")
    finally:
        stopped(running)
    assert "spend your budget" in process.stderr.read()
    process.stderr.close()


@contextmanager
def endless_request(port):
    """One that the server waits for a while when it is stopped, so that another signal comes in between."""
    kind = "Content-Type: application/x-www-form-urlencoded\r\nContent-Length: 9\r\nExpect: 100-continue"
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as line:
        line.sendall(f"POST /enter HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{kind}\r\n\r\n".encode())
        assert b"100" in line.recv(100)  # it was begun
        yield


@pytest.mark.usefixtures("signals_are_heeded")
@pytest.mark.parametrize("signals", [("SIGTERM",), ("SIGINT", "SIGINT"), ("SIGHUP",)], ids="-".join)
def test_what_was_paid_for_is_saved_however_the_explorer_is_stopped(tmp_path, signals):
    (tmp_path / "people.csv").write_text("age\n" + "\n".join(str(n % 100) for n in range(300)))
    running = started(tmp_path)
    process = running.process
    try:
        visitor = Visitor(running).enter()
        schema = '[columns.age]\nkind = "integer"\nlow = 0\nhigh = 99'
        opened = visitor.post("/release/open", {"data": "people.csv", "ledger": "b.db", "budget": "1", "schema": schema})
        key = re.search(r'name="table_key" value="([^"]+)"', json.loads(opened.text)["html"])[1]
        for _ in range(2):
            shown = visitor.finished("/release/preview", {"table_key": key, "kind": "count", "epsilon": "0.25"})
            assert shown["state"] == "done", shown
            question = re.search(r'name="question" value="([^"]+)"', shown["html"])[1]
            assert visitor.finished("/release/pay", {"question": question})["state"] == "done"
            seen = visitor.ask("HEAD", f"/release/{question}.csv", Cookie=visitor.cookie)
            assert (seen.status, seen.text) == (200, "")  # nobody has the answers by that
        if signals == ("SIGHUP",):
            process.stdout.close()  # nobody can be told, as by a terminal that was closed
        with endless_request(visitor.port) if len(signals) > 1 else nullcontext():
            for name in signals:
                process.send_signal(getattr(signal, name))
                time.sleep(0.3)
            process.wait(timeout=PATIENCE)
        said = "" if process.stdout.closed else process.stdout.read()
    finally:
        process.kill()
        stopped(running)
    for name in ("count.csv", "count-2.csv"):
        assert (tmp_path / name).read_text().startswith("figure,count,low,high\ncount,")
        assert signals == ("SIGHUP",) or str(tmp_path / name) in said
    last = getattr(signal, signals[-1])
    assert process.returncode in (-last, 128 + last)


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST", "::"])
def test_the_link_names_the_address_that_is_bound(host):
    """A browser may look for localhost at ::1, where somebody else of the machine could wait for the key."""
    assert Access(host=host, port=8000).address == "http://127.0.0.1:8000/"


def test_the_link_is_handed_to_the_browser_in_a_file(tmp_path, monkeypatch):
    """Everybody on a machine sees what a browser is started with."""
    from jostle.explorer import serving

    opened = []
    monkeypatch.setattr(serving.webbrowser, "open", opened.append)
    access = serving.Access(port=1)
    serving._open_browser(access, tmp_path)
    assert opened == [(tmp_path / "explorer.html").as_uri()]
    key = re.search(r"url=http://127.0.0.1:1/enter\?once=([^\"]+)", (tmp_path / "explorer.html").read_text())[1]
    assert access.takes(key)
