// @ts-check
// The script of the HTML report. It shows data of the page as text: it never parses any of it as HTML, and loads nothing.
"use strict";
(() => {
  /** @typedef {string | [string, number, string]} Text a text, or its beginning, the characters left out, its end */
  /** @typedef {{text: string, address: string | null}} Place */
  /** @typedef {{name: string, address: string, status: string}} Arm */
  /** @typedef {{assertion: Text, type: string, passed: boolean | null, score: number | null, weight: number,
   *   explanation: Text, evidence: Text, place: Place | null, class: string, vacuous: boolean, judge: string,
   *   votes: (boolean | null)[]}} Outcome */
  /** @typedef {{id: string, repetition: number, session: number, status: string, durationMs: number, class: string,
   *   message: Text, directory: string}} Attempt */
  /** @typedef {{address: string, suite: string, case: string, title: string, runner: string, arm: string, arms: Arm[], status: string, expectedFail: boolean, tags: string[],
   *   score: number | null, threshold: number | null, class: string, origin: string,
   *   failure: {name: string, message: Text} | null, reason: Text, place: Place | null, outcomes: Outcome[],
   *   findings: string[], usage: Record<string, number | null>,
   *   costUsd: number | null, costSource: string, durationMs: number, agent: string, model: string, version: string,
   *   prompt: Text, finalOutput: Text, sessions: Attempt[], decidedBy: string | null}} Execution */
  /** @typedef {{kind: string, role?: string, phase?: string, text?: Text, tool?: string, args?: Text, result?: Text,
   *   effects?: Step[], exit?: number | null, path?: string, skill?: string, signal?: string, steps?: number,
   *   after?: number, ms?: number, size?: number, step?: number, usage?: Record<string, number>}} Step */
  /** @typedef {{name: string, text: Text, leftOut?: number, tail?: Text}} Stored */
  /** @typedef {{paths: string[], total: number}} Paths */
  /** @typedef {{found: boolean, report?: boolean, problems: string[], steps: Step[], cwd: string, prompt: Text,
   *   finalOutput: Text, startedAt: string, sessionId: string, model: string, version: string,
   *   skills: {skill: string, confidence: string, evidence: string[]}[], trouble: {kind: string, message: Text} | null,
   *   changes: {created: Paths, modified: Paths, deleted: Paths, complete: boolean | null},
   *   diff: Stored | null, files: Stored[],
   *   questions: {judge: string, instructions: Text, prompt: Text, costUsd: number | null,
   *     votes: {answer: Text, trouble: Text, version: string}[]}[],
   *   logs: Stored[], durationMs?: number, turns?: number, exitCode?: number, usage: Record<string, number>,
   *   costUsd: number | null,
   *   baseline?: {difference: {same: number, before: Step | null, after: Step | null, total: number[]} | null}}} Session */
  /** @typedef {Node | string | null | undefined | false | any[]} Child what an element may have inside */

  const WORDS = /** @type {Record<string, string>} */ ({
    "passed": "Passed", "failed": "Failed", "expected-failed": "Failed as expected",
    "unexpected-passed": "Unexpected pass", "errored": "Not judged", "skipped": "Skipped",
  });
  const TONES = /** @type {Record<string, string>} */ ({
    "passed": "good", "failed": "bad", "expected-failed": "good", "unexpected-passed": "odd", "errored": "odd",
    "skipped": "none",
  });
  const ATTRIBUTES = ["class", "id", "tabindex", "role", "title", "type", "scope", "open", "value", "aria-label",
    "aria-labelledby", "aria-current", "aria-pressed", "aria-live", "aria-sort", "colspan"];

  // --- elements --------------------------------------------------------------------------------------

  /**
   * @param {string} name
   * @param {Record<string, string | undefined>} attributes
   * @param {Child[]} children
   */
  function make(name, attributes, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (value === undefined) continue;
      if (key === "href") {
        if (/^(#|https?:\/\/)/.test(value)) element.setAttribute("href", value);
      } else if (ATTRIBUTES.includes(key)) element.setAttribute(key, value);
      else throw new Error(`attribute ${key}`);
    }
    append(element, children);
    return element;
  }

  /** @param {HTMLElement} element @param {Child[]} children */
  function append(element, children) {
    for (const child of children) {
      if (Array.isArray(child)) append(element, child);
      else if (child) element.append(child);
    }
  }

  /** @param {string} id */
  const byId = id => document.getElementById(id);

  /** @param {Text | undefined | null} text */
  const whole = text => Array.isArray(text) ? text.join("") : text ?? "";

  /** @param {Text | undefined | null} text @returns {Child[]} */
  function shown(text) {
    if (!Array.isArray(text)) return [text ?? ""];
    const note = make("span", { class: "cutoff" }, `… ${count(text[1], "character")} left out …`);
    return [text[0], note, text[2]];
  }

  /** @param {Text | undefined | null} text */
  const block = text => make("pre", { tabindex: "0" }, shown(text));

  /** @param {string} title @param {boolean} open @param {Child[]} children */
  function folded(title, open, ...children) {
    return make("details", { open: open ? "" : undefined }, make("summary", {}, title), ...children);
  }

  /** @param {string} id @param {string} title @param {Child[]} children */
  function section(id, title, ...children) {
    return make("section", { "aria-labelledby": id }, make("h2", { id, tabindex: "-1" }, title), ...children);
  }

  /** @param {string} status */
  const state = status => make("span", { class: `state ${TONES[status] ?? "none"}` }, WORDS[status] ?? status);

  // --- numbers ---------------------------------------------------------------------------------------

  /** @param {number} number @param {string} one @param {string} [many] */
  const count = (number, one, many) => `${number.toLocaleString("en")} ${number === 1 ? one : many ?? `${one}s`}`;

  /** @param {number | null | undefined} ms */
  function time(ms) {
    if (ms === null || ms === undefined) return "unknown";
    if (ms < 1000) return `${ms} ms`;
    const seconds = ms / 1000;
    if (seconds < 60) return `${seconds.toFixed(1)} s`;
    return `${Math.floor(seconds / 60)} min ${Math.round(seconds % 60)} s`;
  }

  /** @param {number | null | undefined} usd */
  const money = usd => usd === null || usd === undefined ? "unknown" : `$${usd.toFixed(usd && usd < 0.01 ? 4 : 2)}`;

  // --- the data of the page --------------------------------------------------------------------------

  /** @param {string} id @returns {any} */
  function data(id) {
    const element = byId(id);
    return element instanceof HTMLScriptElement && element.type === "application/json"
      ? JSON.parse(element.text) : null;
  }

  /** @param {URLSearchParams} query */
  const key = query => JSON.stringify(["suite", "case", "runner", "arm"].map(name => query.get(name) ?? ""));

  /** @type {Map<string, string>} */
  let executions = new Map();
  let complete = false;
  /** The ids of executions by their addresses; while the page is loading, of those that are there. */
  function executionIds() {
    if (!complete) {
      complete = document.readyState !== "loading";
      executions = new Map();
      for (const element of document.querySelectorAll("script[data-address]")) {
        const query = new URLSearchParams((element.getAttribute("data-address") ?? "").slice(1));
        executions.set(key(query), element.id);
      }
    }
    return executions;
  }

  const query = () => new URLSearchParams(location.hash.slice(1));

  /** @param {Execution} execution @param {Record<string, string>} [more] */
  function address(execution, more) {
    const found = new URLSearchParams(execution.address.slice(1));
    for (const [name, value] of Object.entries(more ?? {})) found.set(name, value);
    return `#${found}`;
  }

  // --- the page of an execution ----------------------------------------------------------------------

  /** @param {HTMLElement} page @param {URLSearchParams} wanted */
  function showExecution(page, wanted) {
    const id = executionIds().get(key(wanted));
    page.replaceChildren();
    if (!id) {
      const loading = document.readyState === "loading";
      page.append(make("h1", {}, loading ? "Loading…" : "This execution is not in the report"));
      if (!loading) page.append(make("p", {}, make("a", { href: "#" }, "All cases")));
      return;
    }
    /** @type {Execution} */
    const execution = data(id);
    const attempt = chosen(execution, wanted.get("session")) ?? deciding(execution);
    /** @type {Session | null} */
    const session = attempt && data(attempt.id);
    const other = wanted.has("with") ? chosen(execution, wanted.get("with")) : null;
    trail(execution);
    document.title = `${WORDS[execution.status]}: ${execution.case} on ${execution.runner}${inArm(execution)}`;
    page.append(
      ...head(execution),
      assertions(execution),
      ...attempts(execution, attempt, other),
      ...(session ? sessionParts(execution, session, attempt, other) : [missing(execution)]),
    );
    const view = wanted.get("view");
    const target = view && byId(view);
    if (target && page.contains(target)) {
      target.scrollIntoView();
      target.focus({ preventScroll: true });
    } else window.scrollTo(0, 0);
  }

  /** @param {Execution} execution @param {string | null} name */
  const chosen = (execution, name) =>
    execution.sessions.find(one => `${one.repetition}.${one.session}` === name) ?? null;

  /** The session that the assertions are of; in results without it, the last one with the same status. @param {Execution} execution */
  const deciding = execution =>
    execution.sessions.find(one => one.id === execution.decidedBy) ??
    execution.sessions.filter(one => one.status === execution.status).pop() ?? execution.sessions.at(-1) ?? null;

  /** @param {Attempt} one */
  const sessionName = one => `Repetition ${one.repetition}${one.session > 1 ? `, retry ${one.session - 1}` : ""}`;

  /** @param {Execution} execution */
  function trail(execution) {
    const nav = byId("trail");
    nav?.replaceChildren(make("a", { href: overviewAddress }, "All cases"), ` / ${execution.case} · ${execution.runner}${inArm(execution)}`);
  }

  /** The arm of an execution, for titles. @param {Execution} execution */
  const inArm = execution => execution.arm ? ` · ${execution.arm}` : "";

  /** Links to the same case in the other arms. @param {Execution} execution */
  const otherArms = execution => execution.arms.length > 0 && make("p", {}, "Other arms: ",
    execution.arms.map((one, at) => [at > 0 && " · ", make("a", { href: one.address }, one.name), " ", state(one.status)]));

  /** @param {Execution} execution @returns {Node[]} */
  function head(execution) {
    const facts = [
      make("span", {}, execution.suite),
      make("span", {}, `runner ${execution.runner || "none"}`),
      execution.arm && make("span", {}, `arm ${execution.arm}`),
      execution.model && make("span", {}, execution.model),
      make("span", {}, `${execution.costUsd === null ? "cost " : ""}${money(execution.costUsd)}${execution.costSource === "computed" ? " (computed)" : ""}`),
      make("span", {}, time(execution.durationMs)),
      execution.place && make("span", {}, place(execution.place)),
    ];
    const reason = execution.failure?.message || execution.reason;
    const explained = execution.outcomes.some(one => one.passed !== true && whole(one.explanation) === whole(reason));
    const why = !explained && whole(reason);
    const tone = TONES[execution.status] ?? "none";
    const label = [execution.class, execution.origin && `origin: ${execution.origin}`].filter(Boolean).join(", ");
    const cause = (label || why) && make("div", { class: `cause ${tone}` },
      label && make("p", {}, make("span", { class: "label" }, label)), why && block(reason));
    const score = execution.score !== null &&
      make("p", {}, `Score ${execution.score}${execution.threshold === null ? "" : ` of ${execution.threshold}`}`);
    const findings = execution.findings.length > 0 && make("ul", {}, execution.findings.map(one => make("li", {}, one)));
    const nodes = [
      make("div", { class: "head" }, make("h1", {}, execution.case), state(execution.status), neighbours()),
      execution.title && execution.title !== execution.case && make("p", {}, execution.title),
      make("p", { class: "sub" }, ...facts),
      otherArms(execution), cause, score, findings,
    ];
    return /** @type {Node[]} */ (nodes.filter(Boolean));
  }

  /** @param {Place} found @returns {Child} */
  const place = found => found.address ? make("a", { href: found.address }, found.text) : found.text;

  /** Links to the executions before and after, of those that the filters leave. */
  function neighbours() {
    const links = visibleLinks();
    const here = links.findIndex(link => key(new URLSearchParams(link.slice(1))) === key(query()));
    const before = links[here - 1], after = here >= 0 && links[here + 1];
    return make("span", { class: "muted" },
      before && make("a", { href: before }, "previous"), before && after && " · ",
      after && make("a", { href: after }, "next"));
  }

  /** @param {Execution} execution */
  function assertions(execution) {
    const bad = execution.outcomes.filter(outcome => outcome.passed !== true);
    const good = execution.outcomes.filter(outcome => outcome.passed === true);
    const own = deciding(execution);
    const several = execution.sessions.length > 1 && own &&
      make("p", { class: "muted" }, `Of ${sessionName(own).toLowerCase()}, which decided the status of the execution.`);
    const none = !execution.outcomes.length && make("p", {}, "No assertion was evaluated.");
    return section("assertions", `Assertions: ${good.length} of ${execution.outcomes.length} passed`,
      several, none, bad.map(assertion),
      good.length > 0 && folded(`${count(good.length, "assertion")} passed`,
        !bad.length, ...good.map(assertion)));
  }

  /** @param {Outcome} outcome */
  function assertion(outcome) {
    const word = outcome.passed === null ? "not evaluated" : outcome.passed ? "passed" : "failed";
    const tone = outcome.passed === null ? "odd" : outcome.passed ? "good" : "bad";
    const facts = [
      outcome.type, outcome.score !== null && `score ${outcome.score}`, outcome.weight !== 1 && `weight ${outcome.weight}`,
      outcome.class, outcome.vacuous && "measures nothing", outcome.judge && `judge: ${outcome.judge}`,
      outcome.votes.length > 0 && `votes: ${outcome.votes.map(vote => vote === null ? "none" : vote ? "yes" : "no").join(", ")}`,
    ].filter(Boolean).join(" · ");
    return make("article", { class: `assertion ${tone}` },
      make("h3", {}, make("span", { class: `state ${tone}` }, word), " ", make("span", { class: "mono" }, shown(outcome.assertion))),
      make("p", {}, shown(outcome.explanation)),
      whole(outcome.evidence) ? block(outcome.evidence) : null,
      make("p", { class: "muted" }, facts, outcome.place ? " · " : "", outcome.place && place(outcome.place)));
  }

  /** @param {Execution} execution @param {Attempt | null} attempt @param {Attempt | null} other @returns {Node[]} */
  function attempts(execution, attempt, other) {
    if (execution.sessions.length < 2 || !attempt) return [];
    const rows = execution.sessions.map(one => {
      const name = `${one.repetition}.${one.session}`;
      const own = `${attempt.repetition}.${attempt.session}`;
      const compare = one === attempt ? "shown" : one === other
        ? make("a", { href: address(execution, { session: own, view: "sessions" }) }, "stop comparing")
        : make("a", { href: address(execution, { session: own, with: name, view: "timeline" }) }, "compare with the one shown");
      return make("tr", { "aria-current": one === attempt ? "true" : undefined },
        make("th", { scope: "row" }, make("a", { href: address(execution, { session: name, view: "sessions" }) },
          sessionName(one))),
        make("td", {}, state(one.status)), make("td", {}, time(one.durationMs)), make("td", {}, one.class),
        make("td", {}, shown(one.message)), make("td", {}, compare));
    });
    const heads = ["Session", "Status", "Time", "Class", "Message", "Side by side"];
    return [section("sessions", `Sessions: ${execution.sessions.length}`,
      make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Sessions" },
        make("table", { class: "attempts" },
          make("thead", {}, make("tr", {}, heads.map(title => make("th", { scope: "col" }, title)))),
          make("tbody", {}, rows))))];
  }

  /** @param {Execution} execution */
  function missing(execution) {
    const hint = execution.sessions.length
      ? "The details of this session are not in the report: it was made without them, or there was no space. See its files in the run directory."
      : "No session ran.";
    return section("details", "Session", make("p", {}, hint),
      whole(execution.prompt) ? [make("h3", {}, "Prompt"), block(execution.prompt)] : null,
      whole(execution.finalOutput) ? [make("h3", {}, "Final output"), block(execution.finalOutput)] : null);
  }

  // --- a session -------------------------------------------------------------------------------------

  /**
   * @param {Execution} execution @param {Session} session @param {Attempt | null} attempt @param {Attempt | null} other
   * @returns {Node[]}
   */
  function sessionParts(execution, session, attempt, other) {
    if (!session.found) {
      return [section("details", "Session",
        make("p", {}, `The files of this session were not found${attempt ? `: ${attempt.directory}` : ""}.`),
        whole(execution.prompt) ? [make("h3", {}, "Prompt"), block(execution.prompt)] : null,
        whole(execution.finalOutput) ? [make("h3", {}, "Final output"), block(execution.finalOutput)] : null)];
    }
    const parts = [
      timeline(session, attempt, other),
      changes(session),
      session.questions.length > 0 && judge(session),
      environment(execution, session, attempt),
      session.logs.length > 0 && logs(session),
    ];
    const found = /** @type {HTMLElement[]} */ (parts.filter(Boolean));
    /** @type {Record<string, string>} */
    const own = attempt ? { session: `${attempt.repetition}.${attempt.session}` } : {};
    const links = found.map(part => {
      const title = part.querySelector("h2");
      return make("a", { href: address(execution, { ...own, view: title?.id ?? "" }) }, title?.textContent ?? "");
    });
    const problems = session.problems.length > 0 &&
      make("ul", { class: "reasons" }, session.problems.map(problem => make("li", {}, problem)));
    const nodes = [make("nav", { class: "pages", "aria-label": "Parts of the session" }, ...links), problems, ...found];
    return /** @type {Node[]} */ (nodes.filter(Boolean));
  }

  /**
   * @param {Session} session @param {Attempt | null} attempt @param {Attempt | null} other
   */
  function timeline(session, attempt, other) {
    const title = `Timeline: ${count(length(session.steps), "step")}`;
    if (!session.report) return section("timeline", "Timeline", make("p", {}, "There is no session report."));
    const baseline = session.baseline ? parting(session.baseline.difference) : null;
    /** @type {Session | null} */
    const second = other && data(other.id);
    const counted = session.steps.some(step => step.usage) &&
      make("p", { class: "muted" }, "Tokens are those of the whole model round, shown at its first step.");
    if (!second || !attempt || !other) return section("timeline", title, baseline, counted, steps(session, "step"));
    const [left, right] = firstDifference(session, second);
    const name = (/** @type {Attempt} */ one) => `${sessionName(one)}: `;
    return section("timeline", "Two sessions side by side",
      make("p", {}, left < 0 && right < 0 ? "Their actions are the same." : "The first actions that differ are marked."),
      make("div", { class: "columns" },
        make("div", {}, make("h3", {}, name(attempt), state(attempt.status)), steps(session, "step", left), ...outcome(session)),
        make("div", {}, make("h3", {}, name(other), state(other.status)), steps(second, "other", right), ...outcome(second))));
  }

  /** What a session left, below its steps. @param {Session} session @returns {Node[]} */
  function outcome(session) {
    return [
      folded(`Changes: ${count(changed(session), "file")}`, false, ...changeList(session)),
      folded("Final output", false, whole(session.finalOutput) ? block(session.finalOutput) : make("p", {}, "None.")),
    ];
  }

  /** @param {Step[]} list */
  const length = list => list.reduce((sum, step) => sum + (step.kind === "gap" ? step.steps ?? 0 : 1), 0);

  /** @param {{same: number, before: Step | null, after: Step | null} | null} difference */
  function parting(difference) {
    if (!difference) {
      return make("div", { class: "cause none" }, make("h3", {}, "Compared with the baseline"),
        make("p", {}, "The actions are the same as in the baseline's session, or one of them has none."));
    }
    /** @param {string} title @param {Step | null} step */
    const side = (title, step) => make("div", {}, make("h3", {}, title),
      step ? make("ol", { class: "steps" }, stepItem(step, step.step ?? 0, "")) : make("p", {}, "The session ended here."));
    return make("div", { class: "cause odd" },
      make("h3", {}, "Where this session and the baseline's part"),
      make("p", {}, difference.same ? `The first ${difference.same === 1 ? "action is" : `${difference.same} actions are`} the same; then:` : "From the first action on:"),
      make("div", { class: "columns" }, side("Baseline", difference.before), side("This run", difference.after)));
  }

  /** The places of the first actions that differ in two sessions; -1: none. @param {Session} a @param {Session} b */
  function firstDifference(a, b) {
    const [left, right] = [a, b].map(session => session.steps.map((step, place) => ({ step, place }))
      .filter(({ step }) => !["message", "raw", "gap"].includes(step.kind))
      .map(({ step, place }) => ({ place, text: signature(step, session.cwd) })));
    const most = Math.max(left.length, right.length);
    for (let number = 0; number < most; number++) {
      if (left[number]?.text !== right[number]?.text) return [left[number]?.place ?? -1, right[number]?.place ?? -1];
    }
    return [-1, -1];
  }

  /** @param {Step} step @param {string} cwd */
  function signature(step, cwd) {
    const text = JSON.stringify([step.kind, step.tool, step.args, step.text, step.path, step.skill]);
    return cwd ? text.replaceAll(cwd, ".") : text;
  }

  /** @param {Session} session @param {string} prefix @param {number} [marked] */
  function steps(session, prefix, marked = -1) {
    let number = 0;
    return make("ol", { class: "steps" }, session.steps.map((step, place) => {
      if (step.kind === "gap") {
        number += step.steps ?? 0;
        return make("li", { class: "cutoff" }, `… ${count(step.steps ?? 0, "step")} left out …`);
      }
      number += 1;
      const item = stepItem(step, number, `${prefix}-${number}`, session.cwd);
      if (place === marked) item.classList.add("differs");
      return item;
    }));
  }

  /** @param {Step} step @param {number} number @param {string} id @param {string} [cwd] */
  function stepItem(step, number, id, cwd) {
    const size = step.size ? count(step.size, "character") : "";
    const when = make("div", { class: "when" }, make("b", {}, `${number}`),
      step.after !== undefined && ` +${time(step.after)} `, step.ms !== undefined && make("span", {}, ` took ${time(step.ms)} `),
      size && make("span", {}, ` ${size} `), step.usage && make("span", { class: "tokens" }, tokens(step.usage)));
    return make("li", { class: `step ${step.kind} ${step.phase ?? ""}`, id: id || undefined },
      when, make("div", {}, ...stepBody(step, cwd ?? "")));
  }

  /** Tokens of the model round that a step begins; what the agent does not tell is left out. @param {Record<string, number>} usage */
  function tokens(usage) {
    const { inputTokens, cacheTokens, outputTokens, reasoningTokens } = usage;
    const number = (/** @type {number} */ one) => one.toLocaleString("en");
    return [
      inputTokens !== undefined && `${number(inputTokens)} tokens in${cacheTokens ? `, ${number(cacheTokens)} of them cached` : ""}`,
      outputTokens !== undefined && `${number(outputTokens)} out`,
      reasoningTokens !== undefined && `${number(reasoningTokens)} reasoning`,
    ].filter(Boolean).join("; ");
  }

  /** @param {string | undefined} path @param {string} cwd */
  const inside = (path, cwd) => path && cwd && path.startsWith(`${cwd}/`) ? path.slice(cwd.length + 1) : path ?? "";

  /** @param {Step} step @param {string} cwd @returns {Child[]} */
  function stepBody(step, cwd) {
    switch (step.kind) {
      case "message": {
        const who = step.role === "user" ? "Prompt" : { thinking: "Thinking", commentary: "Says", final: "Answers" }[step.phase ?? ""] ?? "Message";
        return [make("h3", {}, who), make("div", { class: "body" }, shown(step.text))];
      }
      case "tool": {
        const effects = step.effects ?? [];
        const alone = effects.length === 1 && effects[0].kind === "command" ? effects[0] : null;
        return [
          make("h3", {}, make("span", { class: "mono" }, step.tool || "tool"), " ", ...effects.map(one => [effect(one, cwd), " "])),
          alone ? block(alone.text) : whole(step.args) ? folded("Arguments", whole(step.args).length < 400, block(step.args)) : null,
          alone && whole(step.args) ? folded("Arguments", false, block(step.args)) : null,
          step.result === undefined ? make("p", { class: "muted" }, "No result.")
            : whole(step.result) ? folded("Result", whole(step.result).length < 1500, block(step.result)) : make("p", { class: "muted" }, "Empty result."),
        ];
      }
      case "command":
        return [make("h3", {}, "Command ", effect(step, cwd)), block(step.text)];
      case "raw":
        return [make("h3", {}, "Unknown line"), block(step.text)];
      default:
        return [make("h3", {}, effect(step, cwd))];
    }
  }

  /** @param {Step} step @param {string} cwd */
  function effect(step, cwd) {
    if (step.kind === "command") {
      const code = step.exit;
      const tone = code === null || code === undefined ? "none" : code === 0 ? "good" : "bad";
      return make("span", { class: `state ${tone}` }, code === null || code === undefined ? "exit code unknown" : `exit code ${code}`);
    }
    if (step.kind === "skill") return make("span", { class: "state odd" }, `skill ${step.skill} (${step.signal})`);
    return make("span", { class: "state none" }, `${step.kind === "read" ? "reads" : "writes"} ${inside(step.path, cwd)}`);
  }

  /** @param {Session} session */
  const changed = session => session.changes.created.total + session.changes.modified.total + session.changes.deleted.total;

  /** @param {Session} session */
  const changes = session => section("changes", `Changes: ${count(changed(session), "file")}`, ...changeList(session));

  /** @param {Session} session @returns {Child[]} */
  function changeList(session) {
    const { created, modified, deleted } = session.changes;
    /** @type {[Paths, string][]} */
    const kinds = [[created, "created"], [modified, "modified"], [deleted, "deleted"]];
    const list = kinds.map(([{ paths, total }, word]) => total > 0 &&
      make("li", {}, `${total.toLocaleString("en")} ${word}: `, make("span", { class: "mono" }, paths.join(", ")),
        total > paths.length && ` and ${(total - paths.length).toLocaleString("en")} more`));
    const incomplete = session.changes.complete === false &&
      make("p", { class: "muted" }, "Not all changed files are stored: they are too many, too large, or cannot be read.");
    const without = !session.diff && session.files.length > 0 &&
      make("p", { class: "muted" }, "There is no stored diff: these are the files as the session left them.");
    return [
      changed(session) ? make("ul", {}, list) : make("p", {}, "The session changed no file."), incomplete,
      session.diff && diff(session.diff), without,
      session.files.map(file => folded(file.name, true, block(file.text), rest(file))),
    ];
  }

  /** @param {Stored} file @returns {Child[]} */
  const rest = file => file.leftOut
    ? [make("p", { class: "cutoff" }, `… ${count(file.leftOut, "byte")} left out …`), block(file.tail)] : [];

  /** @param {Stored} stored */
  function diff(stored) {
    const box = make("pre", { class: "diff", tabindex: "0" });
    const lines = Array.isArray(stored.text)
      ? [...stored.text[0].split("\n"), { left: stored.text[1] }, ...stored.text[2].split("\n")]
      : stored.text.replace(/\n$/, "").split("\n");
    let header = false;
    for (const line of lines) {
      if (typeof line !== "string") {
        box.append(make("span", { class: "cutoff" }, `… ${count(line.left, "character")} left out …`));
        continue;
      }
      if (line.startsWith("diff --git ")) header = true;
      else if (line.startsWith("@@")) header = false;
      const kind = line.startsWith("diff --git ") ? "file" : line.startsWith("@@") ? "at" : header ? "at"
        : line.startsWith("+") ? "add" : line.startsWith("-") ? "del" : "same";
      box.append(make("span", { class: kind }, line || " "));
    }
    return [make("div", { class: "head" }, make("h3", {}, "Diff"), copy(() => whole(stored.text))), box, ...rest(stored)];
  }

  /** @param {Session} session */
  function judge(session) {
    return section("judge", `Judge: ${count(session.questions.length, "question")}`, session.questions.map((question, number) =>
      make("article", { class: "assertion none" },
        make("h3", {}, `Question ${number + 1}`),
        make("p", { class: "muted" }, `${question.judge} · ${money(question.costUsd)}`),
        question.votes.flatMap((vote, place) => [
          make("h4", {}, question.votes.length > 1 ? `Vote ${place + 1}` : "Answer"),
          block(whole(vote.answer) ? vote.answer : vote.trouble)]),
        folded("Question", false, block(question.prompt)),
        folded("Instructions", false, block(question.instructions)))));
  }

  /** @param {Execution} execution @param {Session} session @param {Attempt | null} attempt */
  function environment(execution, session, attempt) {
    const usage = Object.entries(session.usage).map(([name, number]) => `${number.toLocaleString("en")} ${name.replace("Tokens", "")}`);
    const facts = /** @type {[string, string | number | undefined | null][]} */ ([
      ["Agent", execution.agent], ["Version", session.version || execution.version],
      ["Model", session.model || execution.model], ["Runner", execution.runner], ["Started", session.startedAt],
      ["Time", time(session.durationMs ?? attempt?.durationMs)], ["Model rounds", session.turns],
      ["Exit code", session.exitCode], ["Cost", money(session.costUsd)], ["Tokens", usage.join(", ") || "unknown"],
      ["Session id", session.sessionId], ["Files", attempt?.directory], ["Expected to fail", execution.expectedFail ? "yes" : ""],
      ["Tags", execution.tags.join(", ")],
      ...Object.entries(/** @type {Record<string, string>} */ (data("settings") ?? {}))
        .map(([name, words]) => /** @type {[string, string]} */ ([name[0].toUpperCase() + name.slice(1), words])),
      ["Trouble", session.trouble ? `${session.trouble.kind}: ${whole(session.trouble.message)}` : ""],
    ]);
    const skills = session.skills.length > 0 && [make("h3", {}, "Skills"), make("ul", {}, session.skills.map(skill =>
      make("li", {}, `${skill.skill}: ${skill.confidence}`, skill.evidence.length > 0 && `; ${skill.evidence.join("; ")}`)))];
    return section("environment", "Environment",
      make("dl", { class: "facts-list" }, facts.filter(([, value]) => value !== "" && value !== undefined && value !== null)
        .flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, `${value}`)])),
      skills, make("h3", {}, "Prompt"), block(whole(session.prompt) ? session.prompt : execution.prompt),
      whole(session.finalOutput) ? [make("h3", {}, "Final output"), block(session.finalOutput)] : null);
  }

  /** @param {Session} session */
  function logs(session) {
    const shownLogs = session.logs.filter(log => whole(log.text));
    const empty = session.logs.filter(log => !whole(log.text)).map(log => log.name);
    return section("logs", `Logs: ${count(shownLogs.length, "file")}`, shownLogs.map(log => {
      const text = () => whole(log.text) + (log.leftOut ? `\n… ${log.leftOut} bytes left out …\n` : "") + whole(log.tail);
      return make("div", { class: "log" }, make("div", { class: "head" }, make("h3", { class: "mono" }, log.name), copy(text)),
        folded("Show", false, block(log.text), ...rest(log)));
    }), empty.length > 0 && make("p", { class: "muted" }, `Empty: ${empty.join(", ")}`));
  }

  /** @param {() => string} text */
  function copy(text) {
    const button = make("button", { type: "button" }, "Copy");
    button.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(text());
        button.textContent = "Copied";
      } catch {
        button.textContent = "Not allowed here";
      }
      setTimeout(() => { button.textContent = "Copy"; }, 2000);
    });
    return button;
  }

  // --- the overview ----------------------------------------------------------------------------------

  let overviewAddress = "#";
  const form = /** @type {HTMLFormElement | null} */ (byId("filters"));
  const matrix = /** @type {HTMLTableElement | null} */ (byId("matrix"));
  const rows = matrix ? [...matrix.tBodies[0].rows] : [];
  const title = document.title;

  /** The values of the form that are set. */
  function wishes() {
    const found = new URLSearchParams();
    if (form) for (const [name, value] of new FormData(form)) if (typeof value === "string" && value) found.set(name, value);
    return found;
  }

  /** @param {URLSearchParams} wanted */
  function showOverview(wanted) {
    byId("trail")?.replaceChildren();
    document.title = title;
    if (!form) return;
    for (const field of form.elements) {
      if (field instanceof HTMLInputElement || field instanceof HTMLSelectElement) field.value = wanted.get(field.name) ?? "";
    }
    filter();
  }

  /** Hide what does not match, and sort. */
  function filter() {
    const wanted = wishes();
    const words = (wanted.get("q") ?? "").toLowerCase().split(/\s+/).filter(Boolean);
    let cells = 0, cases = 0;
    for (const row of rows) {
      const own = `${(row.textContent ?? "").toLowerCase()} ${(row.dataset.suite ?? "").toLowerCase()}`;
      const rowMatches = (!wanted.has("in") || row.dataset.suite === wanted.get("in"))
        && (!wanted.has("tag") || [...row.querySelectorAll(".tag")].some(tag => tag.textContent === wanted.get("tag")));
      let any = false;
      for (const cell of row.cells) {
        if (!(cell instanceof HTMLTableCellElement) || cell.dataset.status === undefined) continue;
        const text = `${row.cells[0].textContent} ${cell.textContent} ${cell.dataset.runner}`.toLowerCase();
        const matches = rowMatches
          && (!wanted.has("status") || cell.dataset.status === wanted.get("status"))
          && (!wanted.has("on") || cell.dataset.runner === wanted.get("on"))
          && (!wanted.has("class") || cell.dataset.class === wanted.get("class"))
          && (!wanted.has("flaky") || cell.dataset.flaky === wanted.get("flaky"))
          && (!wanted.has("changed") || cell.dataset.changed === wanted.get("changed"))
          && words.every(word => own.includes(word) && text.includes(word));
        cell.classList.toggle("off", !matches);
        if (matches) { cells += 1; any = true; }
      }
      row.hidden = !any;
      if (any) cases += 1;
    }
    for (const cell of matrix?.querySelectorAll("[data-runner]") ?? []) {
      if (cell instanceof HTMLElement) cell.hidden = wanted.has("on") && cell.dataset.runner !== wanted.get("on");
    }
    sort(wanted.get("sort") ?? "");
    const output = byId("shown-count");
    if (output) output.textContent = `${count(cells, "execution")} of ${count(cases, "case")}`;
  }

  /** @param {string} by */
  function sort(by) {
    const number = (/** @type {HTMLTableRowElement} */ row, /** @type {string} */ name) => Number(row.dataset[name]);
    /** @type {Record<string, (a: HTMLTableRowElement, b: HTMLTableRowElement) => number>} */
    const orders = {
      "red": (a, b) => number(a, "red") - number(b, "red"),
      "case": (a, b) => (a.dataset.case ?? "").localeCompare(b.dataset.case ?? "", "en"),
      "cost": (a, b) => number(b, "cost") - number(a, "cost"),
      "time": (a, b) => number(b, "time") - number(a, "time"),
    };
    const order = orders[by];
    const plan = [...rows].sort((a, b) => number(a, "number") - number(b, "number"));
    matrix?.tBodies[0].append(...(order ? plan.sort(order) : plan));
  }

  /** Addresses of the executions that the filters leave, in the order shown. */
  function visibleLinks() {
    const found = [];
    for (const row of matrix?.tBodies[0].rows ?? []) {
      if (row.hidden) continue;
      for (const link of row.querySelectorAll("td:not(.off) a.cell")) found.push(link.getAttribute("href") ?? "");
    }
    return found;
  }

  // --- addresses, keys, colours, printing ------------------------------------------------------------

  function route() {
    const wanted = query();
    const page = byId("session"), overview = byId("overview");
    if (!page || !overview) return;
    const single = wanted.has("case");
    page.hidden = !single;
    overview.hidden = single;
    if (single) showExecution(page, wanted);
    else {
      overviewAddress = location.hash || "#";
      page.replaceChildren();
      showOverview(wanted);
    }
  }

  function remember() {
    filter();
    const wanted = wishes().toString();
    overviewAddress = `#${wanted}`;
    history.replaceState(null, "", overviewAddress);
  }

  /** @param {string} name @param {string} [value] */
  function setting(name, value) {
    try {
      if (value !== undefined) localStorage.setItem(`skillgym.${name}`, value);
      return localStorage.getItem(`skillgym.${name}`);
    } catch {
      return null;
    }
  }

  const dark = () => (document.documentElement.dataset.theme
    ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";

  function turn() {
    document.documentElement.dataset.theme = setting("theme", dark() ? "light" : "dark") ?? (dark() ? "light" : "dark");
  }

  const KEYS = /** @type {[string, string, () => void][]} */ ([
    ["/", "search", () => { location.hash = overviewAddress; setTimeout(() => byId("search")?.focus()); }],
    ["j", "next case, or next execution", () => move(1)],
    ["k", "previous case, or previous execution", () => move(-1)],
    ["u", "up to all cases", () => { location.hash = overviewAddress; }],
    ["t", "light or dark", turn],
    ["?", "this help", () => help()],
  ]);
  let current = -1;

  /** @param {number} by */
  function move(by) {
    if (query().has("case")) {
      const links = visibleLinks();
      const here = links.findIndex(link => key(new URLSearchParams(link.slice(1))) === key(query()));
      const next = links[here + by];
      if (next) location.hash = next;
      return;
    }
    const shownRows = [...matrix?.tBodies[0].rows ?? []].filter(row => !row.hidden);
    current = Math.max(0, Math.min(shownRows.length - 1, current + by));
    for (const row of rows) row.classList.toggle("current", row === shownRows[current]);
    const link = shownRows[current]?.querySelector("td:not(.off) a.cell");
    if (link instanceof HTMLElement) link.focus();
  }

  function help() {
    const box = make("input", { type: "checkbox", id: "single-keys" });
    const dialog = /** @type {HTMLDialogElement} */ (make("dialog", { "aria-labelledby": "keys" },
      make("h2", { id: "keys" }, "Keys"),
      make("table", {}, make("tbody", {}, KEYS.map(([name, words]) =>
        make("tr", {}, make("td", {}, make("kbd", {}, name)), make("td", {}, words))))),
      make("p", {}, make("label", {}, box, " Single keys are shortcuts"))));
    if (box instanceof HTMLInputElement) {
      box.checked = setting("keys") !== "off";
      box.addEventListener("change", () => setting("keys", box.checked ? "on" : "off"));
    }
    const close = make("button", { type: "button" }, "Close");
    close.addEventListener("click", () => dialog.close());
    dialog.append(close);
    dialog.addEventListener("close", () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
  }

  document.addEventListener("keydown", event => {
    const target = event.target;
    const typing = target instanceof HTMLInputElement || target instanceof HTMLSelectElement;
    if (typing && event.key === "Escape") target.blur();
    if (typing || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog")) return;
    if (setting("keys") === "off" && event.key !== "?") return;
    const found = KEYS.find(([name]) => name === event.key);
    if (found) {
      event.preventDefault();
      found[2]();
    }
  });

  /** @type {HTMLDetailsElement[]} */
  let opened = [];
  window.addEventListener("beforeprint", () => {
    opened = [...document.querySelectorAll("main details")].filter(one => one instanceof HTMLDetailsElement && !one.open).map(one => /** @type {HTMLDetailsElement} */ (one));
    for (const one of opened) one.open = true;
  });
  window.addEventListener("afterprint", () => { for (const one of opened) one.open = false; });

  const stored = setting("theme");
  if (stored === "dark" || stored === "light") document.documentElement.dataset.theme = stored;
  const tools = byId("tools");
  for (const [words, act] of /** @type {[string, () => void][]} */ ([["Light or dark", turn], ["Keys", help]])) {
    const button = make("button", { type: "button" }, words);
    button.addEventListener("click", act);
    tools?.append(button);
  }
  if (form) {
    form.hidden = false;
    form.addEventListener("input", remember);
    form.addEventListener("submit", event => event.preventDefault());
    form.addEventListener("reset", () => setTimeout(remember));
  }
  window.addEventListener("hashchange", route);
  document.addEventListener("DOMContentLoaded", () => {
    if (query().has("case")) route();
    const left = data("left-out");
    if (left) byId("provenance")?.after(make("p", {}, `There was no space for the details of ${count(left, "session")}.`));
  });
  route();
})();
