// What a suite threw, as the suite host protocol tells it.

import { AssertionError } from "node:assert";

import { classOf } from "../skillgym/classes.mjs";
import { questionOf } from "../skillgym/failing.mjs";
import { cut, shown } from "../skillgym/matching.mjs";

const MESSAGE_LIMIT = 16_000;
const TRACE_LINES = 8;
const PARTS = 100; // of an AggregateError
const DEEPEST = 5;

/** An AssertionError is a verdict, anything else a crash of the check; an AggregateError is told with its parts. */
export function failureOf(error, places, depth = 0) {
  const [name, message] = told(error);
  const parts = error instanceof AggregateError && depth < DEEPEST ? [error.errors].flat().slice(0, PARTS) : [];
  if (parts.length) {
    const whole = joined(parts.map((part) => failureOf(part, places, depth + 1)));
    const shown = [message, whole.message].filter(Boolean).join("\n");
    return { ...whole, message: shown, failureClass: classOf(error) ?? whole.failureClass };
  }
  const verdict = error instanceof AssertionError;
  const location = places.of(error);
  const question = questionOf(error);
  return {
    kind: verdict ? "assertion" : "crash",
    name,
    message,
    location,
    failureClass: classOf(error),
    questions: question ? [{ question, location }] : [],
    trace: verdict ? undefined : trace(error, places),
  };
}

/** All failures as one: a verdict; or a crash, which tells of the others. */
export function joined(failures) {
  if (failures.length === 1) return failures[0];
  const crash = failures.find(isCrash);
  if (crash) return { ...crash, message: `${crash.message}\n${collected(failures.filter((each) => each !== crash))}` };
  const failureClass = failures.find((failure) => failure.failureClass)?.failureClass;
  const questions = failures.flatMap((failure) => failure.questions);
  return { ...failures[0], message: collected(failures), failureClass, questions };
}

/** Why the suite file could not be loaded, and what to do about it. */
export function loadError(error, places) {
  const [name, message] = told(error);
  const short = message.split("\n")[0].replace(/ imported from .*/, "");
  const said = places.isImport(error) ? short : [name, message].filter(Boolean).join(": ");
  return { message: said, location: places.of(error), remedy: remedy(error) };
}

const isCrash = ({ kind }) => kind === "crash";

function collected(failures) {
  const one = (failure, index) => {
    const { path, line } = failure.location ?? {};
    const place = [path, line].filter(Boolean).join(":");
    const message = failure.message.replaceAll("\n", "\n   ");
    return `${index + 1}. ${[place, isCrash(failure) && failure.name, message].filter(Boolean).join(": ")}`;
  };
  const what = failures.some(isCrash) ? "failure" : "assertion failure";
  const count = `${failures.length} ${what}${failures.length === 1 ? "" : "s"}`;
  return cut([`${count} collected:`, ...failures.map(one)].join("\n"), MESSAGE_LIMIT);
}

/** Name and message of whatever was thrown. */
function told(error) {
  if (!(error instanceof Error)) return [error === null ? "null" : typeof error, shown(error)];
  try {
    return [String(error.name), cut(String(error.message).trimEnd(), MESSAGE_LIMIT)];
  } catch (trouble) {
    return ["Error", `its message cannot be read: ${trouble?.name}`];
  }
}

/** The author's frames, innermost last. */
function trace(error, places) {
  const lines = places.frames(error).slice(0, TRACE_LINES).reverse();
  const shownLine = ({ name, place }) => {
    const { path, line } = places.at(...place);
    return `${path}:${line}${name ? ` in ${name}` : ""}`;
  };
  return [...lines.map(shownLine), told(error).join(": ")].join("\n");
}

function remedy(error) {
  const [, message] = told(error);
  switch (error?.code) {
    case "ERR_MODULE_NOT_FOUND":
    case "MODULE_NOT_FOUND":
      return /Cannot find package/.test(message)
        ? "install the package beside the suite, or import a file with ./ and its ending"
        : "check the path; Node wants the ending, too, as in ./rules.ts";
    case "ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX":
      return "Node erases types and changes nothing else: write it in JavaScript";
    default:
      return /module 'skillgym' does not provide an export/.test(message)
        ? "import a type with `type`, as in `import { assert, type Case } from \"skillgym\"`"
        : undefined;
  }
}
