"""``promote``: sessions of runs and of agents on this machine become cases, which the recorded session checks."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

from folders import tree
from paths import DATA
from scratch import (
    IDENTITY,
    case,
    committed,
    config,
    environment,
    git_in,
    repository,
    runner,
    skillgym,
    suite,
    written,
)

if TYPE_CHECKING:
    from pathlib import Path

KEY = "ghp_" + "a1B2c3D4e5F6" * 3
WRONG = 'echo "module.exports = 1" > tax.js; rm old.js; npm test; echo "see $PWD/tax.js"'
EXPECT = ("file:tax.js contains 'module.exports = 2'", "file:tax.js exists")
SUITE = suite(case("tax", EXPECT, timeout=30), case("other"), workspace={"templateDir": "template"})
FILES = {"bench/core.bench.json": SUITE, "bench/core.json": None, "bench/template/old.js": "old\n"}
PASSED, FAILED, INVALID = 0, 1, 2
LAST_WORD = (
    "read all of it before you commit it: what has the form of a key or of a home folder was replaced, other private "
    "text was not"
)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A repository with a failed run in ``run``, to be copied."""
    files = FILES | {
        "bench/template/keep.js": "keep\n",
        "skillgym.config.yaml": config(runner(WRONG)),
        ".gitignore": "run\n",
    }
    root = repository(tmp_path_factory.mktemp("finished") / "shop", files, git=True)
    assert skillgym("run", "--output", "run", cwd=root).code == FAILED
    return root


@pytest.fixture
def shop(tmp_path, finished):
    """A copy of it."""
    return shutil.copytree(finished, tmp_path / "shop", symlinks=True)


def replayed(root: Path, name: str) -> dict:
    """The results of a run of a promoted suite, played from its recordings."""
    recordings = f"promoted/{name}.bench.json.recordings"
    settings = {"agent": {"type": "replay", "sessions": recordings}}
    (root / "replay.config.yaml").write_text(json.dumps({"runners": {"sh": settings}}))
    args = ("--config", "replay.config.yaml", "--output", "replayed")
    skillgym("run", f"promoted/{name}.bench.json", *args, cwd=root)
    return json.loads((root / "replayed/results.json").read_text())["suites"][0]["results"][0]


# --- sessions of a run ------------------------------------------------------------------------------


def test_a_failed_session_becomes_a_case_that_fails_for_the_same_reason(shop):
    done = skillgym("promote", "run", "--case", "tax", cwd=shop)
    assert done.code == PASSED, done.err
    assert done.out.splitlines() == [
        "the case tax was written to promoted/tax.bench.json",
        "template: 2 files in promoted/tax.bench.json.template",
        "kept: file:tax.js contains 'module.exports = 2'",
        "kept: file:tax.js exists",
        "drafted: no-file:old.js",
        "failed in the run: file:tax.js contains 'module.exports = 2': tax.js does not contain 'module.exports = 2'",
        "check: red with the recorded session, as it should be: tax.js does not contain 'module.exports = 2'",
        "fails: file:tax.js contains 'module.exports = 2': tax.js does not contain 'module.exports = 2'",
        "passes: file:tax.js exists",
        "passes (draft): no-file:old.js",
        LAST_WORD,
    ]
    assert sorted(tree(shop / "promoted/tax.bench.json.template")) == ["keep.js", "old.js"]
    written_suite = json.loads((shop / "promoted/tax.bench.json").read_text())
    assert written_suite["workspace"] == {"templateDir": "tax.bench.json.template"}
    made = written_suite["cases"][0]
    assert (made["prompt"], made["timeout"], made["x-drafted"]) == ("Do tax", 30, ["no-file:old.js"])
    assert made["x-promoted"]["status"] == "failed"
    assert made["x-promoted"]["commit"] == git_in(shop, "rev-parse", "HEAD").strip()
    checked = skillgym("check", "promoted", cwd=shop)
    assert (checked.code, "promoted/tax.bench.json: x-bench, 1 case" in checked.out) == (PASSED, True), checked.err


