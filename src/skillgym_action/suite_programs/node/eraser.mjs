// Erases the types of a suite and of the modules it imports, in a process of its own that ends with its answer: Node's
// eraser takes more memory than a suite does, and a host that has used it never gives that back.
//     {"file": …, "number": …} -> {"sources": {file: JavaScript}, "number": …}
// What is not in the answer, since there is a mistake in it or too much of it, the host erases itself, and tells of.

import { readFileSync, readSync, statSync, writeSync } from "node:fs";
import { stripTypeScriptTypes } from "node:module";
import { dirname, resolve } from "node:path";

const [REQUEST, REPLY] = [3, 4];
const IMPORTED = /\b(?:from|import|require)\b[\s(]*(["'])(\.{1,2}\/[^"'\n]+\.[cm]?ts)\1/g;
const CHUNK = 64 * 1024;
const LINE_FEED = 10;
const LARGEST = 128 * 1024; // bytes of a file
const MOST = 64; // files

function erased(file) {
  try {
    return statSync(file).size > LARGEST ? undefined : stripTypeScriptTypes(readFileSync(file, "utf8"));
  } catch {
    return undefined;
  }
}

/** By file, the suite's first; the map grows while what is in it is searched for imports. */
function sourcesOf(suite) {
  const sources = new Map();
  const add = (file) => sources.size < MOST && !sources.has(file) && sources.set(file, erased(file));
  add(suite);
  for (const [file, source = ""] of sources) {
    for (const [, , path] of source.matchAll(IMPORTED)) add(resolve(dirname(file), path));
  }
  return Object.fromEntries(sources);
}

/** The one line that comes. */
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
