// Of Tabler's style sheet, on standard output: the rules whose classes are all in classes.txt, whatever their elements,
// and of its variables those that these rules or the console's own style sheets (a folder, the argument) read.
import { readFileSync, readdirSync } from "node:fs";
import { PurgeCSS } from "purgecss";

const read = (path) => readFileSync(path, "utf8");
const css = read("node_modules/@tabler/core/dist/css/tabler.min.css");
const own = readdirSync(process.argv[2]).map((name) => ({ raw: read(`${process.argv[2]}/${name}`) }));
const all = (pattern) => Array.from(css.matchAll(pattern), (found) => found[1]);

const used = {
  classes: read("classes.txt").split("\n").filter((line) => line && !line.startsWith("#")),
  tags: all(/([a-z][a-z0-9]*)/g),
  attributes: {
    // Other parts of Tabler and Bootstrap: their scripts and their own switch between light and dark.
    names: all(/\[([\w-]+)/g).filter((name) => !name.startsWith("data-bs-")),
    values: all(/=["']?([\w-]+)["']?\]/g),
  },
  ids: [],
  undetermined: [],
};
const [tabler] = await new PurgeCSS().purge({
  content: [{ raw: " ", extension: "html" }],
  extractors: [{ extractor: () => used, extensions: ["html"] }],
  css: [{ raw: css }, ...own],
  safelist: [":focus-visible", ":host"],
  variables: true,
  keyframes: true,
});
process.stdout.write(tabler.css);
