import { execFile } from 'node:child_process';
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { createAnchor } from '../../scripts/docs/site/content.ts';

const root = join(import.meta.dirname, '..', '..');
const docs = globSync('**/*.md', { cwd: join(root, 'docs') }).sort();
const pages = ['README.md', ...docs.map((name) => `docs/${name}`)];
const linkedPages = [...pages, 'AGENTS.md', 'CONTRIBUTING.md', 'SECURITY.md', 'examples/helpdesk/README.md'];
const textOf = (page: string) => readFileSync(join(root, page), 'utf8');

/**
 * The complete examples of a page: TypeScript blocks that start with an import. Client code needs the generated client, so
 * test/runtime/openapi/client.test.ts compiles it. Tabs of the console need the types of its page: test/pages/extension-tab.test.ts.
 */
function examplesOf(page: string): { language: string; example: string }[] {
  return [...textOf(page).matchAll(/```(tsx?)\n(import [\s\S]*?)```/g)]
    .map(([, language, example]) => ({ language: language!, example: example! }))
    .filter(({ example }) => !/'(\.\/api\.d\.ts|belfry\/console)'/.test(example));
}

// Files of a deployment, which differ between clones, and the output of tests.
const MAY_BE_MISSING =
  /^(src\/app\.ts$|src\/(resources|transports)\/|src\/extensions\/\w+\.ts$|src\/app\/(resources|extensions|transports)\/|test\/app\/|migrations\/\d+_|test\/\.output\/)/;

/** The files and folders of this repository that a page mentions. */
function pathsIn(page: string): string[] {
  const paths = textOf(page).matchAll(
    /(?<![\w./-])(?:\.ci|bench|docs|examples|migrations|scripts|src|test|workers)\/(?:[\w.-]+\/)*(?:[\w.-]+\.\w+)?(?![\w/*…])/g,
  );
  return [...new Set(Array.from(paths, ([path]) => path))];
}

test.each(linkedPages)('every file that %s mentions exists', (page) => {
  // Files that the reader creates.
  const created = new Set(Array.from(textOf(page).matchAll(/\bCreate `([^`]+)`/g), ([, path]) => path));
  const missing = pathsIn(page).filter(
    (path) =>
      !MAY_BE_MISSING.test(path) &&
      !created.has(path) &&
      // The paths of an example are those of its own folder.
      ![root, join(root, dirname(page))].some((folder) => existsSync(join(folder, path))),
  );
  expect(missing).toEqual([]);
});

const withoutCode = (page: string) => textOf(page).replaceAll(/```[\s\S]*?```/g, '');

/** The anchors of a page's headings, as GitHub creates them. */
function anchorsOf(page: string): Set<string> {
  const headings = withoutCode(page).matchAll(/^#+ (.*)$/gm);
  return new Set(Array.from(headings, ([, heading]) => createAnchor(heading!)));
}

/** The links of a page to files of this repository. */
function linksOf(page: string): string[] {
  return Array.from(withoutCode(page).matchAll(/\]\(([^)\s]+)\)/g), ([, link]) => link!).filter(
    (link) => !/^https?:/.test(link),
  );
}

test.each(linkedPages)('every link of %s leads to a file and a heading that exist', (page) => {
  const broken = linksOf(page).filter((link) => {
    const [file, anchor] = link.split('#') as [string, string?];
    const target = file === '' ? page : join(dirname(page), file);
    return !existsSync(join(root, target)) || (anchor !== undefined && !anchorsOf(target).has(anchor));
  });
  expect(broken).toEqual([]);
});

test('the index of the documentation links to every page', () => {
  const linked = new Set(linksOf('docs/README.md').map((link) => link.split('#')[0]));
  expect(docs.filter((name) => name !== 'README.md' && !linked.has(name))).toEqual([]);
});

test('file names in the documentation are recognized', () => {
  expect(pathsIn('docs/extend/architecture.md').length).toBeGreaterThan(40);
});

test('the examples of the docs compile against the public API', { timeout: 240_000 }, async () => {
  const folder = mkdtempSync(join(root, 'test', '.examples-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  let count = 0;
  for (const page of pages) {
    // Its examples are parts of one app: test/docs/tutorial.test.ts compiles them together.
    if (page === 'docs/start/tutorial.md') continue;
    for (const [i, { language, example }] of examplesOf(page).entries()) {
      count += 1;
      writeFileSync(
        join(folder, `${page.replaceAll('/', '-')}-${i}.${language}`),
        example
          .replaceAll("'belfry'", "'../../src/index.ts'")
          .replaceAll("'@belfry/client'", "'../../packages/client/src/index.ts'")
          .replaceAll("'belfry/extension'", "'../../src/extension/index.ts'")
          .replaceAll("'@belfry/client/react'", "'../../packages/client/src/react/index.ts'")
          .replaceAll("'belfry/testing'", "'../../src/testing/index.ts'")
          .replaceAll("'@belfry/verify-webhook'", "'../../packages/verify-webhook/src/index.ts'")
          .replaceAll(/'@belfry\/verify-webhook\/(express|fetch)'/g, "'../../packages/verify-webhook/src/$1.ts'")
          .replaceAll("'../src/extensions/version.ts'", "'../fixtures/version.ts'")
          // The app that docs/build/client.md declares, and the client that it creates.
          .replaceAll("'../server/src/app.ts'", "'./docs-build-client.md-1.ts'")
          .replaceAll("'./client.ts'", "'./docs-build-client.md-0.ts'")
          // The app that docs/start/testing.md declares.
          .replaceAll("'../src/app.ts'", "'./docs-start-testing.md-1.ts'"),
      );
    }
  }
  expect(count).toBeGreaterThan(3);
  writeFileSync(
    join(folder, 'tsconfig.json'),
    JSON.stringify({
      extends: '../../tsconfig.json',
      compilerOptions: { jsx: 'react-jsx', lib: ['esnext', 'dom'] },
      include: ['*.ts', '*.tsx'],
    }),
  );
  const tsc = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
  // Several threads would each check much of the same code again, which doubles the work.
  const run = promisify(execFile)(process.execPath, [tsc, '-p', folder, '--noEmit', '--singleThreaded']);
  await expect(run.catch((error: { stdout: string }) => error)).resolves.toMatchObject({ stdout: '' });
});
