import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

/** The specifiers of imports and exports, static and dynamic. */
const IMPORT = /(?:\bfrom\s+|\bimport\s*\(\s*|^import\s+)['"]([^'"\n]+)['"]/gm;
/** What is erased before a file runs. */
const TYPE_IMPORT = /^(?:import|export) type [^;]*?from [^;]*;/gm;
/** Texts that may be the path of a file or folder of this repository: files that tests read or start as processes. */
const PATH = /['"`]((?:\.\.?\/)*(?:[\w.-]+\/)*[\w-]+(?:\.[\w.-]+)?)['"`]/g;

/** Returns the existing files and folders that a text names by their path from the repository, or from the folder of its file. */
function findPaths(text: string, file: string, root: string): string[] {
  const found = new Set<string>();
  for (const [, named] of text.matchAll(PATH)) {
    const path = named!.startsWith('.') ? normalize(join(dirname(file), named!)) : named!;
    if (!path.startsWith('..') && existsSync(join(root, path))) found.add(path);
  }
  return [...found];
}

/** What a file names. Paths are relative to the repository. */
export interface FileReferences {
  /** The files that it imports. */
  imports: string[];
  /** The packages that it imports, such as `node:child_process`. */
  packages: string[];
  /** Returns the existing files and folders whose path is a text in it. */
  listPaths(): string[];
  /** Whether it reads the addresses of the servers of the run. */
  namesServers: boolean;
}

/** Returns what a file names. The path is relative to the repository. */
export type ReferenceReader = (file: string) => FileReferences;

/** Creates a reader of the files of a repository. A file is read once. */
export function createReferenceReader(root: string): ReferenceReader {
  const known = new Map<string, FileReferences>();
  return (file) => {
    const before = known.get(file);
    if (before !== undefined) return before;
    const found: FileReferences = { imports: [], packages: [], listPaths: () => [], namesServers: false };
    known.set(file, found);
    if (!/\.(ts|tsx|mts|js|mjs)$/.test(file)) return found;
    const text = readFileSync(join(root, file), 'utf8');
    found.namesServers = /\bTEST_(DATABASE|REDIS)_URL\b/.test(text);
    for (const [, specifier] of text.replaceAll(TYPE_IMPORT, '').matchAll(IMPORT)) {
      if (!specifier!.startsWith('.')) found.packages.push(specifier!);
      else {
        const path = normalize(join(dirname(file), specifier!));
        if (existsSync(join(root, path))) found.imports.push(path);
      }
    }
    found.listPaths = () => findPaths(text, file, root);
    return found;
  };
}
