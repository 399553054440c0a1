export const workspace = { mode: "isolated", templateDir: "./nowhere" };

export default [
  { id: "no template", prompt: "works", assert() {} },
  { id: "no template, classified", prompt: "works", classifyFailure: ({ failureOrigin }) => `own ${failureOrigin}`, assert() {} },
];
