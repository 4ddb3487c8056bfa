// `npm run docs:llms`: writes docs/llms.txt (https://llmstxt.org), the index of the documentation for language models.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DOCS, listPages, SECTIONS } from './pages.ts';

const FILE = join(DOCS, 'llms.txt');

const INTRODUCTION = `# Belfry

> An open-source backend for web and mobile apps that is declared in TypeScript: each resource becomes a Postgres table with validation, access
> rules, a REST API, an OpenAPI document and signed webhooks. Accounts, organisations, files, jobs, push, realtime and a console come with it.

An app is \`src/app.ts\` and one file for each resource in \`src/resources/\`. Node 24 runs the TypeScript directly. Import from \`belfry\` only.`;

/** The heading of a page, and the first sentence below it without its Markdown. */
function describePage(path: string): { title: string; sentence: string } {
  const [heading = '', ...paragraphs] = readFileSync(join(DOCS, path), 'utf8').split(/\n{2,}/);
  const text = (paragraphs[0] ?? '').replaceAll('\n', ' ').replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1');
  return { title: heading.replace(/^# /, ''), sentence: /^.*?[.:](?=\s|$)/.exec(text)?.[0] ?? text };
}

function linkTo(path: string): string {
  const { title, sentence } = describePage(path);
  return `- [${title}](${path}): ${sentence.replace(/:$/, '.')}`;
}

/** Creates the text of docs/llms.txt. */
export function createLlmsText(): string {
  const sections = (Object.keys(SECTIONS) as (keyof typeof SECTIONS)[]).map(
    (section) =>
      `## ${SECTIONS[section]}\n\n${listPages(section)
        .map((name) => linkTo(`${section}/${name}`))
        .join('\n')}`,
  );
  return `${[INTRODUCTION, ...sections].join('\n\n')}\n`;
}

if (import.meta.main) writeFileSync(FILE, createLlmsText());
