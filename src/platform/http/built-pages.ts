import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { extname } from 'node:path';
import { memoizeAsync, prepareContent, type ServedContent } from './served-bytes.ts';

/** The files that a browser loads for a page or for a tab of the console, as names in the build. */
interface BuiltModule {
  script: string;
  /** What the script imports. */
  preloads: readonly string[];
  styles: readonly string[];
}

/** A page of `manifest.json` of `@belfry/pages`. */
interface PageOfBuild extends BuiltModule {
  html: string;
  files: readonly string[];
  tabs: Readonly<Record<string, BuiltModule>>;
  /** The files with the texts of the page, by language. */
  texts: Readonly<Record<string, readonly string[]>>;
  modules: Readonly<Record<string, string>>;
}

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.js': 'text/javascript; charset=utf-8',
};

const SHARED_HEADERS = {
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

/** For files whose name changes with their content. */
const IMMUTABLE_HEADERS = { ...SHARED_HEADERS, 'Cache-Control': 'public, max-age=31536000, immutable' };

/** The script that loads a page again whose files are of another version. All versions have it under this name, so it may be an older one for a day. */
const RELOAD_SCRIPT = 'reload.js';
const RELOAD_HEADERS = { ...SHARED_HEADERS, 'Cache-Control': 'public, max-age=86400' };

/** For files whose name stays: browsers ask whether one has changed, so that a deployment never mixes old and new modules for long. */
const REVALIDATED_HEADERS = { ...SHARED_HEADERS, 'Cache-Control': 'no-cache' };

/** A file of a page, with the path below which it is served. */
export interface ServedFile {
  path: string;
  /** Reads the file at the first call. */
  getContent(): Promise<ServedContent>;
}

/** Where the browser finds a tab of the console. */
export interface TabFiles {
  entry: string;
  scripts: readonly string[];
  styles: readonly string[];
}

/** A page of `@belfry/pages`, as a server offers it. */
export interface BuiltPage {
  /** Returns the HTML of the page, which is the same at all of its paths. */
  getPage(): Promise<ServedContent>;
  /** Returns a script or stylesheet by its name; undefined if the page has no such file. */
  getAsset(name: string): Promise<ServedContent | undefined>;
  /** Returns the path of the script that starts the page, which is another one in each version. */
  findScript(): Promise<string>;
  /** Returns the files of a tab that is part of the build. */
  findTab(id: string): Promise<TabFiles>;
}

/** Sources of the content security policy that a page allows besides its own files. Scripts and styles are always its own. */
export interface PageSources {
  /** Pages that it may show in frames: `["'self'"]`. */
  frames?: readonly string[];
  /** Where its images may come from: `['https:']`. */
  images?: readonly string[];
}

/** How `createBuiltPage` serves a page. */
interface BuiltPageOptions {
  page: 'console' | 'portal' | 'reference' | 'sign-in';
  /** The path below which the scripts and stylesheets are served: `/console/assets`. */
  assets: string;
  /** Whether scripts that are not part of the build may import modules of the page by name, such as `belfry/console`. Default: false. */
  sharesModules?: boolean;
  /** A generated stylesheet, which comes after those of the build. */
  css?: string;
  /**
   * Returns the texts for placeholders of the page, such as `$title$`, as HTML. A placeholder in quotes, such as `"$config$"`, is
   * replaced with its quotes. Called at the first request.
   */
  fill?: () => Readonly<Record<string, string>>;
  /** The origins whose pages may show this page in a frame. Default: none. */
  frameAncestors?: readonly string[];
  /** Default: no frames, and images only of its own origin. */
  sources?: PageSources | undefined;
  /** Whether browsers may keep the document, and ask whether it has changed. Default: true. */
  isStorable?: boolean;
}

/** Reads a file of the build. `@belfry/pages` is loaded once a file is requested. */
export async function readBuiltFile(name: string): Promise<Buffer> {
  const { folder } = await import('@belfry/pages');
  return readFile(new URL(name, folder));
}

const readManifest = memoizeAsync(
  async (): Promise<Readonly<Record<string, PageOfBuild>>> => JSON.parse(String(await readBuiltFile('manifest.json'))),
);

/** The headers of a page. It runs no inline scripts and applies no inline styles, except for the script with the given hash. */
function pageHeaders(
  scriptHash: string | undefined,
  { frameAncestors = [], sources: { frames = [], images = [] } = {}, isStorable = true }: BuiltPageOptions,
) {
  const policy = [
    "default-src 'none'",
    ["script-src 'self'", ...(scriptHash === undefined ? [] : [`'sha256-${scriptHash}'`])].join(' '),
    "style-src 'self'",
    ["img-src 'self' data:", ...images].join(' '),
    ...(frames.length === 0 ? [] : [`frame-src ${frames.join(' ')}`]),
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    `frame-ancestors ${frameAncestors.length === 0 ? "'none'" : frameAncestors.join(' ')}`,
    // Scripts cannot assign texts where the browser would parse HTML or run code.
    "require-trusted-types-for 'script'",
    "trusted-types 'none'",
  ];
  return {
    ...SHARED_HEADERS,
    'Cache-Control': isStorable ? 'no-cache' : 'no-store',
    'Content-Security-Policy': policy.join('; '),
    'Cross-Origin-Opener-Policy': 'same-origin',
  };
}

const isAsset = (name: string) => extname(name) in CONTENT_TYPES && extname(name) !== '.html';

/** Returns the scripts, styles and images of a folder that is not part of the build, served below the path `base`. */
export function folderAssets(folder: URL, base: string): readonly ServedFile[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => isAsset(name))
    .map((name) => ({
      path: `${base}/${name}`,
      getContent: memoizeAsync(async () =>
        prepareContent(CONTENT_TYPES[extname(name)]!, await readFile(new URL(name, folder)), REVALIDATED_HEADERS),
      ),
    }));
}

