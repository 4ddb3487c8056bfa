import { execFile } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  createAnchor,
  createSidebar,
  placePage,
  REPOSITORY,
  resolveLink,
  SOURCES,
} from '../../scripts/docs/site/content.ts';

const root = join(import.meta.dirname, '..', '..');
const folder = join(root, 'scripts', 'docs', 'site');
const site = mkdtempSync(join(tmpdir(), 'belfry-site-'));
const sources = [...SOURCES];
const run = async (args: string[], env = {}) =>
  (await promisify(execFile)(process.execPath, args, { env: { ...process.env, ...env } })).stdout;
const sourceText = (path: string) => readFileSync(join(root, path), 'utf8');
const siteText = (path: string) => readFileSync(join(site, path), 'utf8');
const toHtml = (source: string) => placePage(source).replace(/\.md$/, '.html');
const PICTURE = '<picture>\n  <img src="docs/h.png" alt="A list">\n</picture>\n';
const HOSTILE = [
  '   <img onerror=alert(1)>',
  '- a\n\n  <script>alert(1)</script>',
  '  <div v-html="1"></div>',
  PICTURE,
  '![i](../images/a.png%22;alert(1)//)',
  "![i](<../images/a.png';alert(1)//>)",
].join('\n\n');
const idsOf = (page: string) => Array.from(siteText(page).matchAll(/<h\d id="([^"]+)"/g), ([, id]) => id!);

beforeAll(() => run([join(folder, 'site.ts'), 'build', '--outDir', site]));
afterAll(() => rmSync(site, { recursive: true }));

test('every page of docs/ is in the sidebar once, with its heading as the title', () => {
  const items = createSidebar().flatMap((item) => ('items' in item ? item.items : [item]));
  const docs = globSync('docs/**/*.md', { cwd: root }).sort();
  const titles = docs.map((page) => /^# (.*)/.exec(sourceText(page))![1]!.replaceAll('`', ''));
  const listed = items.filter(({ link }) => link.startsWith('/docs/'));
  expect(
    listed.toSorted((a, b) => (a.link.replace('index', 'README') < b.link.replace('index', 'README') ? -1 : 1)),
  ).toEqual(docs.map((page, i) => ({ text: titles[i], link: `/${placePage(page)}` })));
});

test('links to Markdown outside of docs/ lead to pages, and those to other files to the repository, if its address is known', () => {
  expect(sources).toEqual(
    expect.arrayContaining(['SECURITY.md', 'CONTRIBUTING.md', 'bench/RESULTS.md', 'CHANGELOG.md']),
  );
  expect(resolveLink('docs/build/jobs.md', '../../examples/helpdesk/README.md#run')).toBe(
    '../../examples/helpdesk/index.md#run',
  );
  expect(resolveLink('docs/build/jobs.md', 'https://example.com/README.md')).toBe('https://example.com/README.md');
  expect(resolveLink('README.md', 'LICENSE')).toBe(REPOSITORY && `${REPOSITORY}/blob/main/LICENSE`);
  expect(resolveLink('docs/operate/metrics.md', 'grafana/alerts.yml')).toBe('grafana/alerts.yml');
});

test('every page has its title, the anchors of GitHub, and its Markdown beside it', () => {
  for (const source of sources) {
    const seen: Record<string, number> = {};
    const headings = sourceText(source)
      .replaceAll(/^ *```[\s\S]*?^ *```/gm, '')
      .matchAll(/^#+ (.*)$/gm);
    const anchors = Array.from(headings, ([, heading]) => {
      const anchor = createAnchor(heading!);
      seen[anchor] = (seen[anchor] ?? -1) + 1;
      return seen[anchor] === 0 ? anchor : `${anchor}-${seen[anchor]}`;
    });
    expect([source, idsOf(toHtml(source))]).toEqual([source, anchors]);
    expect(siteText(source)).toBe(sourceText(source));
  }
  expect(siteText('docs/build/jobs.html')).toMatch(/<title>Background jobs and schedules \| Belfry<\/title>/);
});

test('every link of the site leads to a file and a heading, and no page loads anything from another server', () => {
  const broken = sources.flatMap((source) => {
    const page = toHtml(source);
    const links = siteText(page).matchAll(/<(\w+)[^>]* (?:href|src)="([^"]+)"/g);
    return Array.from(links, ([, tag, link]) => {
      if (/^(https?|data|mailto):/.test(link!))
        return tag === 'a' || link!.startsWith('data:') ? [] : [`${page}: ${link}`];
      const [path, anchor] = link!.replaceAll('&amp;', '&').split('#') as [string, string?];
      let target = path === '' ? page : path.startsWith('/') ? path.slice(1) : join(dirname(page), path);
      if (target === '' || target.endsWith('/')) target += 'index.html';
      const found =
        existsSync(join(site, target)) && (!anchor || siteText(target).includes(`id="${decodeURI(anchor)}"`));
      return found ? [] : [`${page}: ${link}`];
    }).flat();
  });
  expect(broken).toEqual([]);
});

test('the home page has the commands of README.md, and leads to the first steps and the index', () => {
  const home = siteText('index.html');
  const [, commands] = /```sh\n([\s\S]*?)\n```/.exec(sourceText('README.md'))!;
  expect(/<pre class="commands"[^>]*>([^<]*)<\/pre>/.exec(home)?.[1]?.replaceAll('&amp;', '&')).toBe(commands);
  expect(home).toMatch(/href="\/docs\/start\/(tutorial|concepts)\.html"/);
  expect(home).toContain('href="/docs/index.html"');
});

test('the search index and the files for programs contain the documentation', () => {
  const [index] = globSync('assets/chunks/@localSearchIndex*.js', { cwd: site });
  expect(siteText(index!)).toContain('/docs/build/queries.html#choose-how-to-count-the-total');
  expect(siteText(index!)).not.toContain('/CHANGELOG.html');
  const linked = Array.from(siteText('llms.txt').matchAll(/\]\(([^)]+)\)/g), ([, path]) => path!);
  expect(linked.filter((path) => !existsSync(join(site, path)))).toEqual([]);
  const all = siteText('llms-full.txt');
  expect(linked.filter((path) => !all.includes(sourceText(path)))).toEqual([]);
});