def test_played_again_it_is_red_until_the_recording_is_right(shop):
    skillgym("promote", "run", "--case", "tax", cwd=shop)
    red = replayed(shop, "tax")
    assert red["status"] == "failed"
    assert [one["assertion"] for one in red["outcomes"] if one["passed"] is False] == [EXPECT[0]]
    recording = shop / "promoted/tax.bench.json.recordings/tax/tax/sh/repeat-1"
    (recording / "changes/tax.js").write_text("module.exports = 2\n")
    assert replayed(shop, "tax")["status"] == "passed"


def test_a_prompt_that_promote_changes_is_also_that_of_the_recording(shop):
    """A path of the directory in which the agent worked becomes a relative one, and line ends become line feeds."""
    file = shop / "run/core/tax/sh/repeat-1/report.json"
    report = json.loads(file.read_text())
    file.write_text(json.dumps(report | {"prompt": f"Do tax in {report['cwd']}/app\r\nand {report['cwd']}/lib"}))
    done = skillgym("promote", "run", "--case", "tax", cwd=shop)
    assert (done.code, "check: red with the recorded session, as it should be" in done.out) == (PASSED, True), done.out
    made = json.loads((shop / "promoted/tax.bench.json").read_text())["cases"][0]
    assert made["prompt"] == "Do tax in app\nand lib"
    assert replayed(shop, "tax")["status"] == "failed"


def test_a_session_is_named_by_its_folder_or_by_case_and_runner(shop):
    assert skillgym("promote", "run/core/tax/sh/repeat-1", "--id", "mine", cwd=shop).code == PASSED
    assert (shop / "promoted/mine.bench.json").is_file()
    both = skillgym("promote", "run", cwd=shop)
    assert (both.code, both.out) == (INVALID, "")
    assert both.err == (
        "error: run: 2 sessions fit; choose with --case and --runner, or name one of: core/tax/sh/repeat-1, "
        "core/other/sh/repeat-1\n"
    )
    wrong = skillgym("promote", "run/core/tax", cwd=shop)
    assert "run/core/tax is not a session of the run; the sessions are: core/tax/sh/repeat-1" in wrong.err
    none = skillgym("promote", "bench", cwd=shop)
    assert "bench: no results.json is there" in none.err


def test_nothing_is_overwritten_without_force(shop):
    skillgym("promote", "run", "--case", "tax", "--no-check", cwd=shop)
    before = tree(shop / "promoted")
    again = skillgym("promote", "run", "--case", "tax", cwd=shop)
    assert (again.code, again.out) == (INVALID, "")
    assert "promoted/tax.bench.json: something is there already; choose --to or --id, or replace it" in again.err
    assert tree(shop / "promoted") == before
    assert skillgym("promote", "run", "--case", "tax", "--force", cwd=shop).code == PASSED


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("--id", "x" * 1_001), "--id: must be a text of at most 1,000 characters in UTF-8"),
        (("--expect", "file:\udcff exists"), "--expect: must be a text in UTF-8"),
        (("--expect", f"file:a contains '{KEY}'"), "--expect has what looks like a key, or the value of a secret"),
    ],
    ids=["long", "expectation-not-utf-8", "key-in-expectation"],
)
def test_what_the_suite_must_not_have_is_refused_before_anything_is_written(shop, args, message):
    done = skillgym("promote", "run", "--case", "tax", *args, cwd=shop)
    assert (done.code, done.out, message in done.err) == (INVALID, "", True), done.err
    assert KEY not in done.err
    assert not (shop / "promoted").exists()


def test_force_removes_no_case_that_was_added_to_the_suite(shop):
    skillgym("promote", "run", "--case", "tax", "--no-check", cwd=shop)
    more = ("--case", "other", "--to", "promoted/tax.bench.json")
    assert skillgym("promote", "run", *more, "--no-check", cwd=shop).code == PASSED
    before = tree(shop / "promoted")
    again = skillgym("promote", "run", "--case", "tax", "--force", cwd=shop)
    assert (again.code, again.out) == (INVALID, "")
    assert "promoted/tax.bench.json has 1 more case, which --force would remove; choose --to or --id" in again.err
    assert tree(shop / "promoted") == before


