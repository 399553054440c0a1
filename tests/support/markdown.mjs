// node markdown.mjs MODULES FILE.md FILE.html light|dark: Markdown as GitHub shows it, cleaned with GitHub's own list.
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [modules, source, target, scheme] = process.argv.slice(2);
const { resolve } = createRequire(`${modules}/`);
const load = async name => import(pathToFileURL(resolve(name)));
const plugin = async name => (await load(name)).default;
const { unified } = await load("unified");
const { defaultSchema } = await load("rehype-sanitize");
const page = await unified()
  .use(await plugin("remark-parse"))
  .use(await plugin("remark-gfm"))
  .use(await plugin("remark-gemoji"))
  .use(await plugin("remark-rehype"), { allowDangerousHtml: true })
  .use(await plugin("rehype-raw"))
  .use(await plugin("rehype-sanitize"), defaultSchema)
  .use(await plugin("rehype-stringify"))
  .process(readFileSync(source));
const style = readFileSync(resolve(`github-markdown-css/github-markdown-${scheme}.css`), "utf8");
writeFileSync(target, `<!doctype html><meta charset="utf-8"><style>${style}
body { margin: 0; }
.markdown-body { padding: 24px; }
</style><article class="markdown-body">${page}</article>`);