test('braces and tags in Markdown are text, also indented ones, the picture of README.md is one, and links to missing pages are known to VitePress, which refuses them', async () => {
  const markdown = "{{ a }} `{{ b }}` <b>c</b> [d](nope.md) [e](../../LICENSE)\n\n```yaml\nf: '{{ g }}'\n```\n";
  const script = `
    const { createMarkdownRenderer, resolveConfig } = await import(${JSON.stringify(join(folder, 'node_modules/vitepress/dist/node/index.js'))});
    const { markdown, srcDir } = await resolveConfig(${JSON.stringify(folder)}, 'build', 'production');
    const renderer = await createMarkdownRenderer(srcDir, markdown);
    const env = { path: ${JSON.stringify(join(root, 'docs/build/jobs.md'))} };
    const html = await renderer.renderAsync(${JSON.stringify(markdown)}, env);
    const hostile = await renderer.renderAsync(${JSON.stringify(HOSTILE)}, { path: env.path });
    const home = await renderer.renderAsync(${JSON.stringify(PICTURE)}, { path: ${JSON.stringify(join(root, 'README.md'))} });
    console.log(JSON.stringify({ html, hostile, home, links: env.links }));`;
  const { html, hostile, home, links } = JSON.parse(
    await run(['--input-type=module', '-e', script], { DOCS_REPOSITORY: 'git+https://git.example/b.git' }),
  );
  expect(html).toContain(
    '<p>&#123;&#123; a }} <code>&#123;&#123; b }}</code> &lt;b&gt;c&lt;/b&gt; <a href="./nope.html">d</a> ' +
      '<a href="https://git.example/b/blob/main/LICENSE" target="_blank" rel="noreferrer">e</a></p>',
  );
  expect(html).toMatch(/<pre [^>]*v-pre[^>]*>.*\{\{ g \}\}/);
  expect(hostile).not.toMatch(/<(img on|script|div|picture|svg)|'/);
  expect(home).toContain('<picture>\n  <img src="./docs/h.png" alt="A list">\n</picture>');
  expect(links).toEqual(['./nope']);
});