def test_a_case_is_added_to_its_own_suite(shop):
    before = (shop / "bench/core.bench.json").read_text()
    done = skillgym("promote", "run", "--case", "tax", "--to", "bench/core.bench.json", cwd=shop)
    assert done.code == PASSED, done.err
    assert "the case tax-promoted was added to bench/core.bench.json" in done.out
    after = (shop / "bench/core.bench.json").read_text()
    at = before.index('], "workspace"')
    assert after.startswith(before[:at])
    assert after.endswith(before[at:])
    assert [one["id"] for one in json.loads(after)["cases"]] == ["tax", "other", "tax-promoted"]
    assert not (shop / "bench/core.bench.json.template").exists()
    assert "check: red with the recorded session, as it should be" in done.out
    taken = skillgym("promote", "run", "--case", "tax", "--to", "bench/core.bench.json", cwd=shop)
    assert "there is a case tax-promoted already; choose another id with --id" in taken.err
    assert (shop / "bench/core.bench.json").read_text() == after


def test_a_case_is_added_only_where_cases_work_in_the_same_files(shop):
    others = {
        "bench/same.bench.json": suite(workspace={"templateDir": "../bench/template"}, name="same"),
        "bench/empty/x.txt": "x",
        "bench/differs.bench.json": suite(workspace={"templateDir": "empty"}, name="differs"),
        "bench/repo.bench.json": suite(name="repo"),
        "bench/broken.bench.json": "{",
        "bench/other.py": "x = 1",
    }
    written(shop, others)
    before = tree(shop / "bench")
    for name, reason in (
        ("differs.bench.json", "work in bench/empty, which has other files than the session worked in"),
        ("repo.bench.json", "its cases work in a copy of the repository, not in the files"),
        ("broken.bench.json", "is not an x-bench suite that can be loaded"),
        ("other.py", "is not an x-bench suite that can be loaded"),
    ):
        refused = skillgym("promote", "run", "--case", "tax", "--to", f"bench/{name}", cwd=shop)
        assert (refused.code, refused.out) == (INVALID, ""), name
        assert reason in refused.err, refused.err
    assert tree(shop / "bench") == before
    done = skillgym("promote", "run", "--case", "tax", "--to", "bench/same.bench.json", cwd=shop)
    assert done.code == PASSED, done.err
    assert [one["id"] for one in json.loads((shop / "bench/same.bench.json").read_text())["cases"]] == ["one", "tax"]


def test_the_template_is_as_it_was_when_the_run_was_made(shop):
    written(shop, {"bench/template/old.js": "newer\n"})
    committed(shop)
    done = skillgym("promote", "run", "--case", "tax", cwd=shop)
    assert (shop / "promoted/tax.bench.json.template/old.js").read_text() == "old\n"
    assert "note: the template is as of commit " in done.out
    assert done.code == PASSED


def test_of_a_suite_in_the_repository_the_template_is_the_commit_without_the_suite(tmp_path):
    files = {"src/a.js": "a\n", "skillgym.config.yaml": config(runner("echo b > src/a.js; echo x > out.js"))}
    root = repository(tmp_path / "repo", files, git=True)
    assert skillgym("run", "--output", "run", cwd=root).code == FAILED
    (root / "src/a.js").write_text("later\n")
    done = skillgym("promote", "run", cwd=root)
    assert done.code == PASSED, done.err
    assert "drafted: diff:src/a.js" in done.out
    template = tree(root / "promoted/one.bench.json.template")
    assert sorted(path for path, (kind, _) in template.items() if not kind.startswith("d")) == [
        "skillgym.config.yaml",
        "src/a.js",
    ]
    assert (root / "promoted/one.bench.json.template/src/a.js").read_text() == "a\n"


