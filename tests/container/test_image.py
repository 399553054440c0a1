"""What the image holds: what its SBOM says, and no secret. Needs a Docker engine: ``make test-container``."""

from __future__ import annotations

import hashlib
import json
import re
import tarfile
from typing import TYPE_CHECKING, Any

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
from packageurl import PackageURL

from container.image import DOCKERFILE, buildable, built, docker
from container.runner import run_step
from scratch import config, repository, runner
from skillgym_action.text.secret_forms import is_secret_name, key_kinds

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from proofs import Proved

pytestmark = pytest.mark.container

SBOM = "/usr/share/sbom/skillgym-action.cdx.json"
# Files whose names alone say that they are not for others.
PRIVATE = {".env", ".git", ".git-credentials", ".netrc", ".npmrc", ".pypirc", "id_ed25519", "id_rsa", ".docker"}
OF_NPM = "/node_modules/npm/.npmrc"  # as npm is published
LARGEST = 4 * 1024 * 1024  # bytes of a file that is searched; the larger ones are programs
KEY = re.compile(r"PRIVATE KEY(?: BLOCK)?-----[\r\n]+[\w+/=:. ,\r\n-]{64,}-----END ")  # programs know how one begins


@pytest.fixture(scope="module")
def image() -> str:
    return built()


def inside(image: str, *command: str) -> str:
    return docker("run", "--rm", "--entrypoint", command[0], image, *command[1:])


@pytest.fixture(scope="module")
def sbom(image: str) -> str:
    return inside(image, "cat", SBOM)


def told(sbom: str, kind: str) -> set[tuple[str, str]]:
    """Names and versions of one kind of package, as its package URLs say."""
    urls = [PackageURL.from_string(component["purl"]) for component in json.loads(sbom)["components"]]
    found = [url for url in urls if url.type == kind]
    scoped = kind == "npm"
    return {(f"{url.namespace}/{url.name}" if scoped and url.namespace else url.name, url.version) for url in found}


def installed(image: str) -> set[tuple[str, str]]:
    """Names and versions of the packages for Python that are in it, as Python itself finds them."""
    ask = "from importlib.metadata import distributions\nfor one in distributions(): print(one.name, one.version)"
    lines = inside(image, "python3", "-c", ask).lower().splitlines()
    return {(name.replace("_", "-").replace(".", "-"), version) for name, version in map(str.split, lines)}


def npm_packages(tree: dict[str, Any]) -> Iterator[tuple[str, str]]:
    for name, package in tree.get("dependencies", {}).items():
        if "version" in package:
            yield name, package["version"]
        yield from npm_packages(package)


def test_the_sbom_is_what_its_format_demands(sbom):
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(sbom) is None


def test_the_sbom_lists_what_the_package_managers_list_and_nothing_else(image, sbom, proved: Proved):
    debian = inside(image, "dpkg-query", "--show", "-f", "${Package}\t${Version}\n").splitlines()
    npm = json.loads(inside(image, "npm", "ls", "--global", "--all", "--json"))
    node = inside(image, "node", "--version").strip().removeprefix("v")
    interpreter = inside(image, "python3", "--version").split()[1]

    assert told(sbom, "deb") == {tuple(line.split("\t")) for line in debian}
    assert told(sbom, "pypi") == installed(image)
    assert told(sbom, "npm") == set(npm_packages(npm))
    assert told(sbom, "generic") == {("node", node), ("python", interpreter)}
    proved("image", "packages of the image that its SBOM names", len(json.loads(sbom)["components"]))


def test_what_python_installed_is_what_was_locked(image):
    locked = (DOCKERFILE.parent / "docker" / "requirements.txt").read_text(encoding="utf-8")
    pinned = {line.split()[0] for line in locked.splitlines() if "==" in line and not line.startswith((" ", "#"))}
    found = {f"{name}=={version}" for name, version in installed(image)}
    given = {one.partition("==")[0] for one in found - pinned}
    assert (pinned - found, given - {"setuptools", "wheel"}) == (set(), {"skillgym-action"})
    # pip, which the image has for new environments alone, finds nothing missing and nothing in a wrong version
    checked = (
        "python3 -m venv /tmp/new && PYTHONDONTWRITEBYTECODE=1 /tmp/new/bin/pip --python /usr/local/bin/python3 check"
    )
    assert inside(image, "sh", "-c", checked) == "No broken requirements found.\n"


GAINING = """
import os, stat
for folder, _, names in os.walk("/"):
    if folder.startswith(("/proc", "/sys", "/dev")):
        continue
    for name in names:
        path = os.path.join(folder, name)
        found = os.lstat(path)
        if stat.S_ISREG(found.st_mode):
            print("looked" if not found.st_mode & 0o6000 else path)
            if "security.capability" in os.listxattr(path, follow_symlinks=False):
                print(path)
"""


def test_no_program_of_the_image_gives_rights_to_whoever_starts_it(image, proved: Proved):
    looked = inside(image, "python3", "-c", GAINING).splitlines()
    assert [path for path in looked if path != "looked"] == []
    assert len(looked) > 5000
    proved("image", "files of the image that give nobody another one's rights", len(looked))


