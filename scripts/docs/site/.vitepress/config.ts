import { cpSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { join, posix, relative, sep } from 'node:path';
import { defineConfig, type MarkdownRenderer } from 'vitepress';
import { DOCS } from '../../pages.ts';
import {
  createAnchor,
  createHero,
  createSidebar,
  createTextFiles,
  placePage,
  REPOSITORY,
  ROOT,
  readTitle,
  resolveLink,
  SOURCES,
} from '../content.ts';

/** Long lists of changes, in which a search would find every word. */
const NOT_SEARCHED = ['CHANGELOG.md', 'bench/HISTORY.md'];

const hero = createHero();
const icon = readFileSync(join(ROOT, 'packages/pages/src/console/icon.svg'), 'utf8');
const logo = `data:image/svg+xml,${encodeURIComponent(icon)}`;

/** The images of README.md, whose width and theme Markdown cannot express. */
const PICTURE =
  /^<picture>\n( *<(source|img)( (media|srcset|src|width|height|alt)="[\w\-.,:;/() ]*")+>\n)+<\/picture>\n?$/;

const toSource = (path: string): string => relative(ROOT, path).replaceAll(sep, '/');
const sourceOf = (env: { realPath?: string; path: string }): string => toSource(env.realPath ?? env.path);

const folders = [...new Set(Array.from(SOURCES, (source) => source.split('/')[0]))].filter(
  (name) => !name!.endsWith('.md'),
);
const markdownFiles = globSync(['*.md', `{${folders}}/**/*.md`], { cwd: ROOT, exclude: ['**/node_modules'] });

/** Makes links lead where they lead in the repository, and shows HTML and the double braces of Vue as text. */
function adaptMarkdown(md: MarkdownRenderer): void {
  md.core.ruler.push('belfry_links', ({ tokens, env }) => {
    const links = tokens.flatMap(({ children }) => children ?? []).filter(({ type }) => type.startsWith('link_'));
    for (const [i, token] of links.entries()) {
      if (token.type === 'link_close') continue;
      const href = resolveLink(sourceOf(env), token.attrGet('href')!);
      token.attrs =
        href === undefined ? null : token.attrs!.map(([name, value]) => [name, name === 'href' ? href : value]);
      if (href === undefined) token.tag = links[i + 1]!.tag = 'span';
    }
  });
  md.core.ruler.push('belfry_images', ({ tokens }) => {
    // VitePress decodes the path, and writes it between quotes into a module.
    for (const image of tokens.flatMap(({ children }) => children ?? []).filter(({ type }) => type === 'image'))
      image.attrSet('src', image.attrGet('src')!.replaceAll(/'|%27/g, '%2527'));
  });
  // The only HTML without < is that of VitePress.
  md.renderer.rules.html_block = md.renderer.rules.html_inline = (tokens, i, _options, env) => {
    const html = tokens[i]!.content;
    if (html.includes('<') && !(sourceOf(env) === 'README.md' && PICTURE.test(html))) return md.utils.escapeHtml(html);
    return html.replaceAll(/(?<= (?:src|srcset)=")(?=\w+\/)/g, './');
  };
  const render = md.renderer.render.bind(md.renderer);
  md.renderer.render = (...args) => render(...args).replaceAll('{{', '&#123;&#123;');
}

export default defineConfig({
  title: 'Belfry',
  description: `${hero.text}.`,
  lang: 'en-GB',
  srcDir: ROOT,
  srcExclude: [
    `!(${folders.join('|')})/**/*`,
    ...markdownFiles.map((path) => path.replaceAll(sep, '/')).filter((path) => !SOURCES.has(path)),
  ],
  outDir: join(ROOT, 'dist-docs'),
  cacheDir: join(import.meta.dirname, '..', 'node_modules', '.cache'),
  // Addresses of an app during development. Any other dead link ends the build.
  ignoreDeadLinks: 'localhostLinks',
  rewrites: placePage,
  head: [['link', { rel: 'icon', href: logo }]],
  markdown: {
    // Only what GitHub shows as well.
    ...{
      attrs: false,
      component: false,
      container: false,
      emoji: false,
      include: false,
      snippet: false,
      toc: false,
    },
    eagerFrontmatterInterpolation: false,
    languageAlias: { promql: 'sh' },
    anchor: { slugify: createAnchor },
    config: adaptMarkdown,
  },
  themeConfig: {
    logo,
    nav: [
      { text: 'Documentation', link: '/docs/' },
      ...(REPOSITORY === undefined ? [] : [{ text: 'Repository', link: REPOSITORY }]),
    ],
    sidebar: createSidebar(),
    outline: [2, 3],
    ...(REPOSITORY !== undefined && { editLink: { pattern: `${REPOSITORY}/edit/main/:path` } }),
    search: {
      provider: 'local',
      options: {
        _render: (text, env, md) => (NOT_SEARCHED.includes(sourceOf(env)) ? '' : md.renderAsync(text, env)),
      },
    },
  },
  // The front matter of a page could contain HTML.
  transformPageData: ({ filePath, relativePath }) => ({
    title: readTitle(filePath),
    frontmatter: {
      ...(relativePath === 'index.md' && { layout: 'home', hero }),
      head: [['link', { rel: 'alternate', type: 'text/markdown', href: posix.basename(filePath) }]],
    },
  }),
  buildEnd: ({ outDir }) => {
    cpSync(DOCS, join(outDir, 'docs'), { recursive: true });
    for (const [path, text] of createTextFiles()) writeFileSync(join(outDir, path), text);
  },
  vite: {
    envDir: false,
    publicDir: false,
    // The search index, which loads with the first search.
    build: { chunkSizeWarningLimit: 2000 },
    optimizeDeps: { entries: [] },
    // These packages are not below the folder of the pages, and need no bundling.
    plugins: [
      {
        name: 'belfry-dependencies',
        configResolved: ({ environments }) => {
          const { optimizeDeps } = environments.client!;
          optimizeDeps.include = optimizeDeps.include?.filter((name) => !name.startsWith('vitepress > '));
        },
      },
    ],
    server: {
      fs: { deny: ['.env', '.env.*', '*.{crt,pem}', '**/.git/**', '**/.data/**'] },
      watch: {
        ignored: (path) => /^(\.data|\.git|dist-docs|src|test)(\/|$)|(^|\/)node_modules\//.test(toSource(path)),
      },
    },
  },
});
