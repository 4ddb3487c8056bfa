import { expect, test, vi } from 'vitest';
import { defineUser, emailSignIn } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';
import { openMailbox } from './mailbox.ts';

const lines = vi.hoisted((): string[] => []);
// The same logger, with a destination that the test can read.
vi.mock('../../../src/platform/observability/log.ts', async (importOriginal) => {
  const original = await importOriginal<typeof import('../../../src/platform/observability/log.ts')>();
  const destination = { write: (line: string) => void lines.push(line) };
  const createLogger: typeof original.createLogger = (level, process, _destination, fields) =>
    original.createLogger(level, process, destination, fields);
  return { ...original, createLogger };
});

const started = await startTestApp(
  { resources: [defineUser()], extensions: [emailSignIn()] },
  { env: () => ({ LOG_LEVEL: 'trace' }) },
);
const { request, withLink, withCode } = await openMailbox(started);

test('no log line contains the token of a link, a code or the secret of the browser', async () => {
  const [one, two] = [await request('ann@example.com'), await request('bob@example.com')];
  const responses = [await withLink(one), await withLink(one), await withCode(two, one.code), await withCode(two)];
  expect(responses.map(({ status }) => status)).toEqual([200, 400, 400, 200]);
  await vi.waitUntil(() => lines.filter((line) => line.includes('/api/auth/email-sign-in/verify')).length === 4);
  const log = lines.join('').replaceAll(/"(time|requestId|mail)":"[^"]*"/g, '');
  for (const { token, signInToken, code } of [one, two])
    for (const secret of [token, signInToken, code]) expect(log).not.toContain(secret);
});
