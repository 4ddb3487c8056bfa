import { existsSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { createLlmsText } from '../llms.ts';
import { DOCS, listPages, SECTIONS } from '../pages.ts';

/** The folder of the repository. Paths of sources are relative to it. */
export const ROOT = join(DOCS, '..');

const HOME = 'README.md';
const INDEX = 'docs/README.md';
const FIRST_STEPS = ['docs/start/tutorial.md', 'docs/start/concepts.md'];

const readSource = (source: string): string => readFileSync(join(ROOT, source), 'utf8');

const { description, repository } = JSON.parse(readSource('package.json')) as {
  description: string;
  repository?: { url: string };
};

/** The address of the repository in a browser: the variable DOCS_REPOSITORY or `repository` of package.json; undefined without both. */
export const REPOSITORY = (process.env.DOCS_REPOSITORY ?? repository?.url)?.replaceAll(/^git\+|(\.git)?\/?$/g, '');

/** Creates the anchor of a heading, as GitHub does. */
export const createAnchor = (heading: string): string =>
  heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}_\- ]/gu, '')
    .replaceAll(' ', '-');

const isRelative = (link: string) => !/^([a-z]+:|[/#])/.test(link);

const targetOf = (source: string, link: string) => posix.join(posix.dirname(source), link.split('#')[0]!);

/** Finds the index of the documentation, README.md, and every Markdown page to which links lead from there. */
function findSources(): Set<string> {
  const found = new Set([INDEX, HOME]);
  for (const source of found)
    for (const [link] of readSource(source).matchAll(/(?<=\]\()[^)\s]+\.md(?=[#)])/g))
      if (isRelative(link) && existsSync(join(ROOT, targetOf(source, link)))) found.add(targetOf(source, link));
  return found.add('CHANGELOG.md');
}

/** The sources of all pages, in the order in which the index of the documentation links to them. */
export const SOURCES: ReadonlySet<string> = findSources();

/** Returns the path of a page on the site for its path in the repository. */
export const placePage = (path: string): string => path.replace(/README\.md(?=#|$)/, 'index.md');

/**
 * Returns where a link of a source leads on the site: to a page, or to a file in the repository. Undefined for such a file if the address of the
 * repository is not known.
 */
export function resolveLink(source: string, link: string): string | undefined {
  if (!isRelative(link)) return link;
  const target = targetOf(source, link);
  const isOnSite = SOURCES.has(target) || target.startsWith('docs/');
  // VitePress refuses links to pages that do not exist.
  if (isOnSite || !existsSync(join(ROOT, target))) return placePage(link);
  return REPOSITORY && `${REPOSITORY}/blob/main/${target}`;
}

/** Returns the title of a page: its first heading, without its Markdown. */
export const readTitle = (source: string): string =>
  /^# (.*)$/m.exec(readSource(source))?.[1]?.replaceAll('`', '') ?? source;

interface PageLink {
  text: string;
  link: string;
}

/** VitePress shows the texts of links as HTML. */
const escapeHtml = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');

const linkPage = (source: string): PageLink => ({
  text: escapeHtml(readTitle(source)),
  link: `/${placePage(source)}`,
});

/** Creates the sidebar: the index of the documentation, the sections with their pages, and all other pages. */
export function createSidebar(): (PageLink | { text: string; collapsed: boolean; items: PageLink[] })[] {
  const sources = [...SOURCES];
  const sections = (Object.keys(SECTIONS) as (keyof typeof SECTIONS)[]).map((section) => {
    const pages = listPages(section).map((name) => `docs/${section}/${name}`);
    const items = pages.toSorted((a, b) => sources.indexOf(a) - sources.indexOf(b)).map(linkPage);
    return { text: SECTIONS[section], collapsed: section !== 'start', items };
  });
  const others = sources.filter((source) => ![INDEX, HOME].includes(source) && !/^docs\/\w+\//.test(source));
  return [linkPage(INDEX), ...sections, { text: 'Project', collapsed: true, items: others.map(linkPage) }];
}

/** Creates what the home page shows above README.md: its first paragraph and first commands, and where to go on. */
export function createHero() {
  const text = readSource(HOME);
  return {
    name: 'Belfry',
    text: description.split(':')[0]!,
    tagline: text.split(/\n{2,}/)[1]!.replaceAll(/\s*\n|\[([^\]]*)\]\([^)]*\)/g, (_, label = ' ') => label),
    commands: /```sh\n([\s\S]*?)```/.exec(text)?.[1]?.trim(),
    actions: [
      { theme: 'brand', ...linkPage(FIRST_STEPS.find((source) => SOURCES.has(source))!) },
      { theme: 'alt', ...linkPage(INDEX) },
    ],
  };
}

/** Creates the files for programs by their paths: the Markdown of each page, their index, and all documentation in one file. */
export function createTextFiles(): Map<string, string> {
  const pages = Array.from(SOURCES, (source) => [source, readSource(source)] as const);
  const documentation = pages.filter(([source]) => source.startsWith('docs/')).map(([, text]) => text);
  return new Map([
    ...pages,
    ['llms.txt', createLlmsText().replaceAll('](', '](docs/')],
    ['llms-full.txt', documentation.join('\n')],
  ]);
}
