// A grader in TypeScript that refuses a payload with other keys or values than AgentV's SDK accepts.
// "optional" keys may be absent, but not null; "nullish" ones may be both. With TS_WANTED, it prints what it got there.
import { readFileSync } from "node:fs";
import { z } from "zod";

const texts = z.record(z.string(), z.unknown());
const usage = z
  .object({ input: z.number(), output: z.number(), cached: z.number().optional(), reasoning: z.number().optional() })
  .strict();
const summary = z
  .object({
    event_count: z.number(),
    tool_calls: z.record(z.string(), z.number()),
    error_count: z.number(),
    tool_durations: z.record(z.string(), z.array(z.number())).optional(),
    llm_call_count: z.number().optional(),
  })
  .strict();
const status = z.enum(["ok", "error", "timeout", "cancelled", "unknown"]);
const call = z
  .object({
    tool: z.string(),
    input: z.unknown().optional(),
    output: z.unknown().optional(),
    id: z.string().optional(),
    status: status.optional(),
    start_time: z.string().optional(),
    end_time: z.string().optional(),
    duration_ms: z.number().optional(),
  })
  .strict();
const message = z
  .object({
    role: z.enum(["assistant", "user", "system", "tool"]),
    content: z.union([z.string(), z.array(texts), texts]).optional(),
    tool_calls: z.array(call).optional(),
    name: z.string().optional(),
    start_time: z.string().optional(),
    end_time: z.string().optional(),
    duration_ms: z.number().optional(),
    metadata: texts.optional(),
  })
  .strict();
const problem = z.object({ message: z.string() }).strict();
const event = z
  .object({
    event_id: z.string(),
    parent_event_id: z.string().optional(),
    ordinal: z.number().int().nonnegative(),
    type: z.enum(["message", "model_turn", "tool_call", "tool_result", "final_response", "error"]),
    timestamp: z.string().optional(),
    duration_ms: z.number().nonnegative().optional(),
    turn_index: z.number().int().nonnegative().optional(),
    message: z
      .object({
        role: z.string(),
        name: z.string().optional(),
        content: z.unknown().optional(),
        metadata: texts.optional(),
      })
      .strict()
      .optional(),
    model: texts.optional(),
    tool: z
      .object({
        name: z.string(),
        call_id: z.string().optional(),
        input: z.unknown().optional(),
        output: z.unknown().optional(),
        status: status.optional(),
        error: problem.optional(),
      })
      .strict()
      .optional(),
    error: problem.optional(),
    metadata: texts.optional(),
  })
  .strict();
const trace = summary
  .extend({
    messages: z.array(message),
    events: z.array(event),
    token_usage: usage.optional(),
    cost_usd: z.number().optional(),
    duration_ms: z.number().optional(),
    start_time: z.string().optional(),
    end_time: z.string().optional(),
    metadata: texts.optional(),
  })
  .strict();
const payload = z
  .object({
    criteria: z.string(),
    expected_output: z.array(message),
    output: z.string().nullish(),
    messages: z.array(message).optional().default([]),
    output_path: z.string().optional(),
    input_files: z.array(z.string()),
    input: z.array(message),
    metadata: texts.nullish(),
    trace: trace.nullish(),
    trace_summary: summary.nullish(),
    token_usage: usage.nullish(),
    cost_usd: z.number().nullish(),
    duration_ms: z.number().nullish(),
    start_time: z.string().nullish(),
    end_time: z.string().nullish(),
    file_changes: z.string().nullish(),
    workspace_path: z.string().nullish(),
    config: texts.nullish(),
  })
  .strict();

const read: unknown = JSON.parse(readFileSync(0, "utf8"));
const result = payload.safeParse(read);
const refused = result.success ? [] : result.error.issues.map((one) => `${one.path.join(".")}: ${one.message}`);
const assertions = refused.length
  ? refused.map((text) => ({ text, passed: false }))
  : [{ text: "the payload is valid", passed: true }];
console.log(JSON.stringify({ score: refused.length ? 0 : 1, assertions }));
process.exitCode = refused.length ? 1 : 0;
