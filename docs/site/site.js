// What the theme leaves out for people who use a keyboard or a screen reader.
function complete() {
  // Wide tables scroll: keys can do that only in what can have the focus.
  for (const table of document.querySelectorAll(".md-typeset__scrollwrap")) {
    if (table.scrollWidth > table.clientWidth) table.tabIndex = 0;
    else table.removeAttribute("tabindex");
  }
  // The buttons of a code block are no navigation.
  for (const buttons of document.querySelectorAll("nav.md-code__nav:not([role])")) {
    buttons.setAttribute("role", "presentation");
  }
}

addEventListener("load", complete);
addEventListener("resize", complete);
new MutationObserver(complete).observe(document.documentElement, { childList: true, subtree: true });
