"""What the release workflow does beyond a line of shell. Python alone is needed, git and a Docker engine.

``plan VERSION``                               what is to be released, and whether its tag is there already
``build IMAGE VERSION PLATFORM FOLDER``        build for the machine's platform, push, note the digest and the SBOM
``index IMAGE VERSION FOLDER PLATFORM...``     one image of all platforms, of the digests noted in the folder
``scan REPORT``                                judge what osv-scanner found
``tag IMAGE@DIGEST VERSION``                   commit, tag and major tag; what is there already is kept
"""

from __future__ import annotations

import base64
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any
from uuid import uuid4

VERSION = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+")
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
BASE = re.compile(r"^FROM (\S+)@(sha256:[0-9a-f]{64}) AS base$", re.MULTILINE)
IMAGE_LINE = re.compile(r"^  image: .*$", re.MULTILINE)
SBOM = "/usr/share/sbom/skillgym-action.cdx.json"
SEVERE = 7.0  # CVSS: high
BOT = "github-actions[bot]"
BOT_MAIL = "41898282+github-actions[bot]@users.noreply.github.com"


class ReleaseError(Exception):
    """Something that has to be changed before this can be released."""


def run(*command: str, given: str | None = None, env: dict[str, str] | None = None) -> str:
    """What a command prints, without the last line's end; its messages go to the log."""
    finished = subprocess.run(
        command, input=given, stdout=subprocess.PIPE, text=True, check=False, env={**os.environ, **(env or {})}
    )
    if finished.returncode:
        raise ReleaseError(f"{' '.join(command[:3])} ended with {finished.returncode}: {finished.stdout.strip()}")
    return finished.stdout.rstrip("\n")


def output(**values: str) -> None:
    """Set outputs of the step, and say them."""
    for name, value in values.items():
        print(f"{name}={value}")
    if path := os.environ.get("GITHUB_OUTPUT"):
        with Path(path).open("a", encoding="utf-8") as file:
            for name, value in values.items():
                mark = uuid4().hex
                file.write(f"{name}<<{mark}\n{value}\n{mark}\n")


# --- what is to be released ---


def plan(version: str) -> None:
    """Refuse a version that the sources do not have; of a tag that is there already, output the digest."""
    if not VERSION.fullmatch(version):
        raise ReleaseError(f"{version!r} is no version such as 1.2.3")
    branch = os.environ["GITHUB_REF"]
    if not re.fullmatch(r"refs/heads/(main|release/.+)", branch):
        raise ReleaseError(f"releases are made of main or of release/*, not of {branch}")
    found = re.search(
        r'^__version__ = "(.*)"$', Path("src/skillgym_action/model/version.py").read_text("utf-8"), re.MULTILINE
    )
    if not found or found[1] != version:
        raise ReleaseError(f"the sources are of version {found and found[1]}, not {version}")
    section = re.compile(rf"^## {re.escape(version)} \(\d{{4}}-\d\d-\d\d\)$", re.MULTILINE)
    if not section.search(Path("CHANGELOG.md").read_text("utf-8")):
        raise ReleaseError(f"CHANGELOG.md has no section `## {version} (YYYY-MM-DD)`")
    commit = tagged(version)
    digest = ""
    if commit:
        if (of := run("git", "rev-parse", f"{commit}^")) != run("git", "rev-parse", "HEAD"):
            raise ReleaseError(f"v{version} is released already, of the commit {of}: tags do not move")
        digest = image_in(run("git", "show", f"{commit}:action.yml")).partition("@")[2]
    registry = os.environ.get("REGISTRY") or "ghcr.io"
    output(image=f"{registry}/{os.environ['GITHUB_REPOSITORY'].lower()}", digest=digest)


def image_in(action: str) -> str:
    """The published image that an ``action.yml`` names: ``NAME@DIGEST``."""
    found = re.search(rf"^  image: docker://(\S+@{DIGEST.pattern})$", action, re.MULTILINE)
    if not found:
        raise ReleaseError("the tag's action.yml names no published image by its digest")
    return found[1]


# --- the image ---


