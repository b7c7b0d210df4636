"""Requests that only an attacker or a broken program would send."""

import logging
from urllib.parse import unquote

import pytest
from addresses import GET, POST

PORT = 50505
COOKIE = f"tagloom_{PORT}"
SECRET = b"a secret that lies outside"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
ONE = {"decisions": [{"i": 0, "t": 0, "verdict": "accept"}]}


@pytest.fixture
def review(untouched):
    return untouched.review


@pytest.fixture
def page(untouched):
    return untouched.page


@pytest.fixture
def stranger(untouched):
    return untouched.stranger


@pytest.fixture(autouse=True)
def secret(untouched):
    """A file beside the pictures that nobody may read."""
    (untouched.home / "secret.jpg").write_bytes(SECRET)


@pytest.fixture(autouse=True)
def quiet_log(caplog):
    """Nothing may fail inside: a failure is answered cleanly, but it is one."""
    caplog.set_level(logging.INFO)
    yield
    assert [record.getMessage() for record in caplog.records if record.name != "asyncio"] == []


def refused(answer, *statuses):
    assert answer.status in statuses or (not statuses and 400 <= answer.status < 500)
    assert b"Traceback" not in answer.content
    assert b'File "' not in answer.content
    assert SECRET not in answer.content
    assert answer.headers["content-security-policy"] == POLICY
    assert answer.headers["x-content-type-options"] == "nosniff"
    return answer


@pytest.mark.parametrize("path", GET)
@pytest.mark.parametrize(
    "cookie", [None, f"{COOKIE}=wrong", f"{COOKIE}=", "tagloom_1=a-token-of-the-tests", '"\\;;=;']
)
def test_without_the_key_nothing_is_shown(stranger, path, cookie):
    answer = refused(stranger.ask("GET", path, headers={"Cookie": cookie}), 403)
    assert "Open the link that `tagloom review` printed" in answer.text.replace("&#x27;", "'")
    assert ("application/json" in answer.headers["content-type"]) == path.startswith("/api/")


@pytest.mark.parametrize("path", POST)
def test_without_the_key_nothing_is_changed(stranger, path, review):
    refused(stranger.post(path, ONE), 403)
    assert review.version == 0


def test_the_key_in_the_link_becomes_a_cookie_that_scripts_cannot_read(stranger):
    answer = stranger.get("/?token=a-token-of-the-tests")
    assert answer.status == 303
    assert answer.headers["location"] == "/"
    words = {part.strip().lower() for part in answer.headers["set-cookie"].split(";")}
    assert words == {f"{COOKIE}=a-token-of-the-tests", "httponly", "samesite=strict", "path=/"}


@pytest.mark.parametrize(
    "query",
    [
        "token=",
        "token=wrong",
        "token=a-token-of-the-tests%00",
        "token=%ff",
        "&".join(["token=x"] * 40),
    ],
)
def test_a_wrong_key_is_refused(stranger, query):
    refused(stranger.get(f"/?{query}"), 403)


def test_after_a_link_on_another_page_we_redirect_so_that_the_strict_cookie_is_sent(
    stranger,
):
    answer = stranger.ask(
        "GET", "/", query="token=a-token-of-the-tests", headers={"Sec-Fetch-Site": "cross-site"}
    )
    assert answer.status == 200
    assert 'content="0;url=/"' in answer.text
    assert "a-token-of-the-tests" in answer.headers["set-cookie"]
    assert "a-token-of-the-tests" not in answer.text


@pytest.mark.parametrize(
    "others",
    [
        '_xsrf=2|ab|"; {0}',
        "bad[]name={{1: 2}}; {0}; c=d",
        f"{COOKIE}=not ours; {{0}}",
        "\xe9=\x01;{0}",
    ],
)
def test_cookies_of_other_programs_do_not_hide_ours(stranger, others):
    cookie = others.format(f"{COOKIE}=a-token-of-the-tests")
    assert stranger.ask("GET", "/api/tags", headers={"Cookie": cookie}).status == 200


def test_the_key_opens_nothing_but_the_first_page(stranger):
    refused(stranger.get("/api/collection?token=a-token-of-the-tests"), 403)
    refused(stranger.ask("POST", "/", query="token=a-token-of-the-tests"), 403)


@pytest.mark.parametrize(
    "host",
    [
        None,
        "",
        "127.0.0.1",
        "127.0.0.1:1",
        f"evil.example:{PORT}",
        f"127.0.0.1:{PORT}.evil.example",
        f"127.0.0.1:{PORT}@evil.example",
        f"[::1]:{PORT}",
        f"0.0.0.0:{PORT}",
        "127.0.0.1:\xb2",
    ],
)
def test_another_host_is_refused(page, host):
    for path in GET:
        refused(page.ask("GET", path, headers={"Host": host}), 421)
    refused(page.post("/api/decide", ONE, Host=host), 421)
    refused(page.ask("GET", "/", query="token=a-token-of-the-tests", headers={"Host": host}), 421)


