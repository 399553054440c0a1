"""From a request to its reply as GitHub would give it: who asks, whether they may, which operation, which page."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, urlencode

from github_contract import contract
from github_operations import OPERATIONS, Asked, BodyLimit, RefusedError
from github_replies import Reply
from github_runs import RUN_OPERATIONS
from github_state import User

if TYPE_CHECKING:
    from github_contract import SentRequest
    from github_operations import Answer
    from github_shapes import Shapes
    from github_state import Repository

PER_PAGE = 30
MOST_PER_PAGE = 100
API_VERSIONS = {"", "2022-11-28"}
VIEWER = "query { viewer { login } }"


@dataclass(frozen=True)
class Credentials:
    """The headers by which GitHub knows who asks. ``token`` empty: none was sent."""

    token: str
    user_agent: str
    api_version: str


@dataclass
class Service:
    """``url`` is the address that GitHub's paths are below."""

    repository: Repository
    shapes: Shapes
    url: str
    users: dict[str, User] = field(default_factory=dict)
    limit: BodyLimit = field(default_factory=BodyLimit)

    def rest(self, request: SentRequest, credentials: Credentials, *, in_order: bool) -> Reply:
        """The reply to a request of the REST interface. What is not ``in_order`` is not obeyed."""
        query = dict(parse_qsl(request.query))
        try:
            answer = self._answer(request, query, self._user(credentials), in_order=in_order)
        except RefusedError as no:
            return Reply.no(no.status, no.message, errors=no.errors)
        if isinstance(answer.body, list):
            return self._page(request.path, answer, query)
        if answer.body is None:
            return Reply(answer.status, headers=dict(answer.headers))
        return Reply.json(
            answer.status, answer.body, {"Location": answer.body["url"]} if answer.status == 201 else None
        )

    def _answer(self, request: SentRequest, query: dict[str, str], user: User, *, in_order: bool) -> Answer:
        call = contract().operation(request.method, request.path)
        if call is None or f"{call.variables['owner']}/{call.variables['repo']}" != self.repository.name:
            raise RefusedError(404, "Not Found")
        operation = (OPERATIONS | RUN_OPERATIONS)[call.name]
        _refuse_without_permission(user, operation.writes)
        if not in_order:
            raise RefusedError(422, "Invalid request.")
        body = json.loads(request.body or b"{}")
        asked = Asked(self.repository, self.shapes, user, self.limit, variables=call.variables, query=query, body=body)
        return operation.answer(asked)

    def graphql(self, body: bytes, credentials: Credentials) -> Reply:
        """The login of whoever asks."""
        try:
            user = self._user(credentials)
        except RefusedError as no:
            return Reply.no(no.status, no.message)
        if not user.login:
            return Reply.no(401, "This endpoint requires you to be authenticated.")
        if not is_viewer(body):
            return Reply.json(200, {"errors": [{"type": "undefinedField", "message": f"only {VIEWER} is known here"}]})
        return Reply.json(200, {"data": {"viewer": {"login": user.login}}})

    def _user(self, credentials: Credentials) -> User:
        """Anybody may read; that user has no login."""
        if not credentials.user_agent:
            raise RefusedError(
                403, "Request forbidden by administrative rules. Please make sure your request has a User-Agent header"
            )
        if credentials.api_version not in API_VERSIONS:
            raise RefusedError(400, f"{credentials.api_version} is not a supported version of the API")
        if credentials.token and credentials.token not in self.users:
            raise RefusedError(401, "Bad credentials")
        return self.users.get(credentials.token, User(""))

    def _page(self, path: str, answer: Answer, query: dict[str, str]) -> Reply:
        """A page of the items. Its links name the repository by its number, as GitHub's do."""
        items: list[Any] = answer.body if isinstance(answer.body, list) else []
        size = min(int(query.get("per_page") or PER_PAGE), MOST_PER_PAGE) or PER_PAGE
        page = max(int(query.get("page") or 1), 1)
        last = -(-len(items) // size)
        pages = {"prev": page - 1, "next": page + 1, "last": last, "first": 1}
        shown = {"prev", "first"} if page > 1 else set()
        shown |= {"next", "last"} if page < last else set()
        address = self.url + path.replace(f"/repos/{self.repository.name}", f"/repositories/{self.repository.id}", 1)
        links = [
            f'<{address}?{urlencode({**query, "page": to})}>; rel="{rel}"' for rel, to in pages.items() if rel in shown
        ]
        shown_items = items[(page - 1) * size : page * size]
        bodies = shown_items if answer.key else [self.shapes.shape(item) for item in shown_items]
        body = {"total_count": len(items), answer.key: bodies} if answer.key else bodies
        return Reply.json(200, body, {"Link": ", ".join(links)} if links else None)


def is_viewer(body: bytes) -> bool:
    """Whether a body is the one GraphQL query that is answered, however it is laid out."""
    try:
        asked: Any = json.loads(body)
    except ValueError:
        return False
    query = asked.get("query") if isinstance(asked, dict) else None
    words = str(query).replace("{", " { ").replace("}", " } ").split()
    return words == VIEWER.split()


def _refuse_without_permission(user: User, writes: frozenset[str]) -> None:
    if writes and not user.login:
        raise RefusedError(401, "Requires authentication")
    if writes and not writes & user.writes:
        raise RefusedError(403, "Resource not accessible by integration")
