"""Wordings of errors, as data: which kind of trouble the words of an error message mean.

Each row: the kind, a pattern of words, and where such words were seen. Rows describe the shape of a message ("limit"
near "resets"), not whole sentences: services change those. The first row that fits decides.
"""

from __future__ import annotations

import re

_PERIOD = r"(?:daily|weekly|monthly|hourly|\d+[ -]?(?:h|hour|day|week)s?|session|per ?day)"
_ACCOUNT = rf"(?:usage|spend\w*|credits?|plan|billing|budget|subscription|account|allowance|{_PERIOD})"
_USED_UP = r"(?:reached|exceeded|hit|exhausted|used up|ran out|run out|over|depleted|consumed)"

# Words that say more than the HTTP status, which is 400, 403 or 429 for several causes. Gemini has the same message
# for a limit per minute and one per day: the id of the limit tells them apart, or how soon another try is welcome.
EXACT = (
    ("quota", r"PerDay|insufficient_quota", "gemini, openai: the id of the limit"),
    ("rate-limit", r"overloaded|PerMinute|retry in [\d.]+ ?m?s\b|(?:requests|tokens) per min", "all services"),
    (
        "rate-limit",
        r"rate.?limit.{0,120}\b(?:resets?|retry|try again)\b.{0,20}\b\d+(?:\.\d+)?\s?(?:m?s|sec\w*|m|min\w*)\b",
        "gateways: a rate limit that ends soon",
    ),
    (
        "context-exceeded",
        r"(?:prompt|input|request|conversation|messages?) (?:is|are|as) too (?:long|large)",
        "claude, openai, copilot",
    ),
    ("context-exceeded", r"prompt_too_long|context.length", "claude, openai"),
    ("context-exceeded", r"context.?(?:window|size|limit)|maximum number of tokens allowed", "openai, gemini, pi"),
    ("context-exceeded", r"(?:payload|entity|content|body) too large", "HTTP 413 of any service"),
    (
        "context-exceeded",
        r"(?:request|payload|body) (?:size exceeds|exceeds the [\w ]{0,20}\bsize)\b",
        "HTTP 413: claude, gemini",
    ),
    (
        "output-limit",
        r"output.?token (?:maximum|limit)|max_output_tokens|max_tokens\b.{0,30}(?:reached|exceeded)",
        "claude, openai",
    ),
    ("quota", r"insufficient (?:credits?|balance|funds)|credit balance|payment required|billing", "all services"),
    (
        "quota",
        rf"\b(?:limits?|quotas?)\b.{{0,80}}\b(?:resets?|renews?|upgrade|purchase|buy|top.?up|{_ACCOUNT})\b",
        "claude: hit your limit, resets 1pm; codex: try again at, upgrade to; copilot: quota of the plan",
    ),
    (
        "quota",
        rf"\b{_ACCOUNT}\b.{{0,40}}\b(?:limits?|quotas?)\b.{{0,60}}\b(?:{_USED_UP}|resets?|renews?)\b",
        "the usage limit has been reached; weekly limit reached",
    ),
    (
        "quota",
        rf"\b{_USED_UP}\b.{{0,40}}\b{_ACCOUNT}\b.{{0,40}}\b(?:limits?|quotas?)\b",
        "you have exceeded your monthly spending limit",
    ),
    ("quota", rf"\b{_USED_UP}\b[^.\]\n]{{0,30}}\bquotas?\b", "openai: you exceeded your current quota"),
    ("quota", rf"\b(?:out of|no(?: more| remaining)?|0) credits?\b|quota.?{_USED_UP}", "openrouter, opencode"),
    (
        "quota",
        r"\b(?:out of|used (?:up|all)|no (?:more|remaining))\b.{0,30}\b(?:usage|credits?|quota|allowance)\b",
        "claude: out of extra usage, resets 3pm",
    ),
    (
        "quota",
        r"\b(?:usage|credits?|quota|allowance)\b.{0,30}\b(?:exhausted|used up|depleted|resets?|renews?)\b",
        "monthly credits are exhausted",
    ),
    (
        "content-policy",
        r"content.?(?:filter|policy|management policy)|prohibited.content|invalid_prompt",
        "openai, azure, gemini",
    ),
    (
        "content-policy",
        r"flagged|violat\w+ (?:of )?(?:our|the) (?:usage|content)|blocked by .{0,20}(?:safety|polic|filter)",
        "openai, gemini",
    ),
    (
        "auth",
        r"refresh.?token|re-?authenticat|(?:log|sign).?in again|not (?:logged|signed) in|please run /login",
        "claude, codex: an expired login",
    ),
    (
        "auth",
        r"(?:token|session|login|credentials?|key)\b.{0,30}\bexpired|expired.{0,30}\b(?:token|session|login|credential)",
        "claude: OAuth session expired; copilot",
    ),
    (
        "network",
        r"<!doctype html|<html\b|\bHTML (?:page|document)\b|text/html",
        "a page in place of an answer: a wrong address, a login page, a proxy",
    ),
    (
        "network",
        r"page not found|cannot (?:post|get) /|\(no body\)|\bnginx\b|\broute\b.{0,60}not found",
        "servers at a wrong address: a service that has no such model says so in JSON",
    ),
    ("network", r"(?:^\W*|404 )not found\W*$", "the same, where an agent shows the status alone"),
)
# Words of errors whose message has no status that says more.
OTHER = (
    (
        "model-rejected",
        r"\bmodel\b.{0,80}(?:not found|not exist|not supported|not available|unknown|deprecated)",
        "all services",
    ),
    ("model-rejected", r"(?:unknown|invalid|unsupported) model|model_not_found|no such model", "openai, opencode"),
    ("rate-limit", r"rate.?limit|too many requests|quota|resource.?exhausted", "all services"),
    ("auth", r"authenticat|unauthori[sz]ed|api.?key|permission.?denied.error|oauth token", "all services"),
    (
        "network",
        r"ECONNREFUSED|ECONNRESET|ENOTFOUND|EAI_AGAIN|ETIMEDOUT|EHOSTUNREACH|getaddrinfo|socket hang up",
        "Node.js",
    ),
    (
        "network",
        r"connection.?(?:refused|reset|error|failed|timed out)|network error|fetch failed|dns error",
        "Node.js, Rust, Python",
    ),
    (
        "network",
        r"(?:unable to|could not|cannot|can't) (?:connect|reach)|certificate|\bTLS\b|\bSSL\b|error sending request",
        "Node.js, Rust",
    ),
    (
        "provider",
        r"internal.server|bad gateway|service unavailable|gateway timeout|server.error|high demand",
        "all services",
    ),
    (
        "provider",
        r"stream (?:was )?(?:closed|ended|disconnected|interrupted)|malformed response|error_during_execution",
        "claude, codex, gemini",
    ),
    (
        "provider",
        r"(?:pars(?:e|ing)|(?:malformed|unexpected|incomplete|truncated).{0,40}|not valid|invalid) JSON",
        "damaged answers: Node.js",
    ),
    ("provider", r"JSON.{0,30}(?:pars|unexpected)", "damaged answers: Node.js"),
    (
        "provider",
        r"unexpected (?:token|end of)|unterminated string|failed to (?:decode|deserialize|parse)|EOF while parsing",
        "damaged answers: Node.js, Rust",
    ),
)
# A failed call of the model, as claude, gemini and qwen call it, whatever the service said.
FAILED_CALL = re.compile(r"\W*API Error\b")
# The command line was wrong: what follows is a help text, which has words of all kinds.
WRONG_USAGE = re.compile(
    r"(?:error: )?(?:(?:unknown|unrecogni[sz]ed|unexpected|invalid|missing|ambiguous|not enough)\b[^\n]{0,60}?"
    r"\b(?:argument|option|flag|values?|choice|subcommand|command)s?\b|option .{0,60} argument .{0,200} is invalid)",
    re.IGNORECASE,
)
# The CLI took the prompt for a command of its own, which it does not have or does not run unattended.
OWN_COMMAND = re.compile(
    r"\bcommand\b\W{0,3}/(?![\w:.-]*/)[\w:.-]+|\b(?:unknown|no such) (?:slash.)?command\b", re.IGNORECASE
)