def build(image: str, version: str, platform: str, folder: Path) -> None:
    """Push under a tag that nothing refers to: no tag of a release is touched before the image has been tested."""
    base = BASE.search(Path("Dockerfile").read_text("utf-8"))
    if not base:
        raise ReleaseError("the Dockerfile names no base by its digest")
    architecture = platform.partition("/")[2]
    revision = run("git", "rev-parse", "HEAD")
    candidate = f"{image}:{version}-{architecture}-{revision[:12]}"
    server, repository = os.environ["GITHUB_SERVER_URL"], os.environ["GITHUB_REPOSITORY"]
    labels = {
        "source": f"{server}/{repository}",
        "revision": revision,
        "version": version,
        "base.name": base[1],
        "base.digest": base[2],
    }
    command = ["docker", "build", "--tag", candidate, *os.environ.get("BUILD_OPTIONS", "").split()]
    for name, value in labels.items():
        command += ["--label", f"org.opencontainers.image.{name}={value}"]
    # What is attested is signed in a step of its own; here it would make an index of each platform's image.
    print(run(*command, ".", env={"BUILDX_NO_DEFAULT_ATTESTATIONS": "1"}))
    print(run("docker", "push", "--quiet", candidate))
    inspected = json.loads(run("docker", "image", "inspect", candidate))[0]
    if (found := f"{inspected['Os']}/{inspected['Architecture']}") != platform:
        raise ReleaseError(f"this machine builds for {found}, not for {platform}")
    named = [one.partition("@")[2] for one in inspected["RepoDigests"] if one.startswith(f"{image}@")]
    if len(named) != 1:
        raise ReleaseError(f"the pushed image has {len(named)} digests: {named}")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{architecture}.json").write_text(json.dumps({"platform": platform, "digest": named[0]}), "utf-8")
    sbom = run("docker", "run", "--rm", "--entrypoint", "cat", f"{image}@{named[0]}", SBOM)
    (folder / "skillgym-action.cdx.json").write_text(sbom, "utf-8")
    output(digest=named[0], size=str(inspected["Size"]))


def index(image: str, version: str, folder: Path, platforms: list[str]) -> None:
    """Push one image of all platforms under the version; each has been tested under its digest."""
    noted = [json.loads(path.read_text("utf-8")) for path in sorted(folder.rglob("*.json")) if ".cdx." not in path.name]
    if sorted(one["platform"] for one in noted) != sorted(platforms):
        raise ReleaseError(f"{', '.join(platforms)} are to be released, {[one['platform'] for one in noted]} are there")
    insecure = ["--insecure"] if re.match(r"(localhost|127\.0\.0\.1)[:/]", image) else []
    digests = [f"{image}@{one['digest']}" for one in noted]
    run("docker", "manifest", "create", *insecure, "--amend", f"{image}:{version}", *digests)
    digest = run("docker", "manifest", "push", *insecure, "--purge", f"{image}:{version}").splitlines()[-1]
    if not DIGEST.fullmatch(digest):
        raise ReleaseError(f"no digest: {digest}")
    output(digest=digest)


# --- known vulnerabilities ---


def scan(report: Path) -> None:
    """Refuse what is severe and has been fixed by its authors. The rest is listed: a release would not mend it."""
    severe: list[str] = []
    others: list[str] = []
    for package, group, vulnerabilities in found_in(json.loads(report.read_text("utf-8"))):
        fixed = sorted({version for one in vulnerabilities for version in fixes(one, package)})
        line = f"{package['name']} {package['version']}: {', '.join(group['ids'])}, severity {severity(group) or '?'}"
        (severe if fixed and severity(group) >= SEVERE else others).append(
            line + (f", fixed in {', '.join(fixed)}" if fixed else ", not fixed")
        )
    for line in others:
        print(f"known: {line}")
    if severe:
        raise ReleaseError("fixed vulnerabilities are in the image:\n" + "\n".join(severe))
    print(f"{len(others)} known vulnerabilities, none of them severe and fixed")


def found_in(report: dict[str, Any]) -> list[tuple[dict[str, str], dict[str, Any], list[dict[str, Any]]]]:
    """Package, group of ids that mean the same, and its records."""
    return [
        (found["package"], group, [one for one in found["vulnerabilities"] if one["id"] in group["ids"]])
        for result in report.get("results", [])
        for found in result["packages"]
        for group in found.get("groups", [])
    ]


def severity(group: dict[str, Any]) -> float:
    """0 to 10; 0 if nobody has judged it."""
    return float(group.get("max_severity") or 0)


