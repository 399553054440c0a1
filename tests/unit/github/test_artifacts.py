from __future__ import annotations

import io
import ssl
import stat
import struct
import threading
import tracemalloc
import zipfile
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
import trustme

from fakes_clock import FakeClock
from github_runs import Artifact, ArtifactHost, WorkflowRun, zipped
from on_github import REPOSITORY, api_of, github_with
from scripted_http import Reply, ScriptedServer, Silence
from skillgym_action.github.api import GitHubApi, GitHubError
from skillgym_action.github.artifacts import (
    ArchiveLimits,
    artifact_files,
    artifacts_of_run,
    files_of_archive,
    runs_of_branch,
)
from skillgym_action.system.cancellation import Cancellation
from skillgym_action.system.clock import Clock
from skillgym_action.system.network.proxies import network_from
from waiting import until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TOKEN = "token-of-the-job-in-tests"
PATH = "/repos/o/r/actions/artifacts/1/zip"
LIMITS = ArchiveLimits(zip_bytes=100_000, files=3, whole_bytes=1_000)
EVENTS = ("push", "schedule")


@pytest.fixture
def client() -> Iterator[Callable[..., GitHubApi]]:
    opened: list[GitHubApi] = []
    with closing(Cancellation()) as cancelled:

        def open_client(url: str, environment: dict[str, str] | None = None) -> GitHubApi:
            opened.append(GitHubApi(url=url, token=TOKEN, graphql_url=None, clock=FakeClock(), cancelled=cancelled))
            opened[-1].network = network_from(environment or {})
            return opened[-1]

        yield open_client
        for api in opened:
            api.close()


def refused(call: Callable[[], object]) -> str:
    with pytest.raises(GitHubError) as caught:
        call()
    assert "sig=" not in str(caught.value)
    return str(caught.value)


def to(address: str) -> Reply:
    return Reply(302, headers={"Location": address})


# --- downloads ------------------------------------------------------------------------------------------


def test_one_redirect_to_another_host_is_followed_without_the_token(client):
    with ScriptedServer(Reply(200, b"PK")) as other, ScriptedServer(to(f"{other.url}/file?sig=1")) as server:
        assert client(server.url).download(PATH, 100) == b"PK"
    assert (server.lines, other.lines) == ([f"GET {PATH}"], ["GET /file?sig=1"])
    assert server.requests[0].headers["authorization"] == f"Bearer {TOKEN}"
    assert "authorization" not in other.requests[0].headers


def test_a_second_redirect_is_not_followed(client):
    with (
        ScriptedServer(Reply(200, b"PK")) as third,
        ScriptedServer(to(third.url)) as other,
        ScriptedServer(to(f"{other.url}/file?sig=1")) as server,
    ):
        said = refused(lambda: client(server.url).download(PATH, 100))
    assert "127.0.0.1 redirects once more, which is not followed" in said
    assert (len(other.requests), third.requests) == (1, [])


def test_a_moved_repository_is_followed_on_the_same_host_first(client):
    with (
        ScriptedServer(Reply(200, b"PK")) as other,
        ScriptedServer(to("/repositories/7/zip"), to(f"{other.url}/file")) as server,
    ):
        assert client(server.url).download(PATH, 100) == b"PK"
    assert server.lines == [f"GET {PATH}", "GET /repositories/7/zip"]
    with ScriptedServer(*[to(PATH)] * 9) as server:
        assert "redirected more than 5 times" in refused(lambda: client(server.url).download(PATH, 100))
    assert len(server.requests) == 5


@pytest.fixture(scope="module")
def tls(tmp_path_factory) -> tuple[str, ssl.SSLContext]:
    """The certificate of an authority, and the server side of one that it vouches for."""
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    file = tmp_path_factory.mktemp("authority") / "ca.pem"
    authority.cert_pem.write_to_path(str(file))
    return str(file), context


