// `node scripts/bootstrap.mjs scripts/test-titles.ts <commit>`: lists the titles of tests that are gone since a commit, and the new ones.
// A title of `test.each` is compared as it is written, with its placeholders.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));

function git(...args: string[]): string {
  const { status, stdout, stderr } = spawnSync('git', args, { cwd: root, encoding: 'utf8', maxBuffer: 1 << 28 });
  if (status !== 0) throw new Error(`git ${args.join(' ')}: ${stderr.trim()}`);
  return stdout;
}

const isTest = (path: string) => /^(test|examples)\/.*\.test\.ts$/.test(path);

/** The call of a test or suite up to its title: `test(`, `test.skipIf(…)(`, `describe.each([…])(`. The parentheses of the first call are counted. */
const CALL = /\b(?:test|it|describe)(?:\.\w+)*(?:<[\s\S]{0,400}?>(?=\())?\(/g;

/** Returns the position after the parenthesis that closes the one before `start`; texts in between may contain parentheses. */
function skipArguments(text: string, start: number): number {
  let depth = 1;
  let quote = '';
  for (let i = start; i < text.length; i++) {
    const char = text[i]!;
    if (quote !== '') {
      if (char === '\\') i += 1;
      else if (char === quote) quote = '';
    } else if (char === "'" || char === '"' || char === '`') quote = char;
    else if (char === '(') depth += 1;
    else if (char === ')') {
      depth -= 1;
      if (depth === 0) return i + 1;
    }
  }
  return text.length;
}

const TITLE = /^\s*(?:'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)"|`((?:[^`\\]|\\.)*)`)/;

/** Returns the titles of the tests and suites of a file, as they are written. */
function readTitles(text: string): string[] {
  const titles: string[] = [];
  for (const match of text.matchAll(CALL)) {
    const start = match.index + match[0].length;
    const direct = TITLE.exec(text.slice(start, start + 2000));
    const after = direct ? start : skipArguments(text, start);
    const rest = direct ? text.slice(after, after + 2000) : text.slice(after).replace(/^\(/, '').slice(0, 2000);
    if (!direct && text[after] !== '(') continue;
    const found = TITLE.exec(rest);
    if (found) titles.push((found[1] ?? found[2] ?? found[3])!.replaceAll("\\'", "'"));
  }
  return titles;
}

/** How often each title occurs. */
function countTitles(files: Iterable<string>): Map<string, number> {
  const counts = new Map<string, number>();
  for (const text of files) for (const title of readTitles(text)) counts.set(title, (counts.get(title) ?? 0) + 1);
  return counts;
}

/** Returns the titles that occur less often in the second map, in order. */
const missingFrom = (all: Map<string, number>, some: Map<string, number>) =>
  [...all].filter(([title, count]) => count > (some.get(title) ?? 0)).map(([title]) => title);

const since = process.argv[2];
if (since === undefined) throw new Error('Name the commit to compare with: scripts/test-titles.ts <commit>');
const earlierFiles = git('ls-tree', '-r', '--name-only', since).split('\n').filter(isTest);
const earlier = countTitles(earlierFiles.map((path) => git('show', `${since}:${path}`)));
const currentFiles = git('ls-files', '--cached', '--others', '--exclude-standard').split('\n').filter(isTest);
const current = countTitles(currentFiles.map((path) => readFileSync(`${root}/${path}`, 'utf8')));
const sum = (counts: Map<string, number>) => [...counts.values()].reduce((total, count) => total + count, 0);

for (const title of missingFrom(earlier, current)) console.log(`gone: ${title}`);
for (const title of missingFrom(current, earlier)) console.log(`new:  ${title}`);
console.log(`${sum(earlier)} titles in ${earlierFiles.length} files; now ${sum(current)} in ${currentFiles.length}`);