def fixes(vulnerability: dict[str, Any], package: dict[str, str]) -> set[str]:
    """The versions of this package in which it is fixed."""
    return {
        event["fixed"]
        for affected in vulnerability.get("affected", [])
        if affected.get("package", {}).get("name") in {package["name"], None}
        and affected.get("package", {}).get("ecosystem") in {package["ecosystem"], None}
        for span in affected.get("ranges", [])
        for event in span.get("events", [])
        if "fixed" in event
    }


# --- commit and tags ---


def tag(published: str, version: str) -> None:
    """Commit an ``action.yml`` that names the image on top of the released commit, on no branch, and tag it.

    A tag that is there is kept if it names this image. The commit depends on its parent and the image alone.
    """
    commit = tagged(version)
    if not commit:
        commit = committed(published, version)
        push(f"{commit}:refs/tags/v{version}")
    elif (there := image_in(run("git", "show", f"{commit}:action.yml"))) != published:
        raise ReleaseError(f"v{version} is there and names {there}, not {published}: tags do not move")
    major = f"v{version.partition('.')[0]}"
    versions = [name[1:] for name in remote_tags() if name.startswith(f"{major}.") and VERSION.fullmatch(name[1:])]
    newest = max(versions, key=lambda one: [int(number) for number in one.split(".")])
    if newest == version:
        push(f"+{commit}:refs/tags/{major}")
    else:
        print(f"v{newest} is newer: {major} stays where it is")
    output(commit=commit)


def committed(published: str, version: str) -> str:
    """A commit that differs from HEAD in one line of ``action.yml``; the same one whenever it is asked for."""
    text, count = IMAGE_LINE.subn(f"  image: docker://{published}", Path("action.yml").read_text("utf-8"))
    if count != 1 or image_in(text) != published:
        raise ReleaseError(f"action.yml has {count} lines that name its image, or {published} is no digest")
    blob = run("git", "hash-object", "-w", "--stdin", given=text)
    entries = run("git", "ls-tree", "HEAD")
    tree, count = re.subn(r"^(100644 blob )[0-9a-f]+(\taction\.yml)$", rf"\g<1>{blob}\2", entries, flags=re.MULTILINE)
    if count != 1:
        raise ReleaseError("HEAD has no action.yml")
    made = run("git", "mktree", given=tree + "\n")
    date = run("git", "show", "--no-patch", "--format=%cI", "HEAD")
    identity = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER")
                for what, value in (("NAME", BOT), ("EMAIL", BOT_MAIL), ("DATE", date))}  # fmt: skip
    return run("git", "commit-tree", made, "-p", "HEAD", "-m", f"Release {version}\n\nImage: {published}", env=identity)


def tagged(version: str) -> str:
    """The commit of a version's tag with its parent, fetched; nothing if there is none."""
    if f"v{version}" not in remote_tags():
        return ""
    run("git", "fetch", "--quiet", "--depth=2", "origin", f"refs/tags/v{version}", env=credentials())
    return run("git", "rev-parse", "FETCH_HEAD^{commit}")


def remote_tags() -> set[str]:
    """The names of all tags of the repository."""
    lines = run("git", "ls-remote", "--tags", "--refs", "origin", env=credentials()).splitlines()
    return {line.partition("refs/tags/")[2] for line in lines}


def push(refspec: str) -> None:
    """Push to the repository."""
    run("git", "push", "origin", refspec, env=credentials())


def credentials() -> dict[str, str]:
    """The job's token for git, in its environment: neither in a file nor on a command line."""
    token = os.environ.get("GH_TOKEN")
    if not token:
        return {}
    basic = base64.b64encode(f"x-access-token:{token}".encode()).decode()
    print(f"::add-mask::{basic}")
    return {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"http.{os.environ['GITHUB_SERVER_URL']}/.extraheader",
        "GIT_CONFIG_VALUE_0": f"AUTHORIZATION: basic {basic}",
    }


def main(arguments: list[str]) -> None:
    """Run one of the commands above."""
    match arguments:
        case ["plan", version]:
            plan(version)
        case ["build", image, version, platform, folder]:
            build(image, version, platform, Path(folder))
        case ["index", image, version, folder, *platforms]:
            index(image, version, Path(folder), platforms)
        case ["scan", report]:
            scan(Path(report))
        case ["tag", published, version]:
            tag(published, version)
        case _:
            raise ReleaseError(str(__doc__))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except ReleaseError as error:
        sys.exit(f"release: {error}")
