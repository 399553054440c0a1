// node palette.mjs MODULES FILE.png COLORS: makes a picture smaller, with no more than that many colors.
import { readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";

const [modules, file, colors] = process.argv.slice(2);
const png = createRequire(`${modules}/`)("upng-js");
const picture = png.decode(readFileSync(file));
const small = png.encode(png.toRGBA8(picture), picture.width, picture.height, Number(colors));
if (small.byteLength < readFileSync(file).byteLength) writeFileSync(file, Buffer.from(small));
