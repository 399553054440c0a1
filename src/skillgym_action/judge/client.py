"""The door to the judge: a model behind an API that is asked questions and answers in a form.

Both sides are untrusted: what it says is JSON of a bounded size that fits the form, or trouble.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import TYPE_CHECKING, NoReturn
from urllib.parse import urlsplit

from skillgym_action.judge.protocols import PROTOCOLS, Talk, may_pass, words_of
from skillgym_action.judge.questions import UnfitError, answer_schema, parsed_answer, system_prompt, user_prompt
from skillgym_action.model.judge_question import Answer
from skillgym_action.model.session_report import Trouble, Usage
from skillgym_action.model.verdicts import TROUBLES
from skillgym_action.network.proxies import DIRECT
from skillgym_action.text.escaping import clipped, one_line
from skillgym_action.text.redaction import Redactor
from skillgym_action.transcripts.agent_output import total_usage
from skillgym_action.transcripts.lenient_json import Loose, object_in
from skillgym_action.transcripts.prices import cost_usd
from skillgym_action.transcripts.trouble_signs import kind_of_status, kind_of_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tenacity import RetryCallState

    from skillgym_action.cancellation import Cancellation
    from skillgym_action.clock import Clock
    from skillgym_action.judge.protocols import JudgeProtocol, Said
    from skillgym_action.judge.session import JudgeReply
    from skillgym_action.model.judge_question import JudgeConfig, Question, T
    from skillgym_action.model.session_report import Price
    from skillgym_action.network.proxies import Network


__all__ = ["Judge"]

_QUESTIONS = 3  # the first, and two more after answers of no use
_TRIES = 5  # of one request
_REFUSED_FORM = frozenset({HTTPStatus.BAD_REQUEST, HTTPStatus.UNPROCESSABLE_ENTITY})
_KEY = re.compile(r"[!-~]*")
_SECONDS = re.compile(r"[0-9]{1,6}(?:\.[0-9]{1,6})?")
_AGAIN = "That is no answer of the form that was asked for: {why}. Answer again, with nothing but one JSON object."


class _TroubledError(Exception):
    """No answer. ``wait``: seconds after which the service wants to be asked again, where it says so."""

    def __init__(self, kind: str, message: str, *, status: int | None = None, wait: float | None = None) -> None:
        super().__init__(message)
        self.trouble = Trouble(kind=kind, message=message, retry_after=wait)
        self.status = status


class _PassingError(_TroubledError):
    """The same request may succeed later."""


@dataclass(slots=True)
class _Bill:
    """What one question has cost so far; None as soon as that is not known."""

    model: str
    prices: Mapping[str, Price]
    usd: float | None = 0.0
    usages: list[Usage] = field(default_factory=list)

    def add(self, said: Said) -> None:
        """The service's name for the model says more than ours, unless it is the service's alone."""
        self.usages.append(said.usage)
        costs = (cost_usd(name, said.usage, self.prices) for name in (said.model, self.model) if name)
        usd = next((cost for cost in costs if cost is not None), None)
        self.usd = None if usd is None or self.usd is None else self.usd + usd


class Judge:
    """A model that graders ask. It raises nothing, and may be asked by several threads."""

    def __init__(
        self,
        config: JudgeConfig,
        *,
        clock: Clock,
        cancelled: Cancellation,
        network: Network = DIRECT,
        deadline: float = 300.0,
    ) -> None:
        """``deadline``: seconds for a question, all tries together."""
        self._protocol: JudgeProtocol = PROTOCOLS[config.api]
        self._config = config
        self._key = config.env.get(self._protocol.key, "").strip()
        self._base_url = config.env.get(self._protocol.base_url, "").strip().rstrip("/")
        self._redactor = Redactor([self._key])
        self._clock = clock
        self._cancelled = cancelled
        self._network = network
        self._deadline = deadline
        self._takes_forms = True
        self._lost: Trouble | None = None

    def ask(self, question: Question[T]) -> Answer[T]:
        """The answer, or the trouble there was; once it is of a kind that stays, nothing is sent any more."""
        bill = _Bill(self._config.model, self._config.prices)
        content: T | None = None
        trouble = self._lost or self._unusable()
        if trouble is None:
            try:
                content = self._answered(question, bill)
            except _TroubledError as error:
                trouble = error.trouble
                if TROUBLES[trouble.kind].stops_runner:
                    self._lost = trouble
        return Answer(content=content, trouble=trouble, cost_usd=bill.usd, usage=total_usage(bill.usages))

    def _unusable(self) -> Trouble | None:
        """What the environment lacks. Only a service of one's own may go without a key."""
        names = self._protocol
        if self._config.problem:
            return Trouble(kind="auth", message=f"the judge: {self._config.problem}")
        if not _is_address(self._base_url or names.home):
            return Trouble(kind="grader", message=f"the judge: {names.base_url} is not the address of an API")
        if not _KEY.fullmatch(self._key):
            return Trouble(kind="auth", message=f"the judge: what {names.key} holds is not a key")
        if not (self._key or self._base_url):
            message = f"the judge: {names.key} is not set; set it, or pass it to the job as a secret"
            return Trouble(kind="auth", message=message)
        return None

    # --- one question, until the answer fits --------------------------------------------------------------

    def _answered(self, question: Question[T], bill: _Bill) -> T:
        """Raises _TroubledError."""
        end = self._clock.seconds() + self._deadline
        marker = secrets.token_hex(8)
        system, schema = system_prompt(question, marker), answer_schema(question)
        turns: tuple[str, ...] = (user_prompt(question, marker),)
        why = ""
        for _ in range(_QUESTIONS):
            talk = Talk(model=self._config.model, system=system, turns=turns, schema=schema)
            said = self._said(talk, end, bill)
            try:
                return parsed_answer(question, said.text)
            except UnfitError as error:
                why = f"it was cut off since it is too long ({error})" if said.cut else str(error)
            turns = (*turns, said.text.strip() or "(nothing)", _AGAIN.format(why=why))
        message = f"the judge gave no answer of the form that was asked for, asked {_QUESTIONS} times: {why}"
        raise _TroubledError("grader", self._shown(message))

    def _said(self, talk: Talk, end: float, bill: _Bill) -> Said:
        """What the model says. A service that does not take forms is asked in words alone."""
        if not self._takes_forms:
            return self._replied(replace(talk, schema=None), end, bill)
        try:
            return self._replied(talk, end, bill)
        except _TroubledError as error:
            if error.status not in _REFUSED_FORM:
                raise
        said = self._replied(replace(talk, schema=None), end, bill)
        self._takes_forms = False
        return said

    # --- one request, until it is answered ----------------------------------------------------------------

    def _replied(self, talk: Talk, end: float, bill: _Bill) -> Said:
        """Raises _TroubledError."""
        from tenacity import Retrying, retry_if_exception_type

        retrying = Retrying(
            retry=retry_if_exception_type(_PassingError),
            wait=_seconds_to_wait,
            stop=lambda state: state.attempt_number >= _TRIES or self._clock.seconds() + state.upcoming_sleep > end,
            sleep=lambda seconds: self._clock.pause(seconds, self._cancelled),
            retry_error_callback=_give_up,
        )
        said: Said = retrying(self._exchanged, talk, end, bill)
        return said

    def _exchanged(self, talk: Talk, end: float, bill: _Bill) -> Said:
        """Raises _TroubledError."""
        from skillgym_action.judge.session import JudgeRequest, UnansweredError, exchanged

        request = JudgeRequest(
            url=f"{self._base_url or self._protocol.home}{self._protocol.path}",
            headers=self._protocol.headers(self._key),
            body=self._protocol.body(talk),
            network=self._network,
        )
        try:
            reply = exchanged(request, end - self._clock.seconds(), self._cancelled)
        except UnansweredError as error:
            if error.sent:
                bill.usd = None
            kind = _PassingError if error.passing else _TroubledError
            raise kind("network", self._shown(f"the judge: {error}")) from None
        content = object_in(reply.body.decode("utf-8", "replace"))
        if reply.status != HTTPStatus.OK:
            raise self._refusal(reply, content or Loose({}))
        if content is None:
            bill.usd = None
            raise _TroubledError("grader", f"the judge answered with what is not JSON; check {self._protocol.base_url}")
        said = self._protocol.said(content)
        bill.add(said)
        return said

    def _refusal(self, reply: JudgeReply, content: Loose) -> _TroubledError:
        words = words_of(content)
        kind = kind_of_status(reply.status)
        if kind in {None, "runner-crash"}:  # neither a redirect nor a status without a kind of its own says more
            kind = kind_of_text(words)
        message = self._shown(f"the judge's service answered {reply.status}: {words or reply.reason}")
        wait = float(reply.retry_after) if _SECONDS.fullmatch(reply.retry_after.strip()) else None
        error = _PassingError if may_pass(reply.status, content) else _TroubledError
        return error(kind or "grader", message + self._remedy(kind), status=reply.status, wait=wait)

    def _remedy(self, kind: str | None) -> str:
        match kind:
            case "auth":
                return f"; check {self._protocol.key}"
            case "model-rejected":
                return f"; check run.judge.model and {self._protocol.base_url}"
        return ""

    def _shown(self, text: str) -> str:
        """Other people's words as a message may repeat them."""
        return clipped(self._redactor.text(one_line(text)), 500)


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _seconds_to_wait(state: RetryCallState) -> float:
    from tenacity import wait_exponential

    wait = _passing(state).trouble.retry_after
    return wait_exponential()(state) if wait is None else wait


def _give_up(state: RetryCallState) -> NoReturn:
    error = _passing(state)
    message = f"{error.trouble.message} (asked {state.attempt_number} times)"
    raise _TroubledError(error.trouble.kind, message, status=error.status) from None


def _passing(state: RetryCallState) -> _PassingError:
    error = state.outcome.exception() if state.outcome else None
    if not isinstance(error, _PassingError):
        raise TypeError(f"asked again for no reason: {error!r}")
    return error
