import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { blog } from '../../fixtures/blog/app.ts';
import { startTestApp } from '../../support/app.ts';

const { person, url } = await startTestApp(blog);

test('the commands in docs/http.md return what the page says', async () => {
  const page = readFileSync(join(import.meta.dirname, '..', '..', '..', 'docs', 'http.md'), 'utf8');
  const commands = [...page.matchAll(/```sh\n([\s\S]*?)```/g)].map((match) => match[1]!).join('\n');
  const ada = await person('Ada');
  const made = await ada.call('POST', '/api/posts', { title: 'Hello' });
  const env = { PATH: process.env.PATH, TOKEN: ada.token, POST: made.body.data.id };
  const script = commands.replaceAll('localhost:5001', url.replace('http://', ''));
  const { stdout } = await promisify(execFile)('bash', ['-e', '-c', script], { env });
  expect([...stdout.matchAll(/HTTP\/1\.1 (\d+)/g)].map((match) => match[1])).toEqual([
    '304',
    '200',
    '412',
    '201',
    '201',
  ]);
  expect(stdout.match(/^idempotency-replayed: true/gim)).toHaveLength(1);
});
