// Evaluates an assertion of the type javascript. Stdin is the payload; its config says what to evaluate.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

function fromCode(text) {
  const body = text.trim().replace(/;+\s*$/, "");
  const isBody = body.includes("\n") || /\breturn\b/.test(body);
  const end = /^(?:const|let|var)\s/.test(body) ? body.lastIndexOf(";") : -1;
  const returned = end < 0 ? `return (${body});` : `${body.slice(0, end + 1)} return (${body.slice(end + 1)});`;
  return new Function("output", "context", isBody ? body : returned);
}

async function fromFile(path, name) {
  const module = await import(pathToFileURL(path).href);
  const found = name ? (module[name] ?? module.default?.[name]) : (module.default ?? module.getAssert);
  if (typeof found !== "function") throw new Error(`${path} exports no function ${name || "default"}`);
  return found;
}

function answer(result) {
  if (typeof result === "boolean") {
    return { score: result ? 1 : 0, assertions: [{ text: `the expression is ${result}`, passed: result }] };
  }
  return typeof result === "number" ? { score: result } : result;
}

const payload = JSON.parse(readFileSync(0, "utf8"));
const { file, function: name, code, vars, config } = JSON.parse(payload.config.evaluated);
const camelCase = (key) => key.replace(/_([a-z])/g, (_, letter) => letter.toUpperCase());
const named = Object.fromEntries(Object.entries(payload).map(([key, value]) => [camelCase(key), value]));
const evaluate = file ? await fromFile(file, name) : fromCode(code);
console.log(JSON.stringify(answer(await evaluate(payload.output ?? "", { ...payload, ...named, vars, config }))));
