import { createHash } from 'node:crypto';
import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { findPackageJSON } from 'node:module';
import { extname } from 'node:path';
import { pathToFileURL } from 'node:url';
import { memoizeAsync, prepareContent, type ServedContent } from './served-bytes.ts';

const SHELL = 'index.html';

/** A dependency of `@preact/signals`, which Belfry does not depend on itself. */
const SIGNALS_CORE = '@preact/signals-core';

/** The modules of packages that pages can import: returns the URL of the file, by the name in the imports. */
const VENDOR_MODULES: Readonly<Record<string, () => URL>> = {
  preact: () => new URL(import.meta.resolve('preact')),
  'preact/hooks': () => new URL(import.meta.resolve('preact/hooks')),
  htm: () => new URL(import.meta.resolve('htm')),
  'htm/preact': () => new URL(import.meta.resolve('htm/preact')),
  '@preact/signals': () => new URL(import.meta.resolve('@preact/signals')),
  [SIGNALS_CORE]: () => {
    const packageFile = findPackageJSON(SIGNALS_CORE, import.meta.resolve('@preact/signals'))!;
    return new URL('dist/signals-core.mjs', pathToFileURL(packageFile));
  },
};

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.js': 'text/javascript; charset=utf-8',
};

const SHARED_HEADERS = {
  // Browsers ask whether a file has changed, so that a deployment never mixes old and new modules for long.
  'Cache-Control': 'no-cache',
  'Referrer-Policy': 'no-referrer',
  'X-Content-Type-Options': 'nosniff',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

/** A file of a page, with the path below which it is served. */
export interface ServedFile {
  path: string;
  /** Reads the file at the first call. */
  getContent(): Promise<ServedContent>;
}

/** A page whose scripts are ES modules without a build step. */
interface ModulePage {
  /** Returns the HTML of the page, which is the same at all of its paths. */
  getPage(): Promise<ServedContent>;
  /** The scripts, styles and images of the page, and the modules of packages that it imports. */
  assets: readonly ServedFile[];
}

/** Sources of the content security policy that a page allows besides its own files. Scripts and styles are always its own. */
export interface PageSources {
  /** Pages that it may show in frames: `["'self'"]`. */
  frames?: readonly string[];
  /** Where its images may come from: `['https:']`. */
  images?: readonly string[];
}

/** How `createModulePage` builds a page. */
interface ModulePageOptions {
  /** The folder of the page's files. Its `index.html` is the shell, with the placeholders `"$importMap$"` and `$preloads$`. */
  folder: URL;
  /** The path below which the assets are served: `/console/assets`. */
  assets: string;
  /** Names under which modules import files of the folder: `{ 'belfry/console': 'kit.js' }`. */
  names?: Readonly<Record<string, string>>;
  /**
   * Returns the texts for further placeholders of the shell, such as `$title$`, as HTML. A placeholder in quotes, such as `"$config$"`, is
   * replaced with its quotes. Called at the first request.
   */
  fill?: () => Readonly<Record<string, string>>;
  /** The origins whose pages may show this page in a frame. Default: none. */
  frameAncestors?: readonly string[];
  /** Default: no frames, and images only of its own origin. */
  sources?: PageSources | undefined;
}

/** Prepares a stylesheet that is generated instead of read, with the headers of the other assets. */
export function prepareStylesheet(css: string): Promise<ServedContent> {
  return prepareContent(CONTENT_TYPES['.css']!, Buffer.from(css), SHARED_HEADERS);
}

/** The headers of a page. It runs no inline scripts and applies no inline styles, except for the script with the given hash. */
function pageHeaders(
  scriptHash: string,
  {
    frameAncestors = [],
    sources: { frames = [], images = [] } = {},
  }: Pick<ModulePageOptions, 'frameAncestors' | 'sources'>,
) {
  const policy = [
    "default-src 'none'",
    `script-src 'self' 'sha256-${scriptHash}'`,
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
    'Content-Security-Policy': policy.join('; '),
    'Cross-Origin-Opener-Policy': 'same-origin',
  };
}

const isAsset = (name: string) => extname(name) in CONTENT_TYPES && name !== SHELL;

const createAsset = (path: string, type: string, read: () => Promise<Buffer>): ServedFile => ({
  path,
  getContent: memoizeAsync(async () => prepareContent(type, await read(), SHARED_HEADERS)),
});

/** Returns the scripts, styles and images of a folder, served below the path `base`. */
export function folderAssets(folder: URL, base: string): readonly ServedFile[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => isAsset(name))
    .map((name) =>
      createAsset(`${base}/${name}`, CONTENT_TYPES[extname(name)]!, () => readFile(new URL(name, folder))),
    );
}

/**
 * Creates a page of plain ES modules. Its modules import preact, htm and signals by name: an import map leads these names to the files of
 * the packages, which the server serves itself. The browser loads all modules at once instead of import by import.
 */
export function createModulePage({
  folder,
  assets,
  names = {},
  fill,
  frameAncestors,
  sources,
}: ModulePageOptions): ModulePage {
  const files = folderAssets(folder, assets);
  const vendorPath = (name: string) => `${assets}/vendor/${name}.js`;
  const vendorNames = Object.keys(VENDOR_MODULES);

  async function preparePage(): Promise<ServedContent> {
    const shell = await readFile(new URL(SHELL, folder), 'utf8');
    const importMap = JSON.stringify({
      imports: Object.fromEntries([
        ...vendorNames.map((name) => [name, vendorPath(name)]),
        ...Object.entries(names).map(([name, file]) => [name, `${assets}/${file}`]),
      ]),
    });
    const modules = files.map(({ path }) => path).filter((path) => path.endsWith('.js'));
    const preloads = [...vendorNames.map(vendorPath), ...modules].map(
      (path) => `<link rel="modulepreload" href="${path}">`,
    );
    const values: Readonly<Record<string, string>> = {
      ...fill?.(),
      '"$importMap$"': importMap,
      $preloads$: preloads.join('\n'),
    };
    // One pass, so that a filled-in text is never searched for placeholders itself.
    const html = shell.replaceAll(/"\$\w+\$"|\$\w+\$/g, (placeholder) => values[placeholder] ?? placeholder);
    const scriptHash = createHash('sha256').update(importMap).digest('base64');
    return prepareContent(
      CONTENT_TYPES['.html']!,
      Buffer.from(html),
      pageHeaders(scriptHash, { frameAncestors, sources }),
    );
  }

  return {
    getPage: memoizeAsync(preparePage),
    assets: [
      ...files,
      ...Object.entries(VENDOR_MODULES).map(([name, locate]) =>
        createAsset(vendorPath(name), CONTENT_TYPES['.js']!, () => readFile(locate())),
      ),
    ],
  };
}