def test_a_green_check_of_a_failed_session_is_red_and_an_expectation_repairs_it(tmp_path):
    program = (
        "from skillgym_action import Suite, Workspace\n"
        'workspace = Workspace(template_dir="template")\n'
        'suite = Suite("notes")\n\n\n'
        '@suite.case("writes", prompt="Write notes.")\n'
        "def writes(report, ctx):\n"
        "    assert 'good' in report.final_output\n"
    )
    files = {"bench/core.json": None, "bench/notes_suite.py": program, "bench/template/a.md": "a\n"}
    files["skillgym.config.yaml"] = config(runner("echo bad > notes.md; echo bad"))
    root = repository(tmp_path / "repo", files, git=True)
    assert skillgym("run", "--output", "run", cwd=root).code == FAILED
    done = skillgym("promote", "run", cwd=root)
    assert done.code == FAILED
    assert "note: the assertions of the case are those of a python suite, not of x-bench: none was copied" in done.out
    assert (
        "check: green with the recorded session, which had failed: add the expectation that it did not meet" in done.out
    )
    wanted = "file:notes.md contains 'good'"
    repaired = skillgym("promote", "run", "--force", "--expect", wanted, cwd=root)
    assert repaired.code == PASSED, repaired.err
    assert f"given: {wanted}" in repaired.out
    wrong = skillgym("promote", "run", "--force", "--expect", "file:notes.md contians 'x'", cwd=root)
    assert (wrong.code, "did you mean 'contains'?" in wrong.err) == (INVALID, True)


def test_a_session_that_changed_nothing_needs_an_expectation(tmp_path):
    root = repository(tmp_path / "repo", {"skillgym.config.yaml": config(runner("true"))}, git=True)
    skillgym("run", "--output", "run", cwd=root)
    (root / "bench/core.json").write_text(suite(case("another")))
    done = skillgym("promote", "run", cwd=root)
    assert (done.code, done.out) == (INVALID, "")
    assert "no expectation could be drafted" in done.err
    assert "state with --expect what it should have done" in done.err
    assert not (root / "promoted").exists()


def test_keys_and_private_paths_are_not_written(shop):
    secret = "correct-horse-battery"
    private = f"{secret} {KEY} /home/ann/x"
    file = session_of(shop) / "report.json"
    report = json.loads(file.read_text())
    events = [{"type": "message", "role": "assistant", "text": private, "phase": "final"}]
    file.write_text(json.dumps(report | {"prompt": f"Use {private} in {report['cwd']}/y", "events": events}))
    (session_of(shop) / "changes/tax.js").write_text(private)
    (session_of(shop) / f"changes/{KEY}.js").write_text("x")
    done = skillgym("promote", session_of(shop), "--to", "p/tax.bench.json", cwd=shop, TOKEN_OF_MINE=secret)
    assert done.out, done.err
    for path in (shop / "p").rglob("*"):
        text = f"{path} {path.read_text() if path.is_file() else ''}"
        assert not any(part in text for part in (secret, KEY, "/home/ann")), path
    made = json.loads((shop / "p/tax.bench.json").read_text())["cases"][0]
    assert made["prompt"] == "Use *** *** /home/user/x in y"
    assert "note: what looks like a key (github, secret) was replaced by *** in changes/tax.js" in done.out
    assert "paths of home folders were replaced by /home/user" in done.out
    assert not any(part in done.out + done.err for part in (secret, KEY))


def test_a_suite_that_is_not_in_the_checkout_is_an_error_with_the_commit(shop):
    (shop / "bench/core.bench.json").unlink()
    done = skillgym("promote", "run", "--case", "tax", cwd=shop)
    assert (done.code, done.out) == (INVALID, "")
    commit = git_in(shop, "rev-parse", "HEAD")[:12]
    assert f"the files of the session are unknown; check out the commit of the run, {commit}" in done.err


def test_a_suite_outside_of_the_checkout_is_never_loaded(shop):
    loaded = shop.parent / "loaded"
    written(shop.parent, {"evil_suite.py": f"import pathlib, skillgym_action\npathlib.Path({str(loaded)!r}).touch()\n"})
    results = shop / "run/results.json"
    results.write_text(results.read_text().replace("bench/core.bench.json", "../evil_suite.py"))
    done = skillgym("promote", "run", "--case", "tax", cwd=shop)
    assert (done.code, done.out) == (INVALID, "")
    assert not loaded.exists()
    assert not (shop / "promoted").exists()


