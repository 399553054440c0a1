// `assert.skills`: the skills that a session used.

import { fail } from "./failure-messages.mjs";
import { counted, listed, nearestFirst, shown } from "./matching.mjs";

const CONFIDENCE = ["weak", "medium", "strong", "explicit"];
const DETECTIONS = { one: "detection", many: "detections" };

export const skills = {
  has(report, skill, options) {
    const seen = detected(report, options);
    if (!seen.names.includes(skill)) {
      seen.fail(`expected the skill ${name(skill)}`, { expected: skill, actual: 0 }, [skill]);
    }
  },
  notHas(report, skill, options) {
    const seen = detected(report, options);
    const actual = times(seen, skill);
    if (actual) seen.fail(`expected no skill ${name(skill)}`, { expected: 0, actual });
  },
  includes(report, wanted, options) {
    const seen = detected(report, options);
    const missing = listOf(wanted).filter((skill) => !seen.names.includes(skill));
    if (missing.length) {
      seen.fail(`expected the skills ${names(wanted)}; missing: ${names(missing)}`, { expected: wanted, actual: missing }, missing);
    }
  },
  count(report, skill, expected, options) {
    const seen = detected(report, options);
    const actual = times(seen, skill);
    if (actual === expected) return;
    const wanted = counted(expected, DETECTIONS);
    seen.fail(`expected ${wanted} of the skill ${name(skill)}, found ${actual}`, { expected, actual });
  },
  exactlyOne(report, skill, options) {
    skills.count(report, skill, 1, options);
  },
  only(report, allowed, options) {
    const seen = detected(report, options);
    const others = seen.names.filter((skill) => !listOf(allowed).includes(skill));
    if (!others.length) return;
    const wanted = allowed.length ? `expected no skills but ${names(allowed)}` : "expected no skills";
    seen.fail(`${wanted}; found: ${names(others)}`, { expected: allowed, actual: others });
  },
};

/** The skills that were detected with at least the confidence `minConfidence`. */
function detected(report, options) {
  const least = options?.minConfidence;
  if (least !== undefined && !CONFIDENCE.includes(least)) {
    throw new TypeError(`minConfidence is one of ${CONFIDENCE.join(", ")}, not ${shown(least)}`);
  }
  const all = report.detectedSkills;
  const sure = all.filter(({ confidence }) => CONFIDENCE.indexOf(confidence) >= CONFIDENCE.indexOf(least));
  const lines = all.map(({ skill, confidence }) => `${skill} (${confidence})`);
  const detectedNames = all.map(({ skill }) => skill);
  const qualified = (text) => (least ? `${text} (confidence: ${least} or more)` : text);
  return {
    names: sure.map(({ skill }) => skill),
    /** `near`: the skills that are missing. */
    fail(text, context, near = []) {
      const observed = listed("detected skills", lines, nearestFirst(near, detectedNames));
      fail(qualified(text), observed, options, { report, ...context, observed: all });
    },
  };
}

const times = (seen, skill) => seen.names.filter((each) => each === skill).length;
const name = (skill) => JSON.stringify(skill);
const names = (list) => list.map(name).join(", ");

function listOf(value) {
  if (Array.isArray(value)) return value;
  throw new TypeError(`expected a list of skills, not ${shown(value)}`);
}
