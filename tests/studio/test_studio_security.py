"""Who may talk to the studio: its own page with its token, and nobody else."""

from __future__ import annotations

import re
import shutil
import ssl
import subprocess
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from cepheus.core.errors import OptionError
from cepheus.studio.opening import open_browser
from cepheus.studio.security import KEY_SECONDS, MOST_SENT, Access, OpeningKeys
from cepheus.studio.server import Studio
from cepheus.studio.workspace import Workspace


@pytest.fixture
def studio(start_studio: Callable[..., Studio], tmp_path: Path) -> Studio:
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside" / "fire.tesla").write_text("define Fire() from Smoke()")
    (tmp_path / "inside" / "events.jsonl").write_text('{"type": "Smoke", "time": 1}\n')
    (tmp_path / "outside.jsonl").write_text('{"type": "Secret", "time": 1}\n')
    (tmp_path / "inside" / "link.jsonl").symlink_to(tmp_path / "outside.jsonl")
    return start_studio(Workspace.of([tmp_path / "inside" / "fire.tesla"]))


def post(studio: Studio, path: str, body: object, **headers: str) -> httpx.Response:
    given = {"authorization": f"Bearer {studio.access.token}", **headers}
    return httpx.post(f"{studio.access.origin}{path}", json=body, headers=given)


def test_without_the_token_nothing_is_told(studio: Studio) -> None:
    assert httpx.get(f"{studio.access.origin}/api/state").status_code == 403
    assert httpx.get(f"{studio.access.origin}/static/app.js").status_code == 403
    assert httpx.get(f"{studio.access.origin}/?token=wrong").status_code == 403


def test_the_printed_address_opens_it_and_leaves_the_address_bar(studio: Studio) -> None:
    with httpx.Client() as client:
        opened = client.get(studio.access.address)
        assert (opened.status_code, opened.headers["location"]) == (303, "/")
        cookie = opened.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=Strict" in cookie
        assert client.get(f"{studio.access.origin}/").status_code == 200


def test_a_key_opens_it_once_and_not_for_long(studio: Studio) -> None:
    address = studio.address_once()
    assert studio.access.token not in address
    with httpx.Client() as client:
        opened = client.get(address, headers={"sec-fetch-site": "cross-site"})  # from the file that leads there
        assert opened.status_code == 200
        assert "SameSite=Strict" in opened.headers["set-cookie"]
        assert "<script" not in opened.text
        assert client.get(f"{studio.access.origin}/").status_code == 200
    assert httpx.get(address).status_code == 403
    now = [0.0]
    keys = OpeningKeys(lambda: now[0])
    early, late = keys.make(), keys.make()
    assert keys.take(early)
    now[0] = KEY_SECONDS + 1
    assert not keys.take(late)
    assert not keys.take("")


def test_the_browser_is_given_a_private_file_and_no_token(studio: Studio) -> None:
    given: list[str] = []
    file = open_browser(studio.address_once(), lambda address: bool(given.append(address)))  # type: ignore[func-returns-value]
    try:
        assert given == [file.as_uri()]
        assert file.stat().st_mode & 0o077 == 0
        assert file.parent.stat().st_mode & 0o077 == 0
        text = file.read_text()
        assert studio.access.token not in text
        address = re.search(r'url=([^"]+)"', text)
        assert address is not None
        assert httpx.get(address[1]).status_code == 200
    finally:
        shutil.rmtree(file.parent)


def test_another_name_of_this_machine_is_refused(studio: Studio) -> None:
    refused = post(studio, "/api/analyse", {"text": ""}, host="evil.example:80")
    assert refused.status_code == 403
    assert "not a name" in refused.text


@pytest.mark.parametrize(
    "headers", [{"origin": "http://evil.example"}, {"sec-fetch-site": "cross-site"}, {"origin": "null"}]
)
def test_requests_of_other_sites_are_refused(studio: Studio, headers: dict[str, str]) -> None:
    assert post(studio, "/api/analyse", {"text": ""}, **headers).status_code == 403
    assert post(studio, "/api/analyse", {"text": ""}, origin=studio.access.origin).status_code == 200


def test_what_a_form_could_send_is_refused(studio: Studio) -> None:
    headers = {"authorization": f"Bearer {studio.access.token}", "content-type": "text/plain"}
    refused = httpx.post(f"{studio.access.origin}/api/analyse", content='{"text": ""}', headers=headers)
    assert refused.status_code == 403


def test_every_answer_forbids_foreign_scripts(studio: Studio) -> None:
    for path in ("/", "/api/state", "/static/app.js", "/api/none"):
        found = httpx.get(f"{studio.access.origin}{path}", headers={"authorization": f"Bearer {studio.access.token}"})
        policy = found.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "unsafe" not in policy
        assert found.headers["x-content-type-options"] == "nosniff"
        assert found.headers["x-frame-options"] == "DENY"