def test_a_case_that_is_gone_has_drafts_only(shop):
    written(shop, {"bench/core.bench.json": suite(case("other"), workspace={"templateDir": "template"})})
    done = skillgym("promote", "run", "--case", "tax", cwd=shop)
    assert "has no such case in the checkout any more: none of its assertions was copied" in done.out
    assert [line for line in done.out.splitlines() if line.startswith("drafted")] == [
        "drafted: file:tax.js exists",
        "drafted: no-file:old.js",
    ]


def test_agents_do_not_see_recorded_sessions(tmp_path):
    script = "ls bench > seen.txt; find . -name '*.recordings' >> seen.txt; ! grep -q recordings seen.txt"
    files = {"bench/core.json.recordings/x/report.json": "{}", "bench/other.txt": "x"}
    root = repository(tmp_path / "repo", files | {"skillgym.config.yaml": config(runner(script))}, git=True)
    skillgym("run", "--output", "run", cwd=root)
    seen = (root / "run/core/one/sh/repeat-1/changes/seen.txt").read_text()
    assert seen.split() == ["other.txt"]


def session_of(root: Path) -> Path:
    return root / "run/core/tax/sh/repeat-1"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("prompt", ["x"]),
        ("runner", {}),
        ("events", [{"type": "command", "command": {"a": 1}}]),
        ("files", {"observedReads": [1]}),
    ],
)
def test_the_report_of_an_untrusted_run_is_checked(shop, field, value):
    file = session_of(shop) / "report.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | {field: value}))
    done = skillgym("promote", session_of(shop), cwd=shop)
    assert (done.code, done.out) == (INVALID, ""), done.err
    assert "not a session report" in done.err
    assert not (shop / "promoted").exists()


def test_names_in_an_untrusted_run_do_not_lead_to_other_files(shop):
    file = session_of(shop) / "report.json"
    report = json.loads(file.read_text())
    report["runner"]["pathKey"] = "../../../../../../escaped"
    report["prompt"] = "\x1b[31m::error::x\u202e"
    file.write_text(json.dumps(report))
    changes = session_of(shop) / "changes"
    (changes / "out").symlink_to("/etc/passwd")
    (changes / "tax.js").unlink()
    (changes / "tax.js").symlink_to("/etc/hostname")
    (session_of(shop) / "workspace.json").write_text('{"deleted": ["../../x", 1, "/etc/passwd"]}')
    done = skillgym("promote", session_of(shop), cwd=shop)
    recording = shop / "promoted/tax.bench.json.recordings/tax/tax/escaped-680ae642"
    assert list(shop.parent.rglob("escaped*")) == [recording]
    assert list(shop.parent.parent.glob("escaped*")) == []
    assert not [path for path in (shop / "promoted").rglob("*") if path.is_symlink()]
    assert "note: links that lead out of the workspace were left out: out, tax.js" in done.out
    assert "\x1b" not in done.out
    assert json.loads((shop / "promoted/tax.bench.json").read_text())["cases"][0]["prompt"] == "::error::x"


def test_a_run_in_a_folder_that_a_link_leads_to_is_refused(shop):
    (shop / "linked").symlink_to(shop / "run")
    done = skillgym("promote", "linked", cwd=shop)
    assert (done.code, "the folder of the session" in done.err) == (INVALID, True)


def test_options_of_the_other_kind_of_session_are_refused(shop, tmp_path):
    assert "--commit: a run says itself" in skillgym("promote", "run", "--commit", "HEAD", cwd=shop).err
    assert "--worktree: a run says itself" in skillgym("promote", "run", "--worktree", cwd=shop).err
    transcript = tmp_path / "a.jsonl"
    transcript.write_text("{}\n")
    assert "--case and --runner choose" in skillgym("promote", transcript, "--case", "x", cwd=shop).err
    named = skillgym("promote", "run", "--case", "tax", "--to", "x.json", cwd=shop)
    assert "the name of a new suite ends with .bench.json" in named.err


# --- transcripts of agents --------------------------------------------------------------------------


