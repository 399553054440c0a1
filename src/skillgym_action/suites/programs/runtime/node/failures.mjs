// Errors that a suite threw, in the form of the suite host protocol.

import { AssertionError } from "node:assert";

import { classOf } from "../skillgym/failure-classes.mjs";
import { questionOf } from "../skillgym/failure-messages.mjs";
import { cut, shown } from "../skillgym/matching.mjs";

const MAX_MESSAGE_CHARACTERS = 16_000;
const TRACE_LINES = 8;
const MAX_GROUPED_ERRORS = 100;
const MAX_DEPTH = 5;
const IMPORT_CODES = ["ERR_MODULE_NOT_FOUND", "MODULE_NOT_FOUND", "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX"];
const LIMIT_CODES = ["ENOMEM", "ENOSPC", "EDQUOT", "EMFILE", "ENFILE", "EAGAIN"];
const MISCALLED = /^(assert|ctx|report)\b[\w.$]* is not a function/;

/** The suite awaits a promise, but nothing is left that could resolve it. */
export class Deadlock extends Error {
  name = "Deadlock";
  message = "it awaits a promise that nothing can resolve any more";
}

/**
 * The failure for an error: `assertion` for an AssertionError, else `crash`; those of an AggregateError are joined.
 * `undecided`: the error says nothing about the agent, since the host or the suite lacks something.
 */
export function failureOf(error, places, depth = 0) {
  const [name, message] = nameAndMessage(error);
  const isGroup = error instanceof AggregateError && depth < MAX_DEPTH;
  const parts = isGroup ? [error.errors].flat().slice(0, MAX_GROUPED_ERRORS) : [];
  if (parts.length) {
    const whole = joined(parts.map((part) => failureOf(part, places, depth + 1)));
    const shown = [message, whole.message].filter(Boolean).join("\n");
    return { ...whole, message: shown, failureClass: classOf(error) ?? whole.failureClass };
  }
  const verdict = error instanceof AssertionError;
  const lacks = isOfHost(error) || (IMPORT_CODES.includes(error?.code) && !places.isOfAgent(error));
  const location = places.of(error);
  const question = questionOf(error);
  return {
    kind: verdict ? "assertion" : lacks ? "undecided" : "crash",
    name,
    message,
    raised: message,
    stack: trace(error, places),
    broken: !verdict && looksBroken(error) && !places.isOfAgent(error),
    location,
    failureClass: classOf(error),
    questions: question ? [{ question, location }] : [],
    trace: verdict ? undefined : trace(error, places),
  };
}

/** All failures as one; if one is undecided or a crash, it is that one, with the others in its message. */
export function joined(failures) {
  if (failures.length === 1) return failures[0];
  const crash = failures.find(({ kind }) => kind === "undecided") ?? failures.find(isCrash);
  if (crash) return { ...crash, message: `${crash.message}\n${collected(failures.filter((each) => each !== crash))}` };
  const failureClass = failures.find((failure) => failure.failureClass)?.failureClass;
  const questions = failures.flatMap((failure) => failure.questions);
  return { ...failures[0], message: collected(failures), failureClass, questions };
}

/** The error and its remedy for a suite file that could not be loaded. */
export function loadError(error, places) {
  const [name, message] = nameAndMessage(error);
  const short = message.split("\n")[0].replace(/ imported from .*/, "");
  const text = places.isImport(error) ? short : [name, message].filter(Boolean).join(": ");
  return { message: text, location: places.of(error), remedy: remedy(error) };
}

const isCrash = ({ kind }) => kind !== "assertion";

/** Whether the host has run into a limit of its own, of memory, disk, files or processes, or waits for nothing. */
const isOfHost = (error) => error instanceof Deadlock || LIMIT_CODES.includes(error?.code);

/** Whether the error is one that a mistake in the check makes, whatever the agent did. */
const looksBroken = (error) =>
  error instanceof ReferenceError || (error instanceof TypeError && MISCALLED.test(String(error.message)));

function collected(failures) {
  const one = (failure, index) => {
    const { path, line } = failure.location ?? {};
    const place = [path, line].filter(Boolean).join(":");
    const message = failure.message.replaceAll("\n", "\n   ");
    return `${index + 1}. ${[place, isCrash(failure) && failure.name, message].filter(Boolean).join(": ")}`;
  };
  const what = failures.some(isCrash) ? "failure" : "assertion failure";
  const count = `${failures.length} ${what}${failures.length === 1 ? "" : "s"}`;
  return cut([`${count} collected:`, ...failures.map(one)].join("\n"), MAX_MESSAGE_CHARACTERS);
}

/** Name and message of a thrown value, which may have any type. */
function nameAndMessage(error) {
  if (!(error instanceof Error)) return [error === null ? "null" : typeof error, shown(error)];
  try {
    return [String(error.name), cut(String(error.message).trimEnd(), MAX_MESSAGE_CHARACTERS)];
  } catch (trouble) {
    return ["Error", `its message cannot be read: ${trouble?.name}`];
  }
}

/** The author's frames, innermost last, and the error. */
function trace(error, places) {
  const lines = places.frames(error).slice(0, TRACE_LINES).reverse();
  const shownLine = ({ name, place }) => {
    const { path, line } = places.at(...place);
    return `${path}:${line}${name ? ` in ${name}` : ""}`;
  };
  return [...lines.map(shownLine), nameAndMessage(error).join(": ")].join("\n");
}

function remedy(error) {
  const [, message] = nameAndMessage(error);
  switch (error?.code) {
    case "ERR_MODULE_NOT_FOUND":
    case "MODULE_NOT_FOUND":
      return /Cannot find package/.test(message)
        ? "install the package beside the suite, or import a file with ./ and its ending"
        : "check the path; Node wants the ending, too, as in ./rules.ts";
    case "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX":
      return "Node erases types and changes nothing else: write it in JavaScript";
    default:
      if (/module '(?:@agentv\/\w+|agentv)' does not provide an export/.test(message)) {
        return "without AgentV's package only helpers for suites can be imported: install it beside the suite";
      }
      return /module 'skillgym' does not provide an export/.test(message)
        ? "import a type with `type`, as in `import { assert, type Case } from \"skillgym\"`"
        : undefined;
  }
}
