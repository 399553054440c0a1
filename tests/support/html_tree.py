"""HTML as a tree of the standard library. Unlike in a browser, an element that is not closed is an error."""

from __future__ import annotations

from html.parser import HTMLParser
from xml.etree.ElementTree import Element, TreeBuilder

ROOT = "document"
VOID = frozenset({"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"})


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.builder = TreeBuilder()
        self.open = [ROOT]
        self.builder.start(ROOT, {})

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.builder.start(tag, {name: value or "" for name, value in attrs})
        self.open.append(tag)
        if tag in VOID:
            self.handle_endtag(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if "svg" in self.open and tag not in VOID:  # elsewhere the slash means nothing
            self.handle_endtag(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"line {self.getpos()[0]}: </{tag}> closes another element"
        self.builder.end(tag)

    def handle_data(self, data: str) -> None:
        self.builder.data(data)


def html_tree(text: str) -> Element:
    """The element around all elements of a page. Raises AssertionError for one that is not closed."""
    reader = _Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == [ROOT], f"not closed: {reader.open[1:]}"
    reader.builder.end(ROOT)
    return reader.builder.close()


def text_of(element: Element) -> str:
    """All text in it."""
    return "".join(element.itertext())
