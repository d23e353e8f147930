// Makes the bundles that the studio's page loads, and the file of licences that goes with them.
import { build } from "esbuild";
import { readFileSync, writeFileSync, copyFileSync, readdirSync, existsSync, mkdirSync } from "node:fs";
import { join, resolve } from "node:path";

const out = resolve("../src/cepheus/studio/static/vendor");
mkdirSync(out, { recursive: true });
const common = { bundle: true, minify: true, format: "esm", target: "es2022", legalComments: "none" };
await build({ ...common, entryPoints: ["codemirror.js"], outfile: join(out, "codemirror.js") });
await build({
  ...common,
  stdin: { contents: 'import * as d from "@dagrejs/dagre"; export const dagre = d.default ?? d;', resolveDir: "." },
  outfile: join(out, "dagre.js"),
});
await build({ ...common, stdin: { contents: 'export { default } from "uplot";', resolveDir: "." }, outfile: join(out, "uplot.js") });
copyFileSync("node_modules/uplot/dist/uPlot.min.css", join(out, "uplot.css"));

const lock = JSON.parse(readFileSync("package-lock.json", "utf8")).packages;
const texts = [];
for (const [path, about] of Object.entries(lock).sort()) {
  if (!path || about.dev || about.optional) continue;
  const files = readdirSync(path).filter((name) => /^licen[cs]e/i.test(name));
  const licence = files.length ? readFileSync(join(path, files[0]), "utf8").trim() : `Licence: ${about.license}`;
  texts.push(`${path.replace("node_modules/", "")} ${about.version} (${about.license})\n\n${licence}\n`);
}
writeFileSync(join(out, "LICENSES.txt"), texts.join(`\n${"-".repeat(80)}\n\n`));
