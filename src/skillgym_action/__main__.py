"""Entry points. The only place that catches errors and makes exit codes of them."""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Callable


def main() -> None:
    """The command line."""

    def program() -> int:
        from skillgym_action.cli import cli

        return int(cli(standalone_mode=False) or 0)

    _leave(exit_code(program))


def action() -> None:
    """The GitHub action: the command line with inputs for options."""

    def program() -> int:
        from skillgym_action.action import run_action

        return run_action()

    _leave(exit_code(program))


def exit_code(program: Callable[[], int]) -> int:
    """What ``program`` returns; an error becomes its message on stderr and its exit code."""
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")  # nobody else's code in our validation
    gc.disable()  # imports make a great many objects and no garbage; `composition.opened` enables it again
    import click

    from skillgym_action.errors import SkillgymError

    try:
        return program()
    except SkillgymError as error:
        for problem in error.problems:
            _say(f"error: {problem}")
        return error.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        _say("cancelled")
        return 130
    except BrokenPipeError:
        sys.stderr.close()
        return 141
    except Exception:  # noqa: BLE001 -- the last catcher: a bug of ours gets a log and words, not a traceback
        _say(f"error: this is a bug in skillgym-action; please report it with {_bug_log()}")
        return 70


def _leave(code: int) -> NoReturn:
    """Every door has been closed; to take the interpreter apart would only take time."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)


def _say(message: str) -> None:
    from skillgym_action.text import log_line

    print("\n".join(map(log_line, message.splitlines())), file=sys.stderr)  # noqa: T201


def _bug_log() -> str:
    """Write it beside the run directories, which outlive the action's container; else in the temporary folder."""
    import tempfile
    import traceback
    from pathlib import Path

    for folder in (Path(".skillgym-results"), Path(tempfile.gettempdir())):
        try:
            folder.mkdir(exist_ok=True)
            with tempfile.NamedTemporaryFile("w", dir=folder, prefix="bug-", suffix=".log", delete=False) as file:
                traceback.print_exc(file=file)
        except OSError:
            continue
        return file.name
    return "what it printed"


if __name__ == "__main__":
    main()
