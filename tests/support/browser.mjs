// Drives Chromium for tests: reads a JSON array [method, ...arguments] a line, answers with one line of JSON each.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";

const [modules, executablePath] = process.argv.slice(2);
const load = createRequire(`${modules}/`);
const { chromium } = load("playwright-core");
const axe = readFileSync(load.resolve("axe-core/axe.min.js"), "utf8");
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
let context, page, seen;

const methods = {
  // `served`: the address that pages may load files from; else they may only load local files.
  async open(url, { served = "file:", ...options }) {
    await context?.close();
    context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
    seen = { requests: [], blocked: [], errors: [], dialogs: [] };
    await context.route("**/*", route => {
      const address = route.request().url();
      if (address.startsWith(served)) return route.continue();
      seen.requests.push(address);
      return route.abort();
    });
    page = await context.newPage();
    page.on("request", request => { if (!request.url().startsWith(served)) seen.requests.push(request.url()); });
    page.on("requestfailed", request => {
      if (!/csp/i.test(request.failure()?.errorText ?? "")) return;
      seen.blocked.push(request.url());
      seen.requests = seen.requests.filter(address => address !== request.url());
    });
    page.on("pageerror", error => seen.errors.push(String(error)));
    page.on("console", message => { if (message.type() === "error") seen.errors.push(message.text()); });
    page.on("dialog", dialog => { seen.dialogs.push(dialog.message()); dialog.dismiss(); });
    const began = performance.now();
    await page.goto(url, { waitUntil: "load" });
    return performance.now() - began;
  },
  async go(fragment) {
    await page.evaluate(wanted => { location.hash = wanted; }, fragment);
    await page.waitForTimeout(50);
  },
  evaluate: script => page.evaluate(script),
  texts: selector => page.locator(selector).evaluateAll(found => found.filter(one => one.checkVisibility({ visibilityProperty: true })).map(one => one.innerText)),
  click: selector => page.locator(selector).first().click(),
  fill: (selector, text) => page.locator(selector).fill(text),
  select: (selector, value) => page.locator(selector).selectOption(value),
  wait: (selector, state) => page.locator(selector).first().waitFor({ state }),
  press: key => page.keyboard.press(key),
  media: options => page.emulateMedia(options),
  shot: async (path, options) => { await page.screenshot({ path, fullPage: true, ...options }); },
  seen: () => seen,
  async axe() {
    await page.evaluate(axe);
    const found = await page.evaluate(() => window.axe.run());
    return found.violations.flatMap(one => one.nodes.map(node => `${one.id}: ${node.html.slice(0, 200)}: ${node.failureSummary}`));
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const [method, ...args] = JSON.parse(line);
  let answer;
  try {
    answer = { value: (await methods[method](...args)) ?? null };
  } catch (error) {
    answer = { error: String(error) };
  }
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
await browser.close();