NAMES = """
import grp, pwd, time
began = time.process_time()
last = pwd.getpwuid(59999)
took = time.process_time() - began
for number in (50000, 50001, 55555, 59999):
    print(pwd.getpwuid(number).pw_name, grp.getgrgid(number).gr_name, pwd.getpwuid(number).pw_gid == number)
print(pwd.getpwnam("agent").pw_uid, grp.getgrnam("agent").gr_gid, last.pw_dir, last.pw_shell, took < 0.1)
print({(one.pw_name, one.pw_passwd) for one in pwd.getpwall() if 50000 <= one.pw_uid < 60000})
print(len(pwd.getpwall()) == len({one.pw_uid for one in pwd.getpwall()}))
"""


def test_every_user_that_sessions_get_has_a_name_and_a_group(image):
    assert inside(image, "python3", "-c", NAMES).splitlines() == [
        *["agent agent True"] * 4,
        "10001 10001 /nonexistent /usr/sbin/nologin True",
        "{('agent', 'x')}",
        "True",
    ]
    node = "const { username, uid } = require('os').userInfo(); console.log(username, uid)"
    assert docker("run", "--rm", "--user", "59999:59999", "--entrypoint", "node", image, "-e", node) == "agent 59999\n"
    added = inside(image, "sh", "-c", "useradd one && useradd two && id -un && getent passwd one two | cut -d: -f1")
    assert added.split() == ["root", "one", "two"]


def test_the_tool_as_the_first_process_of_the_container_shows_no_secret(image, tmp_path):
    """As an agent that is root, and may trace programs, finds it: the image's own user is taken away."""
    (passwd := tmp_path / "passwd").write_text("root:x:0:0:root:/root:/bin/bash\n")
    look = "tr '\\0' '\\n' </proc/1/environ >out.txt; tr '\\0' ' ' </proc/1/cmdline >>out.txt"
    root = repository(tmp_path / "repository", {"skillgym.config.yaml": config(runner(look))}, git=True)
    planted = {"GITHUB_TOKEN": "planted-token", "SECRET_KEY": "planted-key", "DATABASE_URL": "planted-value"}
    options = ("--cap-add", "SYS_PTRACE", "--volume", f"{passwd}:/etc/passwd:ro")
    step = run_step(image, root, inputs={"github-token": "planted-input"}, env=planted, options=options)
    assert step.exit_code == 0, step.log
    (told,) = (root / ".skillgym-results").rglob("changes/out.txt")
    names = {line.partition("=")[0] for line in told.read_text().splitlines() if "=" in line}
    assert "SKILLGYM_BARE_START" in names
    assert not {name for name in names if name.startswith(("GITHUB", "ACTIONS", "INPUT", "RUNNER", "SECRET", "DATA"))}
    assert "planted" not in told.read_text()


def layers(image: str, folder: Path) -> Iterator[tuple[str, bytes]]:
    """Name and content of the files in each of its layers, those as well that a later layer removes."""
    docker("save", "--output", str(folder / "image.tar"), image)
    with tarfile.open(folder / "image.tar") as saved:
        (manifest,) = json.load(saved.extractfile("manifest.json"))
        for layer in manifest["Layers"]:
            with tarfile.open(fileobj=saved.extractfile(layer)) as files:
                for file in files:
                    yield file.name, files.extractfile(file).read() if file.isfile() else b""


def test_no_layer_holds_a_secret(image, tmp_path, proved: Proved):
    """Of every file that is not the base's."""
    base = buildable(DOCKERFILE.read_text(encoding="utf-8")).partition("\nFROM ")[2].split()[0]
    of_base = {hashlib.sha256(content).digest() for _, content in layers(base, tmp_path)}
    searched, found = 0, []
    for name, content in layers(image, tmp_path):
        if PRIVATE.intersection(name.split("/")) and not name.endswith(OF_NPM):
            found.append((name, "its name"))
        if len(content) <= LARGEST and hashlib.sha256(content).digest() not in of_base:
            searched += 1
            text = content.decode("utf-8", "surrogateescape")
            kinds = [kind for kind in key_kinds(text) if kind != "private-key" or KEY.search(text)]
            found += [(name, kind) for kind in kinds]
    assert found == []
    assert searched > 1000
    proved("image", "files of its layers without a secret", searched)


LARGEST_IMAGE = 285 * 1000 * 1000  # bytes; 10 MB of it are what workers of a cluster need


def test_the_image_stays_thin(image):
    (settings,) = json.loads(docker("image", "inspect", image))
    assert len(settings["RootFS"]["Layers"]) == 1, "what a layer removes is still in the one below"
    assert settings["Size"] <= LARGEST_IMAGE


def test_images_made_of_it_can_add_packages(image):
    """With pip, which the image has for that alone, and with apt, for which git's package is Debian's."""
    assert inside(image, "sh", "-c", "python3 -m ensurepip >/dev/null 2>&1 && pip3 --version").startswith("pip ")
    assert "0 upgraded, 0 newly installed" in inside(image, "apt-get", "install", "--simulate", "git")
    assert inside(image, "sh", "-c", "dpkg --audit; apt-get check -qq") == ""


def test_neither_the_history_nor_the_settings_of_the_image_hold_a_secret(image, proved: Proved):
    history = docker("history", "--no-trunc", "--format", "{{.CreatedBy}}", image)
    (settings,) = json.loads(docker("image", "inspect", image))
    assert key_kinds(history) == key_kinds(json.dumps(settings)) == ()
    names = {line.partition("=")[0] for line in settings["Config"]["Env"]}
    assert {name for name in names if is_secret_name(name)} <= {"GPG_KEY"}, "whose signature Python's sources have"
    proved("image", "steps and settings of the image without a secret", len(history.splitlines()) + len(names))
