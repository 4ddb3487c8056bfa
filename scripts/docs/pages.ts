import { globSync } from 'node:fs';
import { basename, dirname, join, sep } from 'node:path';

/** The folder of the documentation. */
export const DOCS = join(import.meta.dirname, '..', '..', 'docs');

/** The sections of the documentation: its folders, in the order in which a reader needs them, and their titles. */
export const SECTIONS = {
  start: 'Start',
  build: 'Build an API',
  users: 'Manage users',
  send: 'Send webhooks, push and e-mail',
  operate: 'Operate',
  extend: 'Extend',
} as const;

/** The pages by name, such as `jobs.md`, with their folders, such as `build` or `users/sign-in`. A name is unique. */
const folders: ReadonlyMap<string, string> = new Map(
  globSync('*/**/*.md', { cwd: DOCS }).map((path) => [basename(path), dirname(path).replaceAll(sep, '/')]),
);

/** Returns the paths of the pages of a section: those in a sub-folder follow the page of the same name, which leads to them. */
export const listPages = (section: keyof typeof SECTIONS): string[] =>
  [...folders]
    .flatMap(([name, folder]) =>
      folder.split('/')[0] === section ? [`${folder}/${name}`.slice(section.length + 1)] : [],
    )
    .sort((a, b) => (a.replace(/\.md$/, '') < b.replace(/\.md$/, '') ? -1 : 1));

/** Turns links to pages by name, such as `[Jobs](jobs.md#retries)`, into links from a page of a section. @throws Error for an unknown page */
export const linkPages = (text: string, section: keyof typeof SECTIONS): string =>
  text.replaceAll(/\]\(([\w-]+\.md)/g, (_, name: string) => {
    const folder = folders.get(name);
    if (folder === undefined) throw new Error(`There is no page ${name} in docs/`);
    return folder === section ? `](${name}` : `](../${folder}/${name}`;
  });
