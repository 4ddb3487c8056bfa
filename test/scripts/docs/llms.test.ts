import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createLlmsText } from '../../../scripts/docs/llms.ts';

const root = join(import.meta.dirname, '..', '..', '..');
const text = createLlmsText();

test('docs/llms.txt is what the pages say: npm run docs:llms writes it', () => {
  expect(readFileSync(join(root, 'docs', 'llms.txt'), 'utf8')).toBe(text);
});

test('each page has a line with its title and a sentence', () => {
  const lines = text.split('\n').filter((line) => line.startsWith('- '));
  expect(lines.length).toBeGreaterThan(50);
  expect(lines.filter((line) => !/^- \[[^\]]+\]\((?:[a-z-]+\/)+[a-z-]+\.md\): .{20,}\.$/.test(line))).toEqual([]);
});
