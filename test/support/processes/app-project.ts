import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

/** The folder of an app that uses the package `belfry`, as a team has it. */
export interface AppProject {
  folder: string;
  /** Writes a file, and the folders above it. */
  write(file: string, text: string): void;
  /** Writes `src/app.ts`. */
  writeApp(text: string): void;
  remove(): void;
}

const moduleUrl = (file: string) => JSON.stringify(pathToFileURL(resolve(file)).href);

/** The `src/app.ts` of a project whose app is the blog in test/fixtures. */
export const BLOG = `export { app } from ${moduleUrl('test/fixtures/blog/app.ts')};`;

/** Creates a project without an app. Its package `belfry` is the sources of this repository. */
export function createAppProject(): AppProject {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'belfry-project-')));
  const write = (file: string, text: string) => {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    writeFileSync(join(folder, file), text);
  };
  write('package.json', JSON.stringify({ name: 'app', type: 'module', private: true }));
  write('node_modules/belfry/package.json', JSON.stringify({ name: 'belfry', type: 'module', exports: './index.js' }));
  write('node_modules/belfry/index.js', `export * from ${moduleUrl('src/index.ts')};`);
  return {
    folder,
    write,
    writeApp: (text) => write('src/app.ts', text),
    remove: () => rmSync(folder, { recursive: true }),
  };
}
