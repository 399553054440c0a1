// What a suite threw, as the suite host protocol tells it.

import { AssertionError } from "node:assert";

import { classOf } from "../skillgym/classes.mjs";
import { questionOf } from "../skillgym/failing.mjs";
import { cut, shown } from "../skillgym/matching.mjs";

const MESSAGE_LIMIT = 16_000;
const TRACE_LINES = 8;

/** One failure per error: an AssertionError is a verdict, anything else a crash of the check. */
export function failuresOf(error, places) {
  if (error instanceof AggregateError && error.errors.length) {
    return error.errors.flatMap((each) => failuresOf(each, places));
  }
  const [name, message] = told(error);
  const verdict = error instanceof AssertionError;
  const location = places.of(error);
  const question = questionOf(error);
  return [
    {
      kind: verdict ? "assertion" : "crash",
      name,
      message,
      location,
      failureClass: classOf(error),
      questions: question ? [{ question, location }] : [],
      trace: verdict ? undefined : trace(error, places),
    },
  ];
}

/** Soft failures and the hard one after them: one verdict; or a crash, which tells of the verdicts before it. */
export function joined(soft, hard) {
  const all = [...soft, ...hard];
  if (!soft.length || all.length === 1) return all;
  const crash = hard.find(({ kind }) => kind === "crash");
  if (crash) return [{ ...crash, message: `${crash.message}\n${collected(soft)}` }];
  const failureClass = all.find((failure) => failure.failureClass)?.failureClass;
  const questions = all.flatMap((failure) => failure.questions);
  return [{ ...all[0], message: collected(all), failureClass, questions }];
}

/** Why the suite file could not be loaded, and what to do about it. */
export function loadError(error, places) {
  const [name, message] = told(error);
  const short = message.split("\n")[0].replace(/ imported from .*/, "");
  const said = places.isImport(error) ? short : [name, message].filter(Boolean).join(": ");
  return { message: said, location: places.of(error), remedy: remedy(error) };
}

function collected(failures) {
  const one = ({ message, location }, index) => {
    const place = location ? `${[location.path, location.line].filter(Boolean).join(":")}: ` : "";
    return `${index + 1}. ${place}${message.replaceAll("\n", "\n   ")}`;
  };
  const count = failures.length === 1 ? "1 assertion failure" : `${failures.length} assertion failures`;
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
