import { expect, test, vi } from 'vitest';
import { defineUser, emailSignIn } from '../../../src/index.ts';
import { createClient, startTestApp } from '../../support/app.ts';
import { startProcess } from '../../support/processes/app-process.ts';
import { openMailbox } from './mailbox.ts';

vi.setConfig({ testTimeout: 120_000 });

const options = { resources: [defineUser()], extensions: [emailSignIn()] };
const { app, env } = await startTestApp(options);

test('no log line contains the token of a link, a code or the secret of the browser', async () => {
  const { url, output } = startProcess('test/fixtures/email-sign-in.ts', { ...env, LOG_LEVEL: 'trace' });
  const { request, withLink, withCode } = await openMailbox({ app, env, call: createClient(await url()) });
  const [one, two] = [await request('ann@example.com'), await request('bob@example.com')];
  const responses = [await withLink(one), await withLink(one), await withCode(two, one.code), await withCode(two)];
  expect(responses.map(({ status }) => status)).toEqual([200, 400, 400, 200]);
  const linesOf = (msg: string) => output().split(`"msg":"${msg}"`).length - 1;
  await vi.waitUntil(() => linesOf('request') >= 6 && linesOf('mail') >= 2);
  const log = output().replaceAll(/"(time|requestId|mail)":"[^"]*"/g, '');
  for (const { token, signInToken, code } of [one, two])
    for (const secret of [token, signInToken, code]) expect(log).not.toContain(secret);
});