const hashOf = (text: string, encoding: 'base64' | 'hex') => createHash('sha256').update(text).digest(encoding);

/** Creates a page of `@belfry/pages`, which is loaded at the first request. The browser loads all modules at once instead of import by import. */
export function createBuiltPage(options: BuiltPageOptions): BuiltPage {
  const { page, assets, sharesModules = false, css, fill } = options;
  const pathOf = (name: string) => `${assets}/${name}`;
  const getBuilt = async () => (await readManifest())[page]!;
  const generated = css === undefined ? [] : [`settings-${hashOf(css, 'hex').slice(0, 12)}.css`];

  async function preparePage(): Promise<ServedContent> {
    const { html, script, preloads, styles, modules, texts } = await getBuilt();
    const imports = Object.entries(modules).map(([name, file]) => [name, pathOf(file)]);
    const importMap = sharesModules ? JSON.stringify({ imports: Object.fromEntries(imports) }) : undefined;
    const head = [
      `<script src="${pathOf(RELOAD_SCRIPT)}"></script>`,
      ...[...styles, ...generated].map((name) => `<link rel="stylesheet" href="${pathOf(name)}">`),
      ...(importMap === undefined ? [] : [`<script type="importmap">${importMap}</script>`]),
      // The script of the page knows the language, and loads these before it needs them.
      ...Object.entries(texts).flatMap(([language, files]) =>
        files.map((name) => `<meta name="texts-${language}" content="${pathOf(name)}">`),
      ),
      ...preloads.map((name) => `<link rel="modulepreload" href="${pathOf(name)}">`),
      `<script type="module" src="${pathOf(script)}"></script>`,
    ];
    const values: Readonly<Record<string, string>> = { ...fill?.(), $head$: head.join('\n') };
    // One pass, so that a filled-in text is never searched for placeholders itself.
    const filled = html.replaceAll(/"\$\w+\$"|\$\w+\$/g, (placeholder) => values[placeholder] ?? placeholder);
    const scriptHash = importMap === undefined ? undefined : hashOf(importMap, 'base64');
    return prepareContent(CONTENT_TYPES['.html']!, Buffer.from(filled), pageHeaders(scriptHash, options));
  }

  const contents = new Map<string, () => Promise<ServedContent>>();
  const prepareAsset = async (name: string) => {
    const bytes = generated.includes(name) ? Buffer.from(css!) : await readBuiltFile(name);
    const headers = name === RELOAD_SCRIPT ? RELOAD_HEADERS : IMMUTABLE_HEADERS;
    return prepareContent(CONTENT_TYPES[extname(name)]!, bytes, headers);
  };

  return {
    getPage: memoizeAsync(preparePage),
    async getAsset(name) {
      const { files } = await getBuilt();
      if (![...generated, RELOAD_SCRIPT, ...files].includes(name)) return undefined;
      const getContent = contents.get(name) ?? memoizeAsync(() => prepareAsset(name));
      contents.set(name, getContent);
      return getContent();
    },
    findScript: async () => pathOf((await getBuilt()).script),
    async findTab(id) {
      const { script, preloads, styles } = (await getBuilt()).tabs[id]!;
      return { entry: pathOf(script), scripts: [script, ...preloads].map(pathOf), styles: styles.map(pathOf) };
    },
  };
}