def test_an_encrypted_api_never_leads_to_a_connection_that_is_not(client, tls):
    certificate, context = tls
    with (
        ScriptedServer(Reply(200, b"PK")) as plain,
        ScriptedServer(to(f"{plain.url}/file?sig=1"), tls=context) as server,
    ):
        api = client(server.url, {"REQUESTS_CA_BUNDLE": certificate})
        assert "127.0.0.1, which is not encrypted" in refused(lambda: api.download(PATH, 100))
    assert plain.requests == []
    with ScriptedServer(Reply(200, b"PK"), tls=context) as other, ScriptedServer(to(other.url), tls=context) as server:
        assert client(server.url, {"REQUESTS_CA_BUNDLE": certificate}).download(PATH, 100) == b"PK"


@pytest.mark.parametrize(
    "address", ["file:///etc/passwd", "http://[::1", "http://a:99999/", "http://a@127.0.0.1:9/", "//other/file"]
)
def test_what_is_no_address_of_a_file_is_not_asked_for(client, address):
    with ScriptedServer(to(address), otherwise=lambda _: to(address)) as server:
        said = refused(lambda: client(server.url).download(PATH, 100))
    assert "not the address of a file" in said or "points to another host" in said


def test_a_download_is_bounded_in_size_and_time(client, cancelled_with):
    with ScriptedServer(Reply(200, b"P" * 101)) as other, ScriptedServer(to(f"{other.url}/file?sig=1")) as server:
        assert "the answer is larger than" in refused(lambda: client(server.url).download(PATH, 100))
    with ScriptedServer(Silence()) as other, ScriptedServer(to(f"{other.url}/file?sig=1")) as server:
        api = cancelled_with(server.url, lambda: other.requests)
        assert "the run was cancelled" in refused(lambda: api.download(PATH, 100))


@pytest.fixture
def cancelled_with() -> Iterator[Callable[[str, Callable[[], object]], GitHubApi]]:
    """A client whose run is cancelled once the call returns something true."""
    with closing(Cancellation()) as cancelled:

        def open_client(url: str, when: Callable[[], object]) -> GitHubApi:
            threading.Thread(target=lambda: until(when, "a request") and cancelled.set()).start()
            return GitHubApi(url=url, token=TOKEN, graphql_url=None, clock=Clock(), cancelled=cancelled)

        yield open_client


def test_a_host_in_trouble_is_asked_again_with_a_new_address(client):
    with (
        ScriptedServer(Reply(503), Reply(200, b"PK")) as other,
        ScriptedServer(to(f"{other.url}/1"), to(f"{other.url}/2")) as server,
    ):
        assert client(server.url).download(PATH, 100) == b"PK"
    assert other.lines == ["GET /1", "GET /2"]


# --- runs and artifacts ---------------------------------------------------------------------------------


def test_runs_are_the_successful_ones_for_the_branch_of_the_repository_itself():
    runs = [
        WorkflowRun(id=1, sha="a" * 40),
        WorkflowRun(id=2, sha="a" * 40, event="pull_request"),
        WorkflowRun(id=3, sha="a" * 40, head_repository="stranger/skills"),
        WorkflowRun(id=4, sha="a" * 40, branch="dev"),
        WorkflowRun(id=5, sha="a" * 40, conclusion="failure"),
        WorkflowRun(id=6, sha="a" * 40, workflow="other.yml"),
        WorkflowRun(id=7, sha="a" * 40, event="schedule"),
        WorkflowRun(id=8, sha="a" * 40),
    ]
    with github_with() as github, api_of(github) as api:
        github.state.runs.update({run.id: run for run in runs})
        found = runs_of_branch(api, REPOSITORY, workflow="bench.yml", branch="main", events=EVENTS)
        assert [run.id for run in found] == [8, 7, 1]


@pytest.mark.slow
def test_pages_of_runs_are_read_as_they_are_needed():
    with github_with() as github, api_of(github) as api:
        github.state.runs.update({n: WorkflowRun(id=n, sha="a" * 40) for n in range(1, 251)})
        found = runs_of_branch(api, REPOSITORY, workflow="bench.yml", branch="main", events=EVENTS)
        assert [next(found).id for _ in range(60)][-1] == 191
        assert len(github.requests) == 2
        assert len(list(found)) == 190
        assert len(github.requests) == 4


