// Calls a hook of an AgentV suite: argv is a module and the name of the hook; stdin its context.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [file, hookName] = process.argv.slice(2);
const context = JSON.parse(readFileSync(0, "utf8"));
const module = await import(pathToFileURL(file).href);
const hook = module[hookName] ?? module.default?.[hookName];
if (typeof hook !== "function") throw new Error(`${file} exports no function ${hookName}`);
await hook({ hook_name: hookName, eval_dir: process.cwd(), ...context }, { hookName });
