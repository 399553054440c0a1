"""What is taken out of texts and files before they are written."""

from __future__ import annotations

import pytest

from planted_keys import made
from skillgym_action.authoring.promotion.files import PromotedFile
from skillgym_action.authoring.promotion.promotion import CleanTexts
from skillgym_action.text.redaction import Redactor

KEYS = {kind: key for kind, key in made(7).items() if kind != "secret"}  # a value that only the environment knows
SECRET = "correct-horse-battery"


def cleaner(folder: str = "/home/dev/shop", home: str = "/home/dev") -> CleanTexts:
    return CleanTexts(redactor=Redactor([SECRET]), folder=folder, home=home)


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("see /home/dev/shop/src/a.js", "see src/a.js"),
        ("in /home/dev/shop.", "in ./."),
        ("in /home/dev/shop, or", "in ./, or"),
        ("in /home/dev/shop/", "in ./"),
        ("/home/dev/shop-two/a", "/home/user/shop-two/a"),
        ("/home/dev/.ssh/id", "/home/user/.ssh/id"),
        ("/Users/ann.lee/x and /root/y", "/home/user/x and /home/user/y"),
        ("C:\\Users\\ann\\x", "/home/user\\x"),
        ("/home/user/x", "/home/user/x"),
        ("/rooted/x", "/rooted/x"),
    ],
)
def test_private_paths_of_a_prompt(text, clean):
    assert cleaner().text(text, "the prompt", "") == clean


def test_the_session_s_folder_becomes_the_workspace():
    assert cleaner().text("cat /home/dev/shop/a.js", "x") == "cat /workspace/a.js"


def test_keys_are_taken_out_of_all_texts_and_reported_by_place():
    clean = cleaner()
    value = {"a": [f"key {SECRET}"], SECRET: {"b": 1}}
    assert clean.value(value, "the recorded session") == {"a": ["key ***"], "***": {"b": 1}}
    assert list(clean.keys) == ["the recorded session"]


@pytest.mark.parametrize("kind", sorted(KEYS))
def test_what_has_the_form_of_a_key_is_taken_out(kind):
    clean = cleaner()
    tree = {"a.txt": PromotedFile(content=f"k = {KEYS[kind]}\n".encode())}
    content = clean.tree(tree, "template", paths=False)["a.txt"].content
    assert content.startswith(b"k = ")
    assert KEYS[kind].splitlines()[-2 if "\n" in KEYS[kind] else 0].encode() not in content
    assert "template/a.txt" in clean.keys


def test_a_file_with_a_key_in_its_name_is_left_out():
    tree = {f"a/{SECRET}.txt": PromotedFile(), "b": PromotedFile(link=SECRET), "c": PromotedFile(content=b"x")}
    assert cleaner().tree(tree, "template", paths=False) == {"c": PromotedFile(content=b"x")}


def test_binary_files_stay_as_they_are():
    content = b"\x89PNG\0/home/dev/x\xff"
    assert cleaner().tree({"a.png": PromotedFile(content=content)}, "x", paths=True)["a.png"].content == content


def test_paths_in_changed_files_are_replaced_and_in_templates_not():
    tree = {"a": PromotedFile(content=b"/home/dev/x\r\n", mode=0o755)}
    assert cleaner().tree(tree, "x", paths=True) == {"a": PromotedFile(content=b"/home/user/x\r\n", mode=0o755)}
    assert cleaner().tree(tree, "x", paths=False) == tree