def test_files_of_an_artifact():
    with github_with() as github, ArtifactHost(github.state), api_of(github) as api:
        github.state.runs[1] = WorkflowRun(id=1, sha="a" * 40)
        github.state.artifacts[5] = Artifact(id=5, run=1, name="s", content=zipped({"a": b"1", "b/c": b"2"}))
        github.state.artifacts[6] = Artifact(id=6, run=1, name="old", content=None)
        gone, there = artifacts_of_run(api, REPOSITORY, 1)
        assert list(artifact_files(api, REPOSITORY, there, LIMITS)) == [("a", b"1"), ("b/c", b"2")]
        with pytest.raises(GitHubError) as caught:
            list(artifact_files(api, REPOSITORY, gone, LIMITS))
        assert caught.value.status == 410


# --- archives -------------------------------------------------------------------------------------------


def special(kind: int, name: str = "link") -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        entry = zipfile.ZipInfo(name)
        entry.external_attr = (kind | 0o777) << 16
        archive.writestr(entry, "/etc/passwd")
    return made.getvalue()


def twice() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("a", "1")
        with pytest.warns(UserWarning, match="Duplicate"):
            archive.writestr("a", "2")
    return made.getvalue()


def claims_to_be_small() -> bytes:
    """An archive whose central directory says that 50 MB are 10 bytes."""
    content = bytearray(zipped({"a": b"\0" * 50_000_000}))
    at = content.rindex(b"PK\x01\x02")
    struct.pack_into("<I", content, at + 24, 10)
    return bytes(content)


def encrypted() -> bytes:
    content = bytearray(zipped({"a": b"1"}))
    content[content.rindex(b"PK\x01\x02") + 8] |= 1
    return bytes(content)


def packed_otherwise() -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("a", "1")
    return made.getvalue()


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (zipped({"../a": b"1"}), "a name that leads elsewhere"),
        (zipped({"/a": b"1"}), "a name that leads elsewhere"),
        (zipped({"..\\a": b"1"}), "a name that leads elsewhere"),
        (zipped({"a\nb": b"1"}), "a name that leads elsewhere"),
        (zipped({"a": b"1"}).replace(b"a", b"\0"), "a name that leads elsewhere"),  # read as an empty name
        (special(stat.S_IFLNK), "a link or another special file"),
        (special(stat.S_IFIFO), "a link or another special file"),
        (twice(), "has a file twice"),
        (encrypted(), "packed in another way"),
        (packed_otherwise(), "packed in another way"),
        (zipped({str(number): b"" for number in range(4)}), "has more than 3 files"),
        (zipped({"a": b"\0" * 50_000_000}), "has more than 1,000 bytes unpacked"),
        (zipped({"a": b"\0" * 600, "b": b"\0" * 600}), "has more than 1,000 bytes unpacked"),
        (claims_to_be_small(), "Bad CRC-32 for file"),
        (b"", "is not a readable ZIP archive"),
        (zipped({"a": b"1" * 500})[:-30], "is not a readable ZIP archive"),
        (zipped({"a": b"1"}).replace(b"PK\x03\x04", b"PK\x03\x05"), "is not a readable ZIP archive"),
    ],
    ids=lambda value: value if isinstance(value, str) else "zip",
)
def test_a_hostile_archive_is_an_error_of_bounded_size(content, reason):
    tracemalloc.start()
    try:
        assert reason in refused(lambda: list(files_of_archive(content, "the artifact s", LIMITS)))
        assert tracemalloc.get_traced_memory()[1] < 5_000_000
    finally:
        tracemalloc.stop()


def test_folders_are_left_out_and_sizes_may_be_reached():
    content = zipped({"d/": b"", "d/a": b"1" * 1_000})
    assert list(files_of_archive(content, "it", LIMITS)) == [("d/a", b"1" * 1_000)]
