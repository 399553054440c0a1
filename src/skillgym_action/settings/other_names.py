"""Names of inputs that the command line accepts in place of an option's own name."""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

NAMES_OF_INPUTS: Mapping[str, str] = MappingProxyType(
    {
        "case": "cases",
        "format": "formats",
        "output": "report-dir",
        "report": "reports",
        "runner": "runners",
        "tag": "tags",
    }
)
"""Field of ``Settings`` -> the action's input for it, where the option has another name. ``--help`` leaves it out."""
