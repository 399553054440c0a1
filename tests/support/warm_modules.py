"""Prepares the server of warm runs: it imports the modules, builds the validators and compiles the templates.

Otherwise each run would repeat this. The garbage collector then ignores these objects, so that all runs share their
pages.
"""

from __future__ import annotations

import gc
from importlib import import_module
from pkgutil import walk_packages
from typing import TYPE_CHECKING

from pydantic import BaseModel

import skillgym_action
from skillgym_action.reports.markdown.report import environment

if TYPE_CHECKING:
    from collections.abc import Iterator

# Separate programs, and modules that need optional libraries.
NOT_IMPORTED = ("__main__", "dask", "docker", "render_program", "containers", "runtime", "supervisor")
# Imported by nearly every run when it needs them.
LATER = ("ctypes", "encodings.utf_8_sig", "encodings.unicode_escape", "pydantic.dataclasses")


def models(base: type[BaseModel]) -> Iterator[type[BaseModel]]:
    """All models that inherit from ``base``."""
    for model in base.__subclasses__():
        yield model
        yield from models(model)


for found in walk_packages(skillgym_action.__path__, "skillgym_action."):
    if not any(part.startswith(NOT_IMPORTED) for part in found.name.split(".")):
        import_module(found.name)
for name in LATER:
    import_module(name)
for model in set(models(BaseModel)):
    model.model_rebuild()
for template in environment().list_templates(extensions=["j2"]):
    environment().get_template(template)
gc.collect()
gc.freeze()
