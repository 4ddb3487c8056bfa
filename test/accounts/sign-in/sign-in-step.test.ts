import { expect, test } from 'vitest';
import { z } from 'zod';
import type { Accounts, CheckedLogin } from '../../../src/declare/accounts.ts';
import { defineExtension, defineUser } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';

const stepCalls: [string, CheckedLogin][] = [];
let accounts: Accounts | undefined;
let sessionsStarted = 0;

/** An extension with a sign-in step that applies to users with this name. */
const step = (name: string) =>
  defineExtension({
    name: name.toLowerCase(),
    setup(host) {
      accounts = host.accounts;
      return {
        routes: [
          {
            method: 'POST',
            path: `/auth/${name.toLowerCase()}`,
            policy: 'public',
            body: 'json',
            handler: (ctx) => accounts!.resumeLogin(ctx.body as never, ctx),
          },
        ],
        signInStep: {
          output: z.object({ wanted: z.literal(name) }),
          async ask(login) {
            stepCalls.push([name, login]);
            return login.user.name === name ? { wanted: name } : undefined;
          },
        },
      };
    },
  });
const { call, person, app } = await startTestApp({
  resources: [defineUser()],
  extensions: [step('Ann'), step('Bob')],
  listeners: (made) => made.on('auth.login', () => void sessionsStarted++),
});
const password = 'correct horse battery';
const login = (email: string) => call('POST', '/api/auth/login', { email, password });

test('sign-in steps run in order until one requires something from the user; its response replaces the session and is not cached', async () => {
  for (const [name, steps] of [
    ['Ann', ['Ann']],
    ['Bob', ['Ann', 'Bob']],
    ['Cy', ['Ann', 'Bob']],
  ] as const) {
    const { email } = await person(name);
    stepCalls.length = 0;
    const response = await login(email);
    expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect(stepCalls.map(([one]) => one)).toEqual(steps);
    if (name === 'Cy') expect(response.body.data.token).toMatch(/^svc_/);
    else expect(response.body).toEqual({ data: { wanted: name } });
  }
  expect(sessionsStarted).toBe(1);
});

test('no sign-in step runs for a wrong password or a disabled account', async () => {
  const { id, email } = await person('Ann');
  stepCalls.length = 0;
  expect((await call('POST', '/api/auth/login', { email, password: 'wrong horse battery' })).status).toBe(401);
  await app.service('user').update(id, { status: 'disabled' });
  expect((await login(email)).status).toBe(403);
  expect(stepCalls).toEqual([]);
});

test('a login can be resumed until its password changes, and the stored proof is not the password hash', async () => {
  const ann = await person('Ann');
  await login(ann.email);
  const { passwordProof } = stepCalls.at(-1)![1];
  expect(passwordProof).toMatch(/^[0-9a-f]{64}~1$/);
  const resume = (body: object) => call('POST', '/api/auth/ann', { userId: ann.id, passwordProof, ...body });
  const resumed = await resume({});
  expect(resumed.body.data).toMatchObject({ user: { id: ann.id }, token: expect.stringMatching(/^svc_/) });
  for (const wrong of [{ passwordProof: '' }, { userId: 'f'.repeat(24) }])
    expect((await resume(wrong)).status).toBe(401);
  const changed = { currentPassword: password, newPassword: 'another staple entirely' };
  expect((await ann.call('POST', '/api/auth/password', changed)).status).toBe(204);
  expect((await resume({})).status).toBe(401);
});