def test_localhost_is_this_machine_as_well(page):
    assert page.ask("GET", "/api/tags", headers={"Host": f"localhost:{PORT}"}).status == 200


@pytest.mark.parametrize("path", POST)
@pytest.mark.parametrize(
    "origin",
    [
        "null",
        "http://evil.example",
        f"https://127.0.0.1:{PORT}",
        "http://127.0.0.1:1",
        "",
        "file://",
    ],
)
def test_other_origins_change_nothing(page, path, origin, review):
    refused(page.post(path, ONE, Origin=origin), 403)
    assert review.version == 0


@pytest.mark.parametrize("path", POST)
def test_changes_need_the_header_and_the_content_type(page, path, review):
    refused(page.post(path, ONE, **{"X-Tagloom": None}), 403)
    refused(page.post(path, ONE, **{"X-Tagloom": "2"}), 403)
    for kind in (None, "", "text/plain", "application/x-www-form-urlencoded", "application/jsonx"):
        refused(page.post(path, ONE, **{"Content-Type": kind}), 415)
    assert review.version == 0


@pytest.mark.parametrize("site", ["cross-site", "same-site", "nonsense"])
def test_other_sites_cannot_even_read(page, site):
    for path in GET:
        refused(page.ask("GET", path, headers={"Sec-Fetch-Site": site}), 403)


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "X\t"])
def test_other_methods_are_refused(page, method):
    headers = {"Content-Type": "application/json", "X-Tagloom": "1"}
    for path in GET + POST:
        refused(page.ask(method, path, headers=headers), 405)


def test_addresses_allow_reading_or_writing_only(page):
    for path in set(GET) - set(POST):
        refused(page.post(path, ONE), 405)
    for path in set(POST) - set(GET):
        refused(page.get(path), 405)


UP = [
    "../secret.jpg",
    "..%2fsecret.jpg",
    "%2e%2e/secret.jpg",
    "%2e%2e%2fsecret.jpg",
    "..%252fsecret.jpg",
    "..\\secret.jpg",
    "..%5csecret.jpg",
    "..%c0%afsecret.jpg",
    "..%ef%bc%8fsecret.jpg",
    "....//secret.jpg",
    "./../secret.jpg",
    "/etc/passwd",
    "//etc/passwd",
    "%00",
    "0/../../secret.jpg",
    "0%00.jpg",
    "0;/../secret.jpg",
    "C:\\secret.jpg",
    "file:///etc/passwd",
    "-1",
    "+1",
    " 1",
    "1.0",
    "1e1",
    "0x1",
    "\u0661",
    "48",
    "9" * 10,
    "9" * 6000,
    "",
]


@pytest.mark.parametrize("up", UP)
@pytest.mark.parametrize(
    "place", ["/thumb/", "/picture/", "/static/", "/api/pictures/", "/api/tags/"]
)
def test_no_path_leads_out_of_the_collection(page, place, up):
    if place == "/api/tags/" and up in ("48", ""):
        return
    for path in (place + up, place + unquote(up), place + unquote(unquote(up))):
        answer = refused(page.ask("GET", path, raw_path=b"/x"), 404)
        assert b"root:" not in answer.content


@pytest.mark.parametrize(
    "address",
    [
        "/api/pictures?limit=2001",
        "/api/pictures?limit=-1",
        "/api/pictures?limit=1e3",
        "/api/pictures?offset=99999999999999999999",
        "/api/pictures?offset=x",
        "/api/pictures?state=%00",
        "/api/pictures?sort=name;drop",
        "/api/pictures?tag=-1",
        "/api/pictures?tag=sky",
        "/api/pictures?q=" + "x" * 501,
        "/api/tags?sort=x",
        "/api/tags/0?least=nan",
        "/api/tags/0?least=-0.1",
        "/api/tags/0?least=1.1",
        "/api/tags/0?least=1e-1",
        "/api/tags/0?state=known",
        "/api/why",
        "/api/why?i=0",
        "/api/why?i=0&t=99999",
        "/api/changes?since=-1",
        "/api/changes?since=1" + "0" * 20,
        "/api/changes?tags=x",
        "/thumb/0?size=161",
        "/thumb/0?size=99999999",
        "/thumb/0?size=",
        "/nothing",
        "/api/nothing",
        "/api/collection/",
        "/API/collection",
    ],
)
def test_invalid_parameters_get_a_reason(page, address):
    answer = refused(page.get(address))
    assert len(answer.text) > 30
