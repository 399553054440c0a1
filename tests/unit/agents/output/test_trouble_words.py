"""Kinds of errors by the shape of their words. No row here is a row of the table: other words of the same shapes."""

from __future__ import annotations

import pytest

from sessions import SESSION, capture_of
from skillgym_action.agents import agent_named
from skillgym_action.agents.output.trouble_signs import kind_of_error, kind_of_text, unfinished
from skillgym_action.agents.output.trouble_words import EXACT, OTHER
from skillgym_action.model.verdicts import TROUBLES
from table_rows import each_row

WORDS = {
    "quota": (
        "You've hit your limit · resets 3pm (Asia/Tokyo)",
        "Monthly limit reached. Your plan renews on 1 July.",
        "5-hour limit reached ∙ resets 11pm",
        "Opus weekly limit reached, resets Monday",
        "You have reached your session limit. It resets at 18:00.",
        "The usage limit has been reached",
        "You've used up your monthly allowance; the quota resets in 3 days",
        "Your organization's spending limit was exceeded",
        "This request would exceed the budget limit of your account: exceeded",
        "You are out of credits. Top up to continue.",
        "Not enough: 0 credits left on this key",
        "402 Payment Required",
        "Insufficient credits",
        "You have exceeded your premium request allowance. Limit resets on the 1st; upgrade your plan.",
        "quota_exceeded",
        "You're out of extra usage · resets 3pm (UTC)",
        "Your monthly credits are exhausted. Credits renew on Jan 3.",
        "No more requests: your included usage resets tomorrow",
        "Daily quota exhausted for this project",
    ),
    "rate-limit": (
        "Rate limit reached for requests per min. Limit: 3. Please try again in 20s.",
        "429 Too Many Requests",
        "Overloaded",
        "This request exceeds the rate limit of your organization",
        "rate_limit_error: retry after 12 seconds",
    ),
    "context-exceeded": (
        "413 Request Entity Too Large",
        "Payload too large",
        "messages are too long: 210000 tokens > 200000 maximum",
        "refused the conversation as too large",
        "The request exceeds the allowed size of 4 MB",
        "body size exceeds 4 MB",
        "This model's maximum context length is 128000 tokens",
    ),
    "auth": (
        "Your refresh token was already used. Please log out and sign in again.",
        "OAuth session expired and could not be refreshed",
        "The access token has expired",
        "Your login expired two days ago",
        "You are not signed in",
        "401 Unauthorized",
    ),
    "network": (
        "<!DOCTYPE html><html><head><title>Sign in to the guest network</title>",
        "API Error: 404 <html><body><h1>Not Found</h1><p>models</p></body></html>",
        "404 page not found",
        "Error: 404 Cannot POST /v1/messages",
        "404 status code (no body)",
        "The response is an HTML document, not an answer",
        "Not Found",
        "error sending request for url (http://127.0.0.1:9/v1/responses)",
        "Unable to connect to API (ECONNREFUSED)",
    ),
    "model-rejected": (
        'API Error: 404 {"type":"error","error":{"type":"not_found_error","message":"model: nope"}}',
        "404 The model `nope` does not exist or you do not have access to it",
    ),
    "provider": (
        "Unexpected end of input",
        "Unterminated string in JSON at position 40",
        "failed to deserialize the response: EOF while parsing a value",
        "502 Bad Gateway",
    ),
}


@each_row([(words, (kind, words)) for kind, all_words in WORDS.items() for words in all_words])
def test_the_shape_of_words_tells_the_kind(row):
    kind, words = row
    assert kind_of_text(words) == kind


@each_row(
    {
        "what the model may do": "the agent reached its turn limit",
        "a file": "file size limit of 10 MB exceeded",
        "memory": "JavaScript heap out of memory",
        "a time": "the time limit was reached",
        "a session": "the session exceeded 10 minutes",
        "a budget of the suite": "exceeded the budget of $0.10",
        "a command": "exit code 1: no such file or directory",
    }.items()
)
def test_other_limits_are_not_those_of_an_account(words):
    assert kind_of_text(words) not in {"quota", "rate-limit", "auth"}


def test_words_that_say_more_than_the_status_decide():
    assert kind_of_error("Weekly limit reached · resets Jun 3 at 4pm", 429) == "quota"
    assert kind_of_error("please slow down", 429) == "rate-limit"
    assert kind_of_error("Rate limited: no credits left, buy more credits", 402) == "quota"
    assert kind_of_error("something", 402) == "quota"


def test_each_row_of_the_table_has_a_kind_and_says_where_it_was_seen():
    assert {kind for kind, _, _ in (*EXACT, *OTHER)} <= TROUBLES.keys()
    assert all(seen for _, _, seen in (*EXACT, *OTHER))


HELP = "Usage: agent [options]\n  --api-key KEY  authenticate with a key\n  --model  the model"


@each_row(
    {
        "yargs, an unknown one": (f"{HELP}\n\nUnknown argument: nope", "Unknown argument: nope"),
        "yargs, a wrong value": (
            f'Invalid values:\n  Argument: mode, Given: "x", Choices: "a", "b"\n{HELP}',
            'Invalid values: Argument: mode, Given: "x", Choices: "a", "b"',
        ),
        "yargs, one is missing": (
            f"{HELP}\nNot enough arguments following: model",
            "Not enough arguments following: model",
        ),
        "clap": (
            "error: invalid value 'x' for '--mode <MODE>'\n  [possible values: a]",
            "error: invalid value 'x' for '--mode <MODE>'",
        ),
        "commander": ("error: unknown option '--nope'", "error: unknown option '--nope'"),
        "commander, a wrong value": (
            "error: option '--mode <m>' argument 'x' is invalid. Allowed choices are a, b.",
            "error: option '--mode <m>' argument 'x' is invalid. Allowed choices are a, b.",
        ),
    }.items()
)
def test_a_refused_command_line_is_no_matter_of_the_words_in_its_help(row):
    stderr, line = row
    found = unfinished(capture_of(exit_code=2, stderr=stderr))
    assert (found.kind, found.message) == ("runner-crash", f"exited with code 2: {line}")


STREAMING = ("claude-code", "codex", "copilot", "cursor-agent", "gemini", "opencode", "pi", "qwen")
LIMIT = "You've hit your limit · resets 1pm (Europe/Lisbon)"


@pytest.mark.parametrize("agent", STREAMING)
@pytest.mark.parametrize(
    "streams",
    [
        {"stdout": f"starting\n{LIMIT}\n"},
        {"stdout": "starting\n", "stderr": f"warning: an old version\n{LIMIT}\n"},
        {"stderr": f"{LIMIT}\n" + "    at frame (file.js:1:2)\n" * 400},
        {"stdout": f"\x1b[31m{LIMIT}\x1b[0m\n"},
    ],
    ids=["stdout alone", "the end of stderr", "the first line of stderr", "in colour"],
)
def test_the_last_words_of_an_agent_are_found_on_both_streams(agent, streams):
    capture = capture_of(exit_code=1, **streams)
    trouble = agent_named(agent).trouble(capture, agent_named(agent).transcript(capture, SESSION))
    assert (trouble.kind, LIMIT in trouble.message) == ("quota", True)