@pytest.fixture
def checkout(tmp_path):
    """The checkout that the transcripts are about, committed before they were made."""
    root = written(tmp_path / "shop", {"notes.md": "note\n", "sub/x.md": "x\n"})
    git_in(root, "init", "--quiet", "--initial-branch=main")
    git_in(root, "add", "--all")
    earlier = environment(GIT_COMMITTER_DATE="2026-11-01T00:00:00Z")
    subprocess.run(("git", *IDENTITY, "commit", "--quiet", "--message=x"), cwd=root, env=earlier, check=True)
    return root


def transcript_of(agent: str, root: Path, **replaced: str) -> Path:
    """The agent's file about a session in ``root``."""
    text = (DATA / "transcripts" / f"{agent}.jsonl").read_text().replace("/home/dev/shop", str(root))
    for old, new in replaced.items():
        text = text.replace(old, new)
    file = root.parent / f"{agent}.jsonl"
    file.write_text(text)
    return file


def head(root: Path) -> str:
    return git_in(root, "rev-parse", "HEAD").strip()


CODEX_COMMIT = "f516d7cfb74de10aae543db305e877a71dfa7526"


@pytest.mark.parametrize("agent", ["claude-code", "codex"])
def test_a_local_session_becomes_a_case(checkout, agent):
    written(checkout, {"notes.md": "not committed\n", "secret.txt": "not committed\n"})
    file = transcript_of(agent, checkout, **{CODEX_COMMIT: head(checkout)})
    done = skillgym("promote", file, cwd=checkout)
    assert done.code == PASSED, done.err
    assert "drafted: diff:notes.md" in done.out
    assert "drafted: test:npm test passes" in done.out
    assert "check: red with the recorded session; is this the failure that you promote it for?" in done.out
    folder = checkout / "promoted/please-make-it-better.bench.json.template"
    assert (folder / "notes.md").read_text() == "note\n"
    assert not (folder / "secret.txt").exists()
    (changed,) = (checkout / "promoted").glob("*.recordings/*/*/*/repeat-1/changes/notes.md")
    assert changed.read_text() == "better note\nsecond\n"
    made = json.loads((checkout / "promoted/please-make-it-better.bench.json").read_text())["cases"][0]
    assert (made["prompt"], made["x-promoted"]["commit"]) == ("Please make it better.", head(checkout))
    assert skillgym("check", "promoted", cwd=checkout).code == PASSED
    guessed = f"{head(checkout)[:12]} was the last one on main before it began"
    assert (guessed in done.out) is (agent == "claude-code")


def test_a_session_in_a_folder_of_the_checkout_has_a_template_of_that_folder(checkout):
    file = transcript_of("claude-code", checkout / "sub", **{"notes.md": "x.md", "note\\\\n": "x\\\\n"})
    file = shutil.move(file, checkout.parent / "a.jsonl")
    done = skillgym("promote", file, "--no-check", cwd=checkout)
    assert done.code == PASSED, done.err
    assert sorted(tree(checkout / "promoted/please-make-it-better.bench.json.template")) == ["x.md"]


def test_no_other_repository_of_the_machine_is_read(checkout, tmp_path):
    other = repository(tmp_path / "other", {"private.txt": "private\n"}, git=True)
    for agent in ("claude-code", "codex"):
        file = transcript_of(agent, other, **{CODEX_COMMIT: head(other)})
        done = skillgym("promote", file, cwd=checkout)
        assert (done.code, done.out) == (INVALID, "")
        assert f"the session worked in {other}, which is not in this checkout" in done.err
    clone = skillgym("promote", file, "--commit", "HEAD", cwd=checkout)
    assert clone.code == PASSED, clone.err
    assert not list((checkout / "promoted").rglob("private.txt"))


@pytest.mark.parametrize("branch", ["--output=pwned", "main..HEAD", "a\0b"])
def test_the_branch_of_a_transcript_is_only_a_name(checkout, branch):
    file = transcript_of("claude-code", checkout, **{'"gitBranch": "main"': f'"gitBranch": {json.dumps(branch)}'})
    done = skillgym("promote", file, cwd=checkout)
    assert (done.code, done.out) == (INVALID, "")
    assert "does not say which commit was checked out; name it with --commit" in done.err
    assert not list(checkout.rglob("pwned"))


