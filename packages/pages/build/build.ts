// Builds the pages for browsers: scripts and stylesheets with a hash in their names, and a manifest that says which page needs which of them.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type BuildOptions, buildSync, type Metafile } from 'esbuild';
import { PAGES, type PageSource, SCRIPTS, type ScriptSource } from './pages.ts';

const SOURCES = fileURLToPath(new URL('../src/', import.meta.url));

/** The icon of the pages, which costs no request. */
const ICON = `data:image/svg+xml,${encodeURIComponent(readFileSync(join(SOURCES, 'console/icon.svg'), 'utf8'))}`;

const SHARED_OPTIONS = {
  absWorkingDir: SOURCES,
  bundle: true,
  target: 'es2022',
  minify: true,
  metafile: true,
  logLevel: 'silent',
} satisfies BuildOptions;

/** The files that the browser loads for a module: itself, those that it imports at once, and its stylesheet. All are names in the folder of the build. */
interface BuiltModule {
  script: string;
  preloads: string[];
  styles: string[];
}

/** A page of the manifest. */
interface BuiltPage extends BuiltModule {
  /** The text of its index.html. */
  html: string;
  /** All files of the page. */
  files: string[];
  tabs: Record<string, BuiltModule>;
  /** The files with the texts that the page itself needs, by language. */
  texts: Record<string, string[]>;
  /** The files of modules that other scripts import, by the name in the import. */
  modules: Record<string, string>;
}

/** Returns the files that a script imports, at once and not on demand, its own imports included. */
function listImports(outputs: Metafile['outputs'], path: string, found = new Set<string>()): Set<string> {
  for (const { path: imported, kind } of outputs[path]!.imports)
    if (kind === 'import-statement' && !found.has(imported)) {
      found.add(imported);
      listImports(outputs, imported, found);
    }
  return found;
}

/** Returns the files with texts that a script loads on demand, by language: those of `texts.de.ts` of each folder. */
function listTexts(outputs: Metafile['outputs'], entry: string): Record<string, string[]> {
  const path = Object.keys(outputs).find((each) => outputs[each]!.entryPoint === entry)!;
  const loaded = [path, ...listImports(outputs, path)]
    .flatMap((each) => outputs[each]!.imports)
    .filter(({ kind }) => kind === 'dynamic-import')
    .map((each) => each.path);
  const files = [...new Set(loaded)].flatMap((each) => {
    const language = /(?:^|\/)texts\.(\w+)\.ts$/.exec(outputs[each]?.entryPoint ?? '')?.[1];
    return language === undefined ? [] : [{ language, file: basename(each) }];
  });
  return Object.fromEntries(
    [...Map.groupBy(files, ({ language }) => language)].map(([language, list]) => [
      language,
      list.map(({ file }) => file),
    ]),
  );
}

function describeModule(outputs: Metafile['outputs'], entry: string): BuiltModule {
  const [path, { cssBundle }] = Object.entries(outputs).find(([, { entryPoint }]) => entryPoint === entry)!;
  return {
    script: basename(path),
    preloads: [...listImports(outputs, path)].map((each) => basename(each)),
    styles: cssBundle === undefined ? [] : [basename(cssBundle)],
  };
}

/** Builds a page. Adds the paths of the files in its bundles to `inputs`. */
function buildPage({ entry, tabs = {}, shared }: PageSource, folder: string, inputs: Set<string>): BuiltPage {
  const { outputFiles, metafile } = buildSync({
    ...SHARED_OPTIONS,
    entryPoints: [entry, ...Object.values(tabs), ...(shared === undefined ? [] : [shared.module])],
    entryNames: '[name]-[hash]',
    chunkNames: 'shared-[hash]',
    outdir: folder,
    splitting: true,
    format: 'esm',
    jsx: 'automatic',
    jsxImportSource: 'preact',
    loader: { '.svg': 'dataurl' },
    write: false,
  });
  for (const { path, contents } of outputFiles) writeFileSync(path, contents);
  for (const path of Object.keys(metafile.inputs)) inputs.add(path);
  const describe = (each: string) => describeModule(metafile.outputs, each);
  return {
    ...describe(entry),
    html: readFileSync(join(SOURCES, dirname(entry), 'index.html'), 'utf8').replace('$icon$', ICON),
    files: outputFiles.map(({ path }) => basename(path)),
    tabs: Object.fromEntries(Object.entries(tabs).map(([id, each]) => [id, describe(each)])),
    texts: listTexts(metafile.outputs, entry),
    modules: Object.fromEntries(shared?.names.map((name) => [name, describe(shared.module).script]) ?? []),
  };
}

/** Builds a script. Adds the paths of the files in its bundle to `inputs`. */
function buildScript({ entry, format, external = [] }: ScriptSource, outfile: string, inputs: Set<string>): void {
  const { metafile } = buildSync({ ...SHARED_OPTIONS, entryPoints: [entry], outfile, format, external });
  for (const path of Object.keys(metafile.inputs)) inputs.add(path);
}

/**
 * Builds all pages and scripts.
 *
 * @param folder gets the files and `manifest.json`
 * @returns the paths of all files in the bundles
 * @throws Error with the messages of the compiler
 */
export function buildPages(folder: string): readonly string[] {
  mkdirSync(folder, { recursive: true });
  const inputs = new Set<string>();
  const pages = Object.entries(PAGES).map(([name, page]) => [name, buildPage(page, folder, inputs)]);
  writeFileSync(join(folder, 'manifest.json'), JSON.stringify(Object.fromEntries(pages)));
  for (const [name, script] of Object.entries(SCRIPTS)) buildScript(script, join(folder, name), inputs);
  return [...inputs];
}
