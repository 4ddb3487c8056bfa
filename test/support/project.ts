import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** A clone of this project with an app of its own: what a team has. */
export interface Project {
  folder: string;
  /** Writes its `src/app/index.ts`. */
  declare(app: string): void;
  remove(): void;
}

/** The `src/app/index.ts` of a project whose app is the blog of test/fixtures. */
export const BLOG = `export { app } from '../../test/fixtures/blog/app.ts';`;

/** Clones this project for its commands, without its app and its migrations. */
export function makeProject(): Project {
  const folder = mkdtempSync(join(tmpdir(), 'belfry-project-'));
  const app = join('src', 'app');
  for (const part of ['src', 'workers', 'scripts', 'test/fixtures', 'package.json'])
    cpSync(part, join(folder, part), { recursive: true, filter: (file) => file !== app });
  mkdirSync(join(folder, app));
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  return {
    folder,
    declare: (text) => writeFileSync(join(folder, app, 'index.ts'), text),
    remove: () => rmSync(folder, { recursive: true }),
  };
}
