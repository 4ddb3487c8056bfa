import { cpSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

/** A clone of this project with its own app, as a team has it. */
export interface ClonedProject {
  folder: string;
  /** Writes its `src/app/index.ts`. */
  writeApp(app: string): void;
  remove(): void;
}

/** The `src/app/index.ts` of a project whose app is the blog in test/fixtures. */
export const BLOG = `export { app } from '../../test/fixtures/blog/app.ts';`;

/** Creates a folder for this process only. Its path is one of few, because Node caches compiled code by file path. */
function createFolder(): string {
  mkdirSync('.data', { recursive: true });
  for (let n = 0; ; n++) {
    const folder = resolve('.data', `project-${n}`);
    try {
      mkdirSync(folder, { mode: 0o700 });
      return folder;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
}

/** Clones this project, without its app and the migrations of its app, so that its commands can be run. */
export function cloneProject(): ClonedProject {
  const folder = createFolder();
  const app = join('src', 'app');
  for (const part of ['src', 'workers', 'scripts', 'test/fixtures', 'package.json', 'migrations/belfry'])
    cpSync(part, join(folder, part), { recursive: true, filter: (file) => file !== app });
  mkdirSync(join(folder, app));
  symlinkSync(resolve('node_modules'), join(folder, 'node_modules'));
  return {
    folder,
    writeApp: (text) => writeFileSync(join(folder, app, 'index.ts'), text),
    remove: () => rmSync(folder, { recursive: true }),
  };
}
