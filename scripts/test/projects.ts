import { globSync } from 'node:fs';
import { createReferenceReader, type ReferenceReader } from './imports.ts';

/** The kinds of test files, by what they need. Only `unit` needs no services. */
export const PROJECTS = ['process', 'browser', 'app', 'unit', 'release'] as const;
export type Project = (typeof PROJECTS)[number];

/** What `npm test` runs without arguments. `.ci/run` runs all projects. */
export const DEFAULT_PROJECTS: readonly Project[] = ['unit', 'app', 'process', 'browser'];

/** Packing, installing and upgrading apps, the image, and the documentation. */
const RELEASE = /^test\/(package|image|api|create-belfry|docs)\/|^test\/(readme|contributing)\.test\.ts$/;

/** Packages and helpers with which a file starts processes and servers. */
const STARTS_PROCESSES =
  /^(node:child_process|node:cluster|test\/support\/processes\/(app-process|app-project|cloned-project|command)\.ts|test\/testing\/run-tests\.ts|scripts\/services\/.*|scripts\/chaos\/.*)$/;
/** Helpers with which a file uses the services of the run. */
const USES_SERVICES = /^(test\/support\/database\/test-database\.ts|src\/testing\/index\.ts|belfry\/testing)$/;

/** Returns everything that a test file imports, and what its helpers import. Not what Belfry itself imports. */
function collectImports(file: string, readReferences: ReferenceReader): { names: string[]; namesServers: boolean } {
  const names = new Set<string>();
  let namesServers = false;
  const waiting = [file];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const references = readReferences(next);
    namesServers ||= references.namesServers;
    for (const name of references.packages) names.add(name);
    for (const path of references.imports) {
      if (names.has(path)) continue;
      names.add(path);
      if (path.startsWith('test/')) waiting.push(path);
    }
  }
  return { names: [...names], namesServers };
}

function projectOf(file: string, readReferences: ReferenceReader): Project {
  if (RELEASE.test(file)) return 'release';
  const { names, namesServers } = collectImports(file, readReferences);
  if (names.includes('playwright-core')) return 'browser';
  if (names.some((name) => STARTS_PROCESSES.test(name))) return 'process';
  return namesServers || names.some((name) => USES_SERVICES.test(name)) ? 'app' : 'unit';
}

/**
 * Returns the project of each test file. It follows from what the file imports, so that it cannot be stated wrongly.
 *
 * @param root the folder of the repository
 */
export function assignProjects(root: string, readReferences = createReferenceReader(root)): Map<string, Project> {
  const files = globSync('{test,examples}/**/*.test.ts', {
    cwd: root,
    // The tests of an app that the upgrade test creates.
    exclude: (path) => /(^|\/)node_modules$|^test\/fixtures\/upgrade$|^test\/\.examples-/.test(String(path)),
  });
  return new Map(files.toSorted().map((file) => [file, projectOf(file, readReferences)]));
}