def test_the_page_has_no_inline_script(studio: Studio) -> None:
    page = httpx.get(f"{studio.access.origin}/", headers={"authorization": f"Bearer {studio.access.token}"}).text
    assert "<script>" not in page
    assert "onclick" not in page


@pytest.mark.parametrize("path", ["../outside.jsonl", "link.jsonl", "/etc/passwd", "none.jsonl", "inside/../../x"])
def test_no_file_outside_the_folders_is_read(studio: Studio, tmp_path: Path, path: str) -> None:
    for given in (path, str(tmp_path / path)):
        refused = post(studio, "/api/open", {"path": given})
        assert refused.status_code == 422
        assert "Secret" not in refused.text


def test_a_file_inside_is_read(studio: Studio) -> None:
    assert post(studio, "/api/open", {"path": "events.jsonl"}).json()["count"] == 1


def test_static_files_end_at_their_folder(studio: Studio) -> None:
    headers = {"authorization": f"Bearer {studio.access.token}"}
    for path in ("/static/../server.py", "/static/%2e%2e/server.py", "/static/..%2fserver.py"):
        assert httpx.get(f"{studio.access.origin}{path}", headers=headers).status_code in (403, 404)


def test_a_rule_text_is_never_the_name_of_a_file(studio: Studio, tmp_path: Path) -> None:
    told = post(studio, "/api/draw", {"text": str(tmp_path / "inside" / "fire.tesla")})
    assert told.status_code == 422
    assert told.json()["diagnostics"][0]["code"] == "syntax"


def test_only_files_that_were_given_are_written(studio: Studio, tmp_path: Path) -> None:
    saved = post(studio, "/api/save", {"name": "fire.tesla", "text": "define A() from B()"})
    assert saved.status_code == 200
    assert (tmp_path / "inside" / "fire.tesla").read_text() == "define A() from B()"
    assert post(studio, "/api/save", {"name": "../new.tesla", "text": ""}).status_code == 422
    assert not (tmp_path / "new.tesla").exists()


def test_requests_have_a_limit(studio: Studio) -> None:
    refused = post(studio, "/api/analyse", {"text": "x" * (MOST_SENT + 10)})
    assert refused.status_code == 413


def test_bad_requests_get_words_and_no_class_names(studio: Studio) -> None:
    refused = post(studio, "/api/run", {"text": "define Fire( from"})
    assert refused.status_code == 422
    assert "Error" not in refused.text
    assert "Traceback" not in refused.text


def _certificate(folder: Path) -> tuple[str, str]:
    certificate, key = str(folder / "cert.pem"), str(folder / "key.pem")
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1 -subj /CN=studio.test"
    names = ["-addext", "subjectAltName=DNS:studio.test,IP:127.0.0.1", "-keyout", key, "-out", certificate]
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl to make a certificate")
    subprocess.run([*command.split(), *names], capture_output=True, check=True)
    return certificate, key


def test_elsewhere_it_speaks_tls_under_the_names_that_it_was_given(
    start_studio: Callable[..., Studio], tmp_path: Path
) -> None:
    certificate, key = _certificate(tmp_path)
    access = Access("0.0.0.0", certificate=certificate, key=key, known_as=("studio.test",))
    studio = start_studio(Workspace.of([]), access)
    port = studio.access.port
    assert studio.access.address.startswith(f"https://studio.test:{port}/?token=")
    trusted = ssl.create_default_context(cafile=certificate)
    with httpx.Client(verify=trusted) as client:
        name = {"host": f"studio.test:{port}"}
        there = f"https://127.0.0.1:{port}"
        assert client.get(f"{there}/", headers=name).status_code == 403
        opened = client.get(f"{there}/?token={studio.access.token}", headers=name)
        assert "Secure" in opened.headers["set-cookie"]
        bearer = {**name, "authorization": f"Bearer {studio.access.token}"}
        assert client.get(f"{there}/api/state", headers=bearer).status_code == 200
        assert client.get(f"{there}/api/state", headers={**bearer, "host": f"evil.test:{port}"}).status_code == 403
    with pytest.raises(httpx.HTTPError):
        httpx.get(f"http://127.0.0.1:{port}/")
    with pytest.raises(OptionError, match="no name by which"):
        Access("0.0.0.0", certificate=certificate, key=key)


def test_other_machines_need_tls() -> None:
    with pytest.raises(OptionError, match="without TLS"):
        Access("0.0.0.0", 80)
    with pytest.raises(OptionError, match="too short"):
        Access(token="short")
    assert Access("localhost").is_loopback
    assert not Access("example.org", certificate="c.pem", key="k.pem").is_loopback
