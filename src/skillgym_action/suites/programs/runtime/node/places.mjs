// Locations in the author's files, of errors and of cases. Paths are relative to the repository root.

import { readFileSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { sep } from "node:path";
import { fileURLToPath } from "node:url";

const PACKAGE = fileURLToPath(new URL("..", import.meta.url));
const FRAME = /^ +at (?:async )?(?:(.*) \()?((?:file:\/\/)?\/.*):(\d+):(\d+)\)?$/;
const QUOTED = "([\"'`])(?<quoted>(?:\\\\.|(?!\\1).)*)\\1";
const ID = new RegExp(`\\bid["']?\\s*:\\s*${QUOTED}`, "g");
const KEY = new RegExp(`(?<![\\w$])(?:${QUOTED}|(?<plain>[\\w$]+))\\s*:`, "g");
const COMMENT = /\/\*[^]*?\*\/|(?<=^|[\s;,{}()[\]])\/\/.*/gm;

/** Finds locations, `{path, line, column}`, in the files that were read; line and column count from 1. */
export class Places {
  #root;
  #files = new Set();
  #blamed = new WeakMap();
  #codes = new Map();
  #found = new Map();
  workspace = ""; // of the session that is judged

  constructor(root) {
    this.#root = root.endsWith(sep) ? root : root + sep;
  }

  /** Adds a file of the suite. */
  read(file) {
    this.#files.add(file);
  }

  /** Keeps the location of a failed import for its error. */
  blameImport(error, file, specifier) {
    if (!isAuthors(file)) return;
    const place = this.#search(file, new RegExp(`(["'\`])${escaped(specifier)}\\1`, "g"));
    this.#blamed.set(error, place ?? this.at(file));
  }

  /** A file's source; empty if it cannot be read. */
  text(file) {
    try {
      return readFileSync(file, "utf8");
    } catch {
      return "";
    }
  }

  at(file, line, column) {
    const path = file.startsWith(this.#root) ? file.slice(this.#root.length).replaceAll(sep, "/") : file;
    return { path, line, column };
  }

  /** The location of a case: the `number`th literal with that `id` (from 1), or else its key in an object. */
  ofCase(file, id, number) {
    for (const pattern of [ID, KEY]) {
      for (const read of new Set([file, ...this.#files])) {
        const found = this.#written(read, pattern).get(id);
        if (found) return this.#position(read, found[number - 1] ?? found.at(-1));
      }
    }
    return this.at(file);
  }

  /** Whether the error is about a module in the workspace, or comes from one: the agent wrote it, or did not. */
  isOfAgent(error) {
    if (!this.workspace) return false;
    const inside = this.workspace.endsWith(sep) ? this.workspace : this.workspace + sep;
    const files = [/'(.*?)'/.exec(text(error, "message"))?.[1] ?? ""];
    // Where the suite, too, is in the workspace, the stack says nothing.
    if (!this.#root.startsWith(inside)) files.push(...this.frames(error).map(({ place }) => place[0]));
    return files.some((file) => file.startsWith(inside));
  }

  /** Whether the error comes from a failed import. */
  isImport(error) {
    return this.#blamed.has(Object(error));
  }

  /** The location of an export with that name in the file. */
  ofExport(file, name) {
    return this.#search(file, new RegExp(`\\bexport\\s[^=;]*\\b${name}\\b|\\bexports\\.${name}\\b`, "g")) ?? this.at(file);
  }

  /** The innermost line of the author's code in the stack; for a syntax error, the wrong place. */
  of(error) {
    const blamed = this.#blamed.get(Object(error));
    if (blamed) return blamed;
    const [frame] = this.frames(error);
    return (error instanceof SyntaxError && this.#syntax(error)) || (frame ? this.at(...frame.place) : undefined);
  }

  /** The author's frames, innermost first: `{name, place: [file, line, column]}`. */
  frames(error) {
    const stack = text(error, "stack");
    const message = text(error, "message");
    const after = stack.indexOf(message) < 0 ? 0 : stack.indexOf(message) + message.length;
    return stack.slice(after).split("\n").flatMap(frame);
  }

  /**
   * Node prints the place before the stack, but not for an ES module in JavaScript: then the eraser, which parses
   * JavaScript, too, is asked for it.
   */
  #syntax(error) {
    const printed = this.#caret(text(error, "stack"));
    if (printed) return printed;
    const file = [...this.#files].at(-1);
    try {
      stripTypeScriptTypes(this.text(file ?? ""));
    } catch (found) {
      const [, line, shown] = /^.*:(\d+)\n([^]*)/.exec(text(found, "stack")) ?? [];
      return this.#shown(file, line, shown);
    }
    return undefined;
  }

  #caret(stack) {
    const [, file, line, shown] = /^((?:file:\/\/)?\/.*):(\d+)\n([^]*)/.exec(stack) ?? [];
    if (!file || !isAuthors(path(file))) return undefined;
    return this.#shown(path(file), line, shown);
  }

  /** The place above the ^ of a message, before which tabs are kept or are four spaces; the line's end without a ^. */
  #shown(file, line, shown) {
    const blank = /^([ \t]*)\^/m.exec(shown ?? "")?.[1];
    const source = this.text(file).split("\n")[line - 1] ?? "";
    if (blank === undefined) return this.at(file, Number(line), source.length + 1);
    const width = (character) => (character === "\t" && !blank.includes("\t") ? 4 : 1);
    let column = 1;
    for (let left = blank.length; left > 0 && column <= source.length; column += 1) left -= width(source[column - 1]);
    return this.at(file, Number(line), column);
  }

  /** A file's source with spaces for comments. Cached, since every case is searched for in it. */
  #code(file) {
    if (!this.#codes.has(file)) {
      const blank = (comment) => comment.replace(/[^\n]/g, " ");
      this.#codes.set(file, this.text(file).replace(COMMENT, blank));
    }
    return this.#codes.get(file);
  }

  /** The positions in a file of each text that the pattern finds. Cached, too. */
  #written(file, pattern) {
    const key = `${pattern} ${file}`;
    if (!this.#found.has(key)) {
      const found = new Map();
      for (const { index, groups } of this.#code(file).matchAll(pattern)) {
        const text = groups.quoted ?? groups.plain;
        found.set(text, [...(found.get(text) ?? []), index]);
      }
      this.#found.set(key, found);
    }
    return this.#found.get(key);
  }

  #search(file, pattern) {
    const match = pattern.exec(this.#code(file));
    return match ? this.#position(file, match.index) : undefined;
  }

  #position(file, index) {
    const before = this.#code(file).slice(0, index).split("\n");
    return this.at(file, before.length, before.at(-1).length + 1);
  }
}

const path = (place) => (place.startsWith("file:") ? fileURLToPath(place) : place);
const isAuthors = (file) => !file.startsWith(PACKAGE) && !file.includes(`${sep}node_modules${sep}`);
const escaped = (literal) => literal.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");

function frame(line) {
  const [, name, place, row, column] = FRAME.exec(line) ?? [];
  if (!place || !isAuthors(path(place))) return [];
  return [{ name, place: [path(place), Number(row), Number(column)] }];
}

/** A property as text, of a value of any type; empty if it is not text or cannot be read. */
function text(value, name) {
  try {
    return typeof value?.[name] === "string" ? value[name] : "";
  } catch {
    return "";
  }
}
