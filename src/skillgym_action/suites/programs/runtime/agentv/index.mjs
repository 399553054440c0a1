// What suites of AgentV in TypeScript import from `@agentv/sdk` where that package is not installed: helpers that make
// plain data. Helpers of graders that are programs of their own are not here.

const SUITE = Symbol.for("@agentv/sdk/eval-suite");
const TO_YAML = Symbol.for("@agentv/sdk/to-eval-yaml-object");
// Keys that authors write in camelCase, and that are in snake_case in YAML. Other keys stay as they are written, since
// they may be names of the author's.
const KEYS = new Map(
  (
    "afterAll afterEach argsMatch beforeAll beforeEach budgetUsd conversationId costLimitUsd dependsOn expectedOutput " +
    "explorationTolerance failOnError inputFiles keepWorkspaces maxCalls maxCostUsd maxDurationMs maxInput maxLlmCalls " +
    "maxOutput maxSteps maxTokens maxToolCalls minScore onDependencyFailure onTurnFailure outputPath scoreRange " +
    "scoreRanges skipDefaults targetExplorationRatio timeoutMs timeoutSeconds useTarget windowSize earlyExit " +
    "reasoningEffort readOnly"
  )
    .split(" ")
    .map((key) => [key, key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)]),
);

const isMapping = (value) => Object(value) === value && [Object.prototype, null].includes(Object.getPrototypeOf(value));

/** A suite with the keys that it has in YAML. */
export function toEvalYamlObject(value) {
  if (Array.isArray(value)) return value.map(toEvalYamlObject);
  if (!isMapping(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, part]) => [KEYS.get(key) ?? key, toEvalYamlObject(part)]));
}

/** The suite itself, marked as one. */
export function defineEval(suite) {
  if (!Object.hasOwn(suite, SUITE)) {
    Object.defineProperties(suite, { [SUITE]: { value: true }, [TO_YAML]: { value: () => toEvalYamlObject(suite) } });
  }
  return suite;
}

export const evalSuite = defineEval;

/** Whether a value is a suite of `defineEval`, of this module or of the package. */
export const isDefined = (value) => value?.[SUITE] === true && typeof value[TO_YAML] === "function";

/** Such a suite with the keys that it has in YAML. */
export const definedData = (suite) => suite[TO_YAML]();

/** AgentV's function that runs tests itself; here the tool runs them. */
export function evaluate() {
  throw new Error("evaluate() runs tests itself, and cannot be used in a suite: export its configuration as the default");
}

const known = (options) => Object.fromEntries(Object.entries(options ?? {}).filter(([, value]) => value !== undefined));

export const containsGrader = (value, options) => ({ type: "contains", value, ...known(options) });
export const equalsGrader = (value, options) => ({ type: "equals", value, ...known(options) });
export const exactGrader = equalsGrader;
export const isJsonGrader = (options) => ({ type: "is-json", ...known(options) });
export const jsonGrader = isJsonGrader;
export const llmGrader = (options) => ({ type: "llm-grader", ...known(options) });
export const rubricsGrader = (criteria, options) => ({ type: "rubrics", criteria, ...known(options) });
export const codeGrader = (command, options) => ({ type: "code-grader", command, ...known(options) });
export const llmRubricGrader = (value, options) => ({ type: "llm-rubric", ...known({ value }), ...known(options) });
export const scriptGrader = (command, options) => ({ type: "script", command, ...known(options) });

/** `pattern`: text, or a regular expression, whose flags are used unless the options have some. */
export function regexGrader(pattern, options) {
  const { flags, ...others } = known(options);
  const used = flags ?? (pattern instanceof RegExp ? pattern.flags : "");
  const value = pattern instanceof RegExp ? pattern.source : pattern;
  return { type: "regex", value, ...(used ? { flags: used } : {}), ...others };
}

export const graders = Object.freeze({
  contains: containsGrader,
  equals: equalsGrader,
  exact: exactGrader,
  regex: regexGrader,
  isJson: isJsonGrader,
  json: jsonGrader,
  llmGrader,
  rubrics: rubricsGrader,
  codeGrader,
  llmRubric: llmRubricGrader,
  script: scriptGrader,
  scriptGrader,
});
