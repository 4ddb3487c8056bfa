import { expect, test } from 'vitest';
import type { Change } from '../../scripts/api/change.ts';
import { findUnmentioned } from '../../scripts/api/changelog.ts';
import { reviewForCheck, reviewForWrite } from '../../scripts/api/review.ts';

const removed: Change = {
  breaking: true,
  place: 'GET /api/posts',
  text: 'removed',
  names: ['GET /api/posts', '/api/posts'],
};
const added: Change = { breaking: false, place: 'GET /api/tags', text: 'new', names: ['GET /api/tags'] };

function changelogWith(entry: string, section = 'Removed', release = 'Unreleased'): string {
  return `# Changelog\n\n## ${release}\n\n### Added\n\n- \`x\`\n\n### ${section}\n\n${entry}\n\n## 1.0.0\n\n### Removed\n\n- \`GET /api/old\`\n`;
}

const MENTIONS: [entry: string, changelog: string, isMentioned: boolean][] = [
  ['an entry with the route', changelogWith('- `GET /api/posts`: use `GET /api/articles`.'), true],
  ['an entry with the path', changelogWith('- The routes below `/api/posts`.'), true],
  ['an entry under "Changed"', changelogWith('- `/api/posts`', 'Changed'), true],
  ['an entry in several lines', changelogWith('- This entry has\n  two lines: `/api/posts`.'), true],
  ['a heading with brackets', changelogWith('- `/api/posts`', 'Removed', '[Unreleased]'), true],
  ['a name without backticks', changelogWith('- GET /api/posts'), false],
  ['a longer path', changelogWith('- `GET /api/posts/{id}` and `/v2/api/posts`'), false],
  ['an entry under "Added"', changelogWith('- `/api/posts`', 'Added'), false],
  ['an entry of a release', changelogWith('- `/api/posts`', 'Removed', '1.1.0'), false],
  ['no section "Unreleased"', '# Changelog\n', false],
];

test.each(MENTIONS)('a breaking change and %s', (_, changelog, isMentioned) => {
  expect(findUnmentioned([removed, added], changelog)).toEqual(isMentioned ? [] : [removed]);
});

const mentioned = changelogWith('- `/api/posts`');
const silent = '# Changelog\n';

test('compatible changes are written without a further question', () => {
  expect(reviewForWrite([added], silent, false)).toEqual({
    passes: true,
    text: 'Compatible changes (1):\n  GET /api/tags: new\n',
  });
});

test('breaking changes are written only with --breaking and an entry of the changelog', () => {
  expect(reviewForWrite([removed], mentioned, true).passes).toBe(true);
  expect(reviewForWrite([removed], mentioned, false)).toMatchObject({
    passes: false,
    text: expect.stringContaining('npm run api -- --write --breaking'),
  });
  expect(reviewForWrite([removed], silent, true)).toMatchObject({
    passes: false,
    text: expect.stringContaining('GET /api/posts: `GET /api/posts` or `/api/posts`'),
  });
});

test('the check passes if the files are up to date and the changelog mentions what breaks', () => {
  expect(reviewForCheck([], silent, false)).toEqual({ passes: true, text: '' });
  expect(reviewForCheck([removed], mentioned, false)).toEqual({ passes: true, text: '' });
});

test('the check fails if the files are not up to date, and says which command updates them', () => {
  expect(reviewForCheck([added], silent, true)).toMatchObject({
    passes: false,
    text: expect.stringMatching(/npm run api -- --write$/),
  });
  expect(reviewForCheck([removed], mentioned, true)).toMatchObject({
    passes: false,
    text: expect.stringMatching(/npm run api -- --write --breaking$/),
  });
});

test('the check fails if files that were changed by hand hide a breaking change', () => {
  expect(reviewForCheck([removed], silent, false).passes).toBe(false);
});

test('a change of many lines is shortened', () => {
  const lines = Array.from({ length: 100 }, (_, i) => `- line ${i}`);
  const { text } = reviewForCheck([{ ...added, text: lines.join('\n') }], silent, true);
  expect(text).toContain('- line 39');
  expect(text).not.toContain('- line 40');
  expect(text).toContain('… 60 more lines');
});
