"""``input`` and ``expected_output`` of AgentV's tests: messages in all their forms, and the prompt they make."""

from __future__ import annotations

from typing import TYPE_CHECKING

from skillgym_action.model.records import record
from skillgym_action.text.javascript.values import stringified

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path

    from skillgym_action.model.errors import Problem
    from skillgym_action.suites.values import SuiteValue

Message = dict[str, object]

FILES = ("file", "image")
ROLES = ("system", "user", "assistant", "tool")
MESSAGE = "write text, or messages with role and content"


@record
class AgentPrompt:
    """The prompt of a test, the files that it names, and the names of files that do not exist."""

    text: str
    files: tuple[Path, ...]
    missing: tuple[str, ...]


def input_messages(value: object, files: Iterable[str] = ()) -> list[Message]:
    """The messages of ``input``. Text, and an object that is no message, become a message of the user.

    ``files`` are named before a text.
    """
    if isinstance(value, str):
        blocks = [{"type": "file", "value": name} for name in files]
        content: object = [*blocks, {"type": "text", "value": value}] if blocks else value
        return [{"role": "user", "content": content}]
    if isinstance(value, dict):
        if "role" not in value:
            return [{"role": "user", "content": value}]
        return [_in_blocks(value)] if _is_message(value) else []
    return [_in_blocks(item) for item in value if _is_message(item)] if isinstance(value, list) else []


def expected_messages(value: object) -> list[Message]:
    """The messages of ``expected_output``; any other value becomes the content of an assistant's message."""
    if isinstance(value, list) and value and all(map(_is_message, value)):
        return list(value)
    if _is_message(value):
        return [value]  # type: ignore[list-item]
    return [] if value is None else [{"role": "assistant", "content": value}]


def dropped_messages(value: SuiteValue | None) -> Iterator[Problem]:
    """Why parts of an ``input`` are no messages, or say nothing: these are left out."""
    if value is None or isinstance(value.value, str):
        return
    in_list = isinstance(value.value, list)
    for item in value.items() if in_list else (value,):
        if isinstance(item.value, dict) and (in_list or "role" in item.value):
            yield from _wrong_in(item)
        elif not isinstance(item.value, dict):
            yield item.problem("is not a message: it is left out", MESSAGE)


def _wrong_in(message: SuiteValue) -> Iterator[Problem]:
    """Why a mapping is no message."""
    role, content = message.member("role"), message.member("content")
    if role.value is None:
        yield from message.missing("role", MESSAGE, "the message is left out: it has no role").problems
    elif role.value not in ROLES:
        yield role.problem("the message is left out: unknown role", f"write one of {', '.join(ROLES)}")
    elif content.value is not None and not isinstance(content.value, str | dict | list):
        yield content.problem("the message is left out: its content is none", "write text, a mapping or a list")
    elif not _is_message(message.value):
        yield from message.missing("content", MESSAGE, "the message is left out: it has no content").problems
    for block in content.items() if isinstance(content.value, list) else ():
        if isinstance(block.value, dict) and not (block.has("value") or block.has("text")):
            yield from block.missing("value", "write value: …", "the block is left out: it has no value").problems


def _in_blocks(message: Message) -> Message:
    """The message, with texts in its list of blocks as blocks of their own."""
    content = message.get("content")
    if not isinstance(content, list):
        return message
    blocks = [{"type": "text", "value": block} if isinstance(block, str) else block for block in content]
    return {**message, "content": blocks}


def _is_message(value: object) -> bool:
    if not isinstance(value, dict) or value.get("role") not in ROLES:
        return False
    return isinstance(value.get("content"), str | dict | list) or isinstance(value.get("tool_calls"), list)


def agent_prompt(messages: Iterable[Message], find: Callable[[str], Path | None]) -> AgentPrompt:
    """The messages as one text, in AgentV's form. ``find`` returns the path of a file that a message names.

    Roles are marked if an assistant or a tool speaks, or if more than one message has text.
    """
    files: list[Path] = []
    missing: list[str] = []

    def shown(block: object) -> str:
        if isinstance(block, str):  # the content is a text
            return block
        if not isinstance(block, dict):
            return ""
        value = block.get("value")
        if block.get("type") not in FILES:
            return _text(value if value is not None else block.get("text"))
        name = value if isinstance(value, str) else ""
        if not (file := find(name)):
            missing.append(name)
            return ""
        files.append(file)
        return f'<file: path="{file}">'

    spoken = [(message, [text for block in _blocks(message) if (text := shown(block))]) for message in messages]
    visible = [(str(message["role"]), texts) for message, texts in spoken if any(text.strip() for text in texts)]
    if len(visible) > 1 or any(message["role"] in {"assistant", "tool"} for message, _ in spoken):
        text = "\n\n".join(f"@[{role.capitalize()}]:\n" + "\n".join(texts) for role, texts in visible)
    else:
        text = "\n\n".join(stripped for _, texts in visible for text in texts if (stripped := text.strip()))
    return AgentPrompt(text=text, files=tuple(files), missing=tuple(missing))


def _blocks(message: Mapping[str, object]) -> list[object]:
    content = message.get("content")
    if isinstance(content, list):
        return content
    return [_text(content)]


def _text(value: object) -> str:
    """Structured content is shown as JSON."""
    return value if isinstance(value, str) else "" if value is None else stringified(value, indent=2)


# --- for graders ------------------------------------------------------------------------------------


def sound_message(message: object) -> Message:
    """A message as programs that validate it accept it: no null, and content that is text, a mapping or blocks."""
    if not isinstance(message, dict):
        return {"role": "user", "content": _text(message)}
    sound = {key: value for key, value in message.items() if value is not None}
    if not isinstance(sound.get("name", ""), str):
        sound["name"] = stringified(sound["name"])
    if "content" in sound:
        sound["content"] = _sound_content(sound["content"])
    if isinstance(calls := sound.get("tool_calls"), list):
        kept = [call for call in calls if isinstance(call, dict) and isinstance(call.get("tool"), str)]
        sound["tool_calls"] = [{key: value for key, value in call.items() if value is not None} for call in kept]
    else:
        sound.pop("tool_calls", None)
    return sound


def _sound_content(content: object) -> object:
    if isinstance(content, list):
        return [block if isinstance(block, dict) else {"type": "text", "value": _text(block)} for block in content]
    return content if isinstance(content, str | dict) else _text(content)


def as_text(message: Message, *, marked: bool) -> Message:
    """A message of the input with its content as text, as in the prompt. Messages that name files stay as they are.

    ``marked``: roles are marked in the prompt, so that texts are on lines of their own, not in paragraphs.
    """
    content = message.get("content")
    if isinstance(content, dict):
        return {**message, "content": stringified(content, indent=2)}
    texts = [_text_of(block) for block in content] if isinstance(content, list) else []
    if not texts or None in texts:
        return message
    lines = [text.strip() for text in texts if text and text.strip()]
    return {**message, "content": ("\n" if marked else "\n\n").join(lines)}


def _text_of(block: object) -> str | None:
    value = block.get("value") if isinstance(block, dict) and block.get("type") == "text" else None
    return value if isinstance(value, str) else None