def test_a_commit_that_is_missing_is_an_error(checkout):
    done = skillgym("promote", transcript_of("codex", checkout), cwd=checkout)
    assert "the commit f516d7cfb74d of the session is not in this checkout; fetch it, or name another" in done.err
    named = skillgym("promote", transcript_of("codex", checkout), "--commit", "--all", cwd=checkout)
    assert "--commit --all: there is no such commit" in named.err


def test_edits_outside_of_the_session_s_folder_are_left_out(checkout):
    file = transcript_of("claude-code", checkout, **{"a/made.txt": "../../made.txt"})
    done = skillgym("promote", file, cwd=checkout)
    assert "note: edits outside of the session's folder were left out: made.txt" in done.out
    assert not list(checkout.parent.rglob("made.txt"))


def test_uncommitted_content_that_the_transcript_shows_is_in_the_template(checkout):
    file = transcript_of("claude-code", checkout, **{'"originalFile": "note\\n"': '"originalFile": "draft\\n"'})
    done = skillgym("promote", file, cwd=checkout)
    assert (
        "before the session these files differed from the commit; the template has their content: notes.md" in done.out
    )
    assert (checkout / "promoted/please-make-it-better.bench.json.template/notes.md").read_text() == "draft\n"


def test_what_a_session_changed_is_taken_from_the_present_files(checkout):
    written(checkout, {"by-shell.txt": "x\n"})
    (checkout / "notes.md").unlink()
    (checkout / "promoted").mkdir()
    file = transcript_of("codex", checkout, **{CODEX_COMMIT: head(checkout)})
    done = skillgym("promote", file, "--worktree", cwd=checkout)
    assert done.code == PASSED, done.err
    assert [line for line in done.out.splitlines() if line.startswith("drafted")] == [
        "drafted: file:by-shell.txt exists",
        "drafted: no-file:notes.md",
        "drafted: test:npm test passes",
    ]
    again = skillgym("promote", file, "--worktree", "--force", cwd=checkout)
    assert (again.code, "drafted: file:by-shell.txt exists" in again.out) == (PASSED, True), again.err
    assert "drafted: file:promoted" not in again.out


def test_of_a_large_commit_only_what_the_session_used_is_taken(checkout):
    written(checkout, {f"many/{number}.txt": "x" for number in range(2_001)})
    committed(checkout)
    file = transcript_of("codex", checkout, **{CODEX_COMMIT: head(checkout)})
    done = skillgym("promote", file, "--no-check", cwd=checkout)
    assert (
        "note: the commit has more than 2,000 files or 20 MiB: the template has only files that the session read"
        in done.out
    )
    assert sorted(tree(checkout / "promoted/please-make-it-better.bench.json.template")) == ["notes.md"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is not a transcript of Claude Code or Codex"),
        ('{"type": "user", "sessionId": "s", "cwd": "/w"}\n', "no message of the user is in it"),
        ('{"type": "user", "sessionId": "s", "message": {"content": "x"}}\n', "it does not say which folder"),
    ],
)
def test_a_file_that_is_no_session_is_an_error(checkout, content, message):
    file = checkout.parent / "a.jsonl"
    file.write_text(content)
    done = skillgym("promote", file, cwd=checkout)
    assert (done.code, done.out) == (INVALID, "")
    assert message in done.err


def test_suites_are_not_looked_for_in_what_promote_wrote(checkout):
    written(checkout, {"bench/x.json": suite(), "notes.md": "note\n"})
    committed(checkout)
    file = transcript_of("codex", checkout, **{CODEX_COMMIT: head(checkout)})
    skillgym("promote", file, "--no-check", cwd=checkout)
    assert (checkout / "promoted/please-make-it-better.bench.json.template/bench/x.json").is_file()
    listed = skillgym("check", cwd=checkout)
    assert [line for line in listed.out.splitlines() if ".json:" in line] == [
        "bench/x.json: x-bench, 1 case",
        "promoted/please-make-it-better.bench.json: x-bench, 1 case",
    ]
