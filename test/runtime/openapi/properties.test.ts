// For every operation of an app that uses every feature, random requests generated from the document never cause a 5xx and always
// return a documented status, with a body that matches the document and has no undocumented field.
import fc from 'fast-check';
import { afterAll, expect, test } from 'vitest';
import { register } from '../../extensions/passkeys/passkey-user.ts';
import { type Client, createClient, startTestApp } from '../../support/app.ts';
import { createPasskey } from '../../support/passkeys/authenticator.ts';
import { scaleRuns } from '../../support/vitest/fuzz-runs.ts';
import { requestsOf } from './arbitrary.ts';
import { readContract } from './contract.ts';
import { everyApp, SECRET } from './every-app.ts';

const RUNS = scaleRuns(6);

// Only the web role runs, so that nothing is sent to the generated addresses.
const { app, url, person } = await startTestApp(everyApp);
const contract = await readContract(url);
const ann = await person('Ann');
const bob = await person('Bob');
const root = await person('Root', ['user', 'admin']);
const viewers: Record<string, Client> = {
  nobody: createClient(url),
  stranger: createClient(url, `svc_${'0'.repeat(64)}`),
  ann: ann.call,
  bob: bob.call,
  root: root.call,
};

/** The validation messages of the contract. */
const MESSAGE = new RegExp(
  [
    '^(?:Is required|Must )',
    '^(?:Unknown field|Is read-only|Cannot be changed after creation|You are not allowed to set this field)$',
    '^Use POST /api/auth/password \\(or the reset flow\\) to change passwords$',
    '^Unknown (?:scopes|events): .+\\. Valid (?:scopes|events): ',
    '^(?:This password is too |Your password must not contain your )',
  ].join('|'),
);
/** Custom routes whose input is validated by a schema of the project; their messages come from its library. */
const PROJECT_SCHEMA = /^\/api\/(?:things\/|probe)/;

/** Creates the object of an operation, so that it can succeed, and returns the id for its path. */
async function subject(path: string): Promise<string> {
  const service = app.service as (name: string) => ReturnType<typeof app.service>;
  const create = async (name: string, input: object) => (await service(name).create(input as never)).id as string;
  if (path.startsWith('/api/users')) {
    return (await person('Extra')).id;
  }
  if (path.startsWith('/api/things'))
    return create('thing', { title: 'base', staff: 'x', pin: SECRET.slice(0, 10), author: ann.id });
  if (path.startsWith('/api/deep/notes'))
    return create('note', { text: `n${Math.random()}`, about: ann.id, keeper: ann.id });
  if (path.startsWith('/api/binneds')) {
    const id = await create('binned', { title: 'base', author: ann.id });
    if (path.endsWith('/restore')) await app.service('binned').delete(id);
    return id;
  }
  if (/^\/api\/webhooks\/.*\/(poll|ack)$/.test(path)) {
    const [oldest] = (await ann.call('GET', '/api/webhooks')).body.data.reverse();
    if (oldest !== undefined) await ann.call('DELETE', `/api/webhooks/${oldest.id}`);
    const { id } = (await ann.call('POST', '/api/webhooks', { delivery: 'poll', events: ['*'] })).body.data;
    // With a message, no poll waits.
    await ann.call('POST', `/api/webhooks/${id}/test`);
    return id;
  }
  if (path.startsWith('/api/webhooks')) {
    const { body } = await ann.call('POST', '/api/webhooks', { url: 'http://127.0.0.1:9/', events: ['*'] });
    return body.data?.id ?? (await ann.call('GET', '/api/webhooks')).body.data[0].id;
  }
  if (path.startsWith('/api/auth/devices')) {
    const body = { token: `${Math.random()}`.repeat(4), platform: 'ios' };
    return (await ann.call('POST', '/api/auth/devices', body)).body.data.id;
  }
  if (path.startsWith('/api/auth/passkeys')) {
    const { body } = await register(ann, createPasskey());
    return body.data?.id ?? (await ann.call('GET', '/api/auth/passkeys')).body.data[0].id;
  }
  return ann.id;
}

// The viewers must stay signed in for later requests, so operations that end sessions are called by an extra user.
const ENDS_SESSIONS = new Set(['logout', 'logoutAll']);

const statuses = new Map<string, Set<number>>();
afterAll(() => {
  // If all requests were refused, this test would prove little: most operations must succeed at least once. (Operations that
  // need a token, a code from an e-mail or a cursor never do.)
  const never = [...statuses].filter(([, seen]) => ![...seen].some((status) => status < 300)).map(([id]) => id);
  expect(never.length, `never succeeded: ${never.join(', ')}`).toBeLessThan(0.45 * statuses.size);
});

test.each([...contract.operations.keys()])('%s', { timeout: 240_000 }, async (id) => {
  const operation = contract.operations.get(id)!;
  const seen = new Set<number>();
  statuses.set(id, seen);
  // The users that send the requests must not be disabled or deleted, so these operations get other users.
  const ids = [
    await subject(operation.path),
    operation.path.startsWith('/api/users') ? (await person('Other')).id : ann.id,
  ];
  const property = fc.asyncProperty(
    requestsOf(contract, operation, ids),
    fc.constantFrom('nobody', 'stranger', 'ann', 'ann', 'ann', 'bob', 'root', 'root'),
    async ({ path, body, headers }, viewer) => {
      const as = ENDS_SESSIONS.has(id) && viewer === 'ann' ? (await person('Leaving')).call : viewers[viewer]!;
      if (ENDS_SESSIONS.has(id) && ['bob', 'root'].includes(viewer)) return;
      const response = await as(operation.method, path, body, headers);
      seen.add(response.status);
      expect(response.status, JSON.stringify(response.body)).toBeLessThan(500);
      contract.check(id, response, path);
      if (response.body?.error?.code === 'VALIDATION_ERROR' && !PROJECT_SCHEMA.test(operation.path)) {
        for (const message of Object.values(response.body.error.details)) expect(message).toMatch(MESSAGE);
      }
      // Names of Postgres have no capitals and digits; a random id may begin like them.
      expect(JSON.stringify(response.body ?? '')).not.toMatch(
        /S3CRET|(?<![\w-])pg_[a-z_]+(?![\w-])|syntax error|relation "|node_modules|\$scrypt/,
      );
      if (operation.method === 'DELETE' && response.status === 204) ids[0] = await subject(operation.path);
    },
  );
  await fc.assert(property, { numRuns: RUNS });
});
