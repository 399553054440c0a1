"""Which variables are secret: by their name, and by what the configuration takes from the environment."""

from __future__ import annotations

import json

import pytest

from scratch import config, repository, runner
from skillgym_action.pipeline.wiring import configuration
from skillgym_action.settings.context import current_context
from skillgym_action.settings.runners import configured_runners
from skillgym_action.settings.settings import Settings
from skillgym_action.text.redaction import Redactor
from skillgym_action.text.secret_forms import is_secret_name, secret_values

SECRET = """
API_KEY api_key OPENAI_API_KEY MY_TOKEN TOKENS CLIENT_SECRET DB_PASSWORD SSH_PASSPHRASE AWS_CREDENTIALS GH_PAT PAT
PAT_OF_GITHUB DB_PASS PASS DBPASS PASS2 MYSQL_PWD DBPWD BASIC_AUTH AUTH OAUTH AUTH_HEADER NPM_CONFIG__AUTH AUTHORIZATION
PROXY_AUTHORIZATION BEARER COOKIE SESSION_COOKIES SENTRY_DSN DSN SLACK_WEBHOOK SLACK_WEBHOOK_URL TLS_PEM PEM
PEM_FILE CONNECTION_STRING AZURE_STORAGE_CONNECTION_STRING CONNECTIONSTRING INPUT_GITHUB-TOKEN
"""
NOT_SECRET = """
PATH MANPATH PYTHONPATH GITHUB_PATH PATTERN PATCH COMPAT PWD OLDPWD pwd AUTHOR GIT_AUTHOR_NAME AUTHORITY XAUTHORITY
SSH_AUTH_SOCK SSH_ASKPASS BYPASS_CACHE COMPASS TESTS_PASSED PASSENGER PASSES OPEN TEMPEMAIL TIMEPEM ADSN COOKIECUTTER
MODEL LANG HOME HTTPS_PROXY DATABASE_URL
"""


def test_names_of_secrets():
    assert {name for name in SECRET.split() if not is_secret_name(name)} == set()
    assert {name for name in NOT_SECRET.split() if is_secret_name(name)} == set()


@pytest.mark.parametrize(
    ("variable", "values"),
    [
        pytest.param(("API_KEY", "abcdef"), ("abcdef",), id="a key"),
        pytest.param(("GH_PAT", "abcdef"), ("abcdef",), id="a personal access token"),
        pytest.param(("INPUT_GITHUB-TOKEN", "abcdef"), ("abcdef",), id="an input of the action"),
        pytest.param(("HTTPS_PROXY", "http://me:hunter22@proxy:3128"), ("hunter22",), id="the password of an address"),
        pytest.param(("HTTPS_PROXY", "http://proxy:3128"), (), id="an address without one"),
        pytest.param(("PATH", "/bin"), (), id="nothing secret"),
    ],
)
def test_what_of_an_environment_is_secret(variable, values):
    assert secret_values(dict([variable])) == values
    told = "=".join(variable)
    hidden = Redactor.of_environment(dict([variable])).text(told)
    assert hidden == (told.replace(values[0], "***") if values else told)


# --- what the configuration takes -----------------------------------------------------------------------


ENVIRONMENT = {
    "DOOR": "open-sesame-of-a-runner",
    "WINDOW": "open-sesame-of-an-arm",
    "CHIMNEY": "open-sesame-of-the-judge",
    "OTHER": "taken-by-nobody",
    "MODEL": "a-model-by-name",
    "SHORT": "12345",
    "HOME": "/home/somebody",
    "ANTHROPIC_BASE_URL": "https://gateway.example.com",
    "KEY_ON_THE_LIST": "a-secret-by-its-name",
}


@pytest.mark.parametrize("env", [{"GATE": "${{ DOOR }}"}, {"HEADER": "Bearer ${DOOR}"}, ["DOOR"]])
def test_a_value_that_is_taken_from_the_environment_is_secret_unless_it_is_public(tmp_path, env):
    names = ["MODEL", "SHORT", "HOME", "ANTHROPIC_BASE_URL", "KEY_ON_THE_LIST"]
    env = [*env, *names] if isinstance(env, list) else {**env, **{name: f"${{{name}}}" for name in names}}
    run = {
        "publicVariables": ["MODEL", "KEY_ON_THE_LIST"],
        "judge": {"api": "openai", "model": "m", "env": {"OPENAI_BASE_URL": "${CHIMNEY}"}},
    }
    arms = {"plain": {"env": {"A": "${WINDOW}", "B": None}}, "none": {}}
    told = json.loads(config(runner(env=env), run=run)) | {"arms": arms}
    root = repository(tmp_path, {"skillgym.config.yaml": json.dumps(told), ".git/HEAD": ""})
    here = current_context(root, ENVIRONMENT)
    configured_runners(Settings(), configuration(Settings(), here), here)
    shown = {name: here.redactor.text(value) for name, value in ENVIRONMENT.items()}
    hidden = dict.fromkeys(("DOOR", "WINDOW", "CHIMNEY", "KEY_ON_THE_LIST"), "***")
    assert shown == ENVIRONMENT | hidden
