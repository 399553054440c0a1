"""GitHub's own description of its REST interface, and whether a request and a reply keep to it.

``data/github-openapi.json`` is GitHub's description cut by ``cut_openapi.py``. Reality departs from it in two places,
which are put right here: any operation may be refused, and a review comment that is outdated stands on no line.
"""

from __future__ import annotations

import functools
import json
import re
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from paths import DATA

if TYPE_CHECKING:
    from collections.abc import Callable

    from openapi_core.datatypes import RequestParameters
    from werkzeug.datastructures import Headers

DESCRIPTION = DATA / "github-openapi.json"
HOST = "https://api.github.com"
REFUSAL = {"description": "", "content": {"application/json": {"schema": {"$ref": "#/components/schemas/basic-error"}}}}
LEAST = {"string": "", "integer": 0, "number": 0, "boolean": False}
LEAST_STRINGS = {"uri": f"{HOST}/", "date-time": "2026-01-01T00:00:00Z"}


class ContractError(AssertionError):
    """Somebody did not keep to GitHub's description."""


@dataclass(frozen=True)
class Operation:
    """What a request asks for: the operation's name and the values of the variables in its path."""

    name: str
    variables: dict[str, str]
    query_names: frozenset[str]


@dataclass(kw_only=True)
class SentRequest:
    """A request as openapi-core wants it: method in lower case, path as described, without host and prefix."""

    method: str
    path: str
    query: str = ""
    content_type: str = ""
    body: bytes = b""
    host_url: str = HOST

    @functools.cached_property
    def parameters(self) -> RequestParameters:
        from openapi_core.datatypes import RequestParameters
        from werkzeug.datastructures import ImmutableMultiDict

        return RequestParameters(query=ImmutableMultiDict(parse_qsl(self.query, keep_blank_values=True)))

    @property
    def query_names(self) -> frozenset[str]:
        return frozenset(self.parameters.query)

    def __str__(self) -> str:
        return f"{self.method.upper()} {self.path}"


@dataclass(frozen=True, kw_only=True)
class SentReply:
    status_code: int
    content_type: str
    data: bytes

    @property
    def headers(self) -> Headers:
        from werkzeug.datastructures import Headers

        return Headers()


class Contract:
    """Texts of violations are for people; an empty tuple says that there is none.

    openapi-core takes long to import, hence only tests that need it do so.
    """

    def __init__(self, description: dict[str, Any]) -> None:
        from openapi_core import Config, OpenAPI

        _put_right(description)
        self._schemas = description["components"]["schemas"]
        self._least_objects: dict[str, dict[str, Any]] = {}
        # A request may hold nothing that GitHub would ignore; a reply may say more than is described.
        self._requests = OpenAPI.from_dict(description, Config(additional_properties_default_policy="forbid"))
        self._replies = OpenAPI.from_dict(description)
        self._operations = [
            (
                method,
                re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", path)),
                operation["operationId"],
                _query(operation, description),
            )
            for path, item in description["paths"].items()
            for method, operation in item.items()
        ]

    def operation(self, method: str, path: str) -> Operation | None:
        for known, pattern, name, query_names in self._operations:
            if known == method and (match := pattern.fullmatch(path)):
                return Operation(name, match.groupdict(), query_names)
        return None

    def request_violations(self, request: SentRequest) -> tuple[str, ...]:
        operation = self.operation(request.method, request.path)
        if operation is None:
            return (f"{request}: GitHub's description, as cut for the tests, does not have it",)
        said = _said(request, lambda: self._requests.validate_request(request))
        unknown = sorted(request.query_names - operation.query_names)
        return said + tuple(f"{request}: the query has no {name}" for name in unknown)

    def reply_violations(self, request: SentRequest, reply: SentReply) -> tuple[str, ...]:
        if self.operation(request.method, request.path) is None:
            return ()
        return _said(request, lambda: self._replies.validate_response(request, reply), f"reply {reply.status_code} to ")

    def least(self, name: str) -> dict[str, Any]:
        """A new smallest value of a schema: what is required, and nothing in it."""
        if name not in self._least_objects:
            self._least_objects[name] = self._least(self._schemas[name])
        return deepcopy(self._least_objects[name])

    def _least(self, schema: dict[str, Any]) -> Any:
        if "$ref" in schema:
            return self._least(self._schemas[schema["$ref"].rpartition("/")[2]])
        if schema.get("nullable"):
            return None
        if "enum" in schema:
            return schema["enum"][0]
        if schema["type"] == "object":
            return {name: self._least(schema["properties"][name]) for name in schema.get("required", ())}
        if schema["type"] == "array":
            return []
        return LEAST_STRINGS.get(schema.get("format", ""), LEAST[schema["type"]])


@functools.cache
def contract() -> Contract:
    """Loaded once a process."""
    return Contract(json.loads(DESCRIPTION.read_text(encoding="utf-8")))


def _put_right(description: dict[str, Any]) -> None:
    for item in description["paths"].values():
        for operation in item.values():
            operation["responses"] |= {"4XX": REFUSAL, "5XX": REFUSAL}
    properties = description["components"]["schemas"]["pull-request-review-comment"]["properties"]
    for name in ("line", "position"):
        properties[name]["nullable"] = True


def _query(operation: dict[str, Any], description: dict[str, Any]) -> frozenset[str]:
    shared = description["components"]["parameters"]
    parameters = [
        shared[given["$ref"].rpartition("/")[2]] if "$ref" in given else given for given in operation["parameters"]
    ]
    return frozenset(parameter["name"] for parameter in parameters if parameter["in"] == "query")


def _said(request: SentRequest, check: Callable[[], None], about: str = "") -> tuple[str, ...]:
    from openapi_core.exceptions import OpenAPIError

    try:
        check()
    except OpenAPIError as error:
        reasons = getattr(error.__cause__, "schema_errors", ())
        why = "; ".join(f"{reason.json_path}: {reason.message}" for reason in reasons) or f"{error}, {error.__cause__}"
        return (f"{about}{request}: {why[:500]}",)
    return ()
