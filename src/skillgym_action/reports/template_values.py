"""Values that report templates place as they are."""

from __future__ import annotations

from markupsafe import Markup

NOTHING = Markup()


def markup(text: str) -> Markup:
    """Escaped text, or markup, as a template may place it."""
    return str.__new__(Markup, text)  # Markup's own constructor first asks whether the text has markup
