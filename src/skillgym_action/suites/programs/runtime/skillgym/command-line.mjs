// Parses command lines into executable, positional arguments and options, and matches them.

import { equals, isMatcher, matcherOf, quoted, shown } from "./matching.mjs";

const SHELLS = new Set(["bash", "sh", "zsh", "fish", "dash"]);
const FIELDS = ["executable", "positionals", "options", "endOfOptions", "strict", "exact"];
const BLANK = /[ \t\n\r\f\v]/;

/** A builder for matchers of command lines: `commandMatcher("npm").arg("test").option("--watch", "false").strict()`. */
export class CommandMatcherBuilder {
  #executable;
  #positionals = [];
  #options = new Map();
  #endOfOptions;
  #strict = false;

  constructor(executable) {
    this.#executable = executable;
  }

  /** The program as it is written in the command line. */
  executable(matcher) {
    this.#executable = matcher;
    return this;
  }

  /** A positional argument, after those already named. */
  arg(matcher) {
    return this.args(matcher);
  }

  /** Positional arguments in this order; others may come between them. */
  args(...matchers) {
    this.#positionals.push(...matchers);
    return this;
  }

  /** An option with its dashes, and its value; without a value it is a flag. */
  option(name, value = true) {
    this.#options.set(name, [...(this.#options.get(name) ?? []), value]);
    return this;
  }

  /** An option without a value. */
  flag(name) {
    return this.option(name);
  }

  /** There is a `--`. */
  endOfOptions() {
    this.#endOfOptions = true;
    return this;
  }

  /** No other arguments or options than those named. */
  strict() {
    this.#strict = true;
    return this;
  }

  /** The same as `strict`. */
  exact() {
    return this.strict();
  }

  /** The plain form. */
  build() {
    return {
      executable: this.#executable,
      positionals: [...this.#positionals],
      options: Object.fromEntries(this.#options),
      endOfOptions: this.#endOfOptions,
      strict: this.#strict,
    };
  }
}

/** A builder for matchers of command lines. */
export const commandMatcher = (executable) => new CommandMatcherBuilder(executable);

/** The rule (see occurrences.mjs) for a builder or a plain form; null for any other value. */
export function commandRule(matcher) {
  if (matcher === null || typeof matcher !== "object" || isMatcher(matcher)) return null;
  const wanted = shape(typeof matcher.build === "function" ? matcher.build() : matcher);
  const text = `{ ${described(wanted)} }`;
  return {
    text,
    wanted: text,
    accepts: (command) => fits(parsed(command), wanted),
    reading: (command) => described(parsed(command)),
  };
}

/** `{executable, positionals, options, endOfOptions}`; options is a map from name to values, true for a flag. */
export function parsed(command) {
  const [executable, ...rest] = unwrapped(tokens(command));
  const line = { executable, positionals: [], options: new Map(), endOfOptions: false };
  const add = (name, value) => line.options.set(name, [...(line.options.get(name) ?? []), value]);
  while (rest.length) {
    const token = rest.shift();
    const letters = [...token].slice(1);
    const takesNext = () => (rest.length && !rest[0].startsWith("-") ? rest.shift() : true);
    if (line.endOfOptions || !token.startsWith("-") || token === "-") {
      line.positionals.push(token);
    } else if (token === "--") {
      line.endOfOptions = true;
    } else if (token.startsWith("--")) {
      const sign = token.indexOf("=");
      if (sign < 0) add(token, takesNext());
      else add(token.slice(0, sign), token.slice(sign + 1));
    } else if (letters.length === 1) {
      add(token, takesNext());
    } else if (/^-[A-Za-z]+$/.test(token)) {
      letters.forEach((letter) => add(`-${letter}`, true));
    } else {
      add(`-${letters[0]}`, letters.slice(1).join(""));
    }
  }
  return line;
}

/** The words of a command line without their quotes; empty words are dropped. */
function tokens(command) {
  const words = [];
  let word = "";
  let quote = "";
  for (let index = 0; index < command.length; index += 1) {
    const character = command[index];
    if (character === "\\" && quote !== "'" && index + 1 < command.length) {
      index += 1;
      word += command[index];
    } else if (quote ? character === quote : character === "'" || character === '"') {
      quote = quote ? "" : character;
    } else if (!quote && BLANK.test(character)) {
      words.push(word);
      word = "";
    } else {
      word += character;
    }
  }
  return [...words, word].filter(Boolean);
}

/** The words of the script that a shell, one of the first two words, gets with `-c`; else the words themselves. */
function unwrapped(words) {
  const shell = words.slice(0, 2).findIndex((word) => SHELLS.has(word.split("/").at(-1)));
  if (shell < 0) return words;
  const option = words.findIndex((word, index) => index > shell && /^-[^-]*c/.test(word));
  return option < 0 || option + 1 === words.length ? words : tokens(words[option + 1]);
}

function shape(plain) {
  const unknown = Object.keys(plain).find((key) => !FIELDS.includes(key));
  if (unknown !== undefined) {
    throw new TypeError(`a command matcher has no field ${JSON.stringify(unknown)}; known: ${FIELDS.join(", ")}`);
  }
  const { executable, positionals = [], options = {}, endOfOptions, strict, exact } = plain;
  const valuesOf = (value) => [value].flat().map((each) => (each === true ? each : matcherOf(each)));
  if (!Array.isArray(positionals)) throw new TypeError(`positionals are a list, not ${shown(positionals)}`);
  return {
    executable: executable === undefined ? undefined : matcherOf(executable),
    positionals: positionals.map(matcherOf),
    options: new Map(Object.entries(options).map(([name, value]) => [name, valuesOf(value)])),
    endOfOptions,
    strict: Boolean(strict || exact),
  };
}

function fits(line, { executable, positionals, options, endOfOptions, strict }) {
  if (executable !== undefined && !(line.executable !== undefined && equals(line.executable, executable))) return false;
  if (endOfOptions !== undefined && line.endOfOptions !== endOfOptions) return false;
  if (strict && line.positionals.length !== positionals.length) return false;
  if (strict && [...line.options.keys()].some((name) => !options.has(name))) return false;
  let next = 0;
  for (const each of line.positionals) if (next < positionals.length && equals(each, positionals[next])) next += 1;
  return next === positionals.length && [...options].every(([name, values]) => has(line.options.get(name), values, strict));
}

/** Whether each wanted value matches an actual value of its own; if strict, no actual value may be left over. */
function has(actual, wanted, strict) {
  if (!actual || (strict && actual.length !== wanted.length)) return false;
  const remaining = [...actual];
  return wanted.every((value) => {
    const at = remaining.findIndex((each) => (value === true || each === true ? each === value : equals(each, value)));
    return at >= 0 && remaining.splice(at, 1).length === 1;
  });
}

function described({ executable, positionals, options, endOfOptions, strict }) {
  const values = (list) => list.map((value) => (value === true ? "true" : quoted(value))).join(", ");
  const named = [...options].map(([name, list]) => `${name}: ${list.length === 1 ? values(list) : `[${values(list)}]`}`);
  const parts = [
    ...(executable === undefined ? [] : [`executable: ${quoted(executable)}`]),
    ...(positionals.length ? [`positionals: [${values(positionals)}]`] : []),
    ...(named.length ? [`options: { ${named.join(", ")} }`] : []),
    ...(endOfOptions ? ["--"] : []),
    ...(strict ? ["strict"] : []),
  ];
  return parts.join(", ") || "nothing";
}
