// Erases the types of a suite and of the modules that it imports. This is a process of its own, which ends with its
// reply: Node's eraser needs more memory than most suites, and a host would never give that back.
//     {"file": …, "number": …} -> {"sources": {file: JavaScript}, "number": …}
// Files with syntax errors, too large files and too many files are not in the reply: the host erases them itself, and
// reports the errors.

import { existsSync, readFileSync, readSync, statSync, writeSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { dirname, resolve } from "node:path";

const [REQUEST, REPLY] = [3, 4];
const IMPORTED = /\b(?:from|import|require)\b[\s(]*(["'])(\.{1,2}\/[^"'\n]+\.[cm]?[jt]s)\1/g;
const CHUNK = 64 * 1024;
const LINE_FEED = 10;
const MAX_FILE_BYTES = 128 * 1024;
const MAX_FILES = 64;

function erased(file) {
  try {
    return statSync(file).size > MAX_FILE_BYTES ? undefined : stripTypeScriptTypes(readFileSync(file, "utf8"));
  } catch {
    return undefined;
  }
}

/** Sources by file, the suite's first. The map grows while its sources are searched for imports. */
function sourcesOf(suite) {
  const sources = new Map();
  const add = (file) => sources.size < MAX_FILES && !sources.has(file) && sources.set(file, erased(file));
  const addImported = (file) => {
    if (/ts$/.test(file)) add(file);
    else if (!existsSync(file)) add(file.replace(/js$/, "ts")); // as imports.mjs resolves it
  };
  add(suite);
  for (const [file, source = ""] of sources) {
    for (const [, , path] of source.matchAll(IMPORTED)) addImported(resolve(dirname(file), path));
  }
  return Object.fromEntries(sources);
}

/** The request: the only line of input. */
function request() {
  const parts = [];
  do {
    const part = Buffer.alloc(CHUNK);
    parts.push(part.subarray(0, readSync(REQUEST, part)));
  } while (parts.at(-1).length && parts.at(-1).at(-1) !== LINE_FEED);
  return JSON.parse(Buffer.concat(parts).toString());
}

const { file, number } = request();
const reply = Buffer.from(`${JSON.stringify({ sources: sourcesOf(file), number })}\n`);
for (let rest = reply; rest.length; rest = rest.subarray(writeSync(REPLY, rest)));
process.reallyExit(0);
