import { expect, test } from 'vitest';
import { z } from 'zod';
import { createApp, defineResource, defineUser, disk, f } from '../../../../src/index.ts';
import { findAssembly } from '../../../../src/runtime/create-app.ts';
import { createDeprecations } from '../../../../src/runtime/http/deprecation/index.ts';
import type { Stage } from '../../../../src/runtime/http/endpoint/exchange.ts';
import { listStages } from '../../../../src/runtime/http/endpoint/index.ts';

const post = defineResource('post', {
  fields: { title: f.string(), author: f.ref('user').owner() },
  policies: { list: 'public', read: 'public', create: 'authenticated', update: 'owner', delete: 'owner' },
  routes: (route) => [
    route.get('/:id/summary', async ({ doc }) => doc.title),
    route.post('/:id/publish', { input: z.object({ at: z.string() }), query: z.object({}) }, () => undefined),
    route.delete('/:id/hard', { recentSignIn: true }, () => undefined),
    route.post('/import', { body: { kind: 'binary', types: ['text/csv'], maxBytes: 10 } }, () => undefined),
  ],
});
const ticket = defineResource('ticket', {
  fields: { title: f.string().deprecated({ since: '2026-11-01' }), attachment: f.file() },
  policies: { create: 'authenticated' },
});
const app = createApp(
  { resources: [defineUser(), post, ticket], settings: { files: { storage: disk({ directory: '/nowhere' }) } } },
  { NODE_ENV: 'test', DATABASE_URL: 'postgres://localhost/none', REDIS_URL: 'redis://localhost' },
);
const { host, records, platform } = findAssembly(app)!;
const { routes } = records;
const deprecations = createDeprecations({ routes, pages: [], records, metrics: platform.metrics });

/** The names of the stages of a route, in order. Stages that another one runs are indented. */
function stagesOf(method: string, path: string): string[] {
  const route = routes.find((each) => each.method === method && each.path === path)!;
  const noCheck = async () => undefined;
  const parts = { host, records, authenticators: [], findReadLimit: () => undefined, deprecations };
  const countWeight = route.weight && noCheck;
  const namesOf = (stages: readonly Stage[]): string[] =>
    stages.flatMap(({ name, stages: inner = [] }) => [name, ...namesOf(inner).map((each) => `  ${each}`)]);
  return namesOf(listStages(route, parts, { checkLimits: noCheck, countWeight }));
}

test('a plain read has no stage about bodies, keys, weights, recent sign-ins or deprecated fields', () => {
  const stages = ['check the limits', 'sign in', 'check the scope of the credential'];
  const end = ['read the query', 'run the handler', 'serialize', 'send'];
  expect(stagesOf('GET', '/posts')).toEqual([...stages, ...end]);
  expect(stagesOf('GET', '/posts/:id')).toEqual([...stages, ...end]);
  expect(stagesOf('GET', '/posts/:id/summary')).toEqual([...stages, 'authorise and load the record', ...end]);
});

test('a create is authorised before its body is read, and runs once for each idempotency key', () => {
  expect(stagesOf('POST', '/posts')).toEqual([
    'check the limits',
    'sign in',
    'check the scope of the credential',
    'require a user',
    'authorise a create with an idempotency key',
    'read the idempotency key',
    'read the query',
    'read the body',
    'after a slow body, again',
    '  sign in',
    '  check the scope of the credential',
    '  require a user',
    '  authorise a create with an idempotency key',
    'once for each idempotency key',
    '  check write preconditions',
    '  run the handler',
    '  serialize',
    'send',
  ]);
});

test('a create with a form discards the form unless its handler runs', () => {
  expect(stagesOf('POST', '/tickets').slice(6)).toEqual([
    'read the query',
    'read the form or the body',
    'discard the form unless the handler runs',
    '  after a slow body, again',
    '    sign in',
    '    check the scope of the credential',
    '    require a user',
    '    authorise a create with an idempotency key',
    '  announce deprecated fields',
    '  once for each idempotency key',
    '    check write preconditions',
    '    run the handler',
    '    serialize',
    'send',
  ]);
});

test('a custom route of a record loads the record before it validates the query and the body', () => {
  expect(stagesOf('POST', '/posts/:id/publish').slice(3)).toEqual([
    'authorise and load the record, unless an earlier attempt deleted it',
    'read the idempotency key',
    'validate the query',
    'read the body',
    'after a slow body, again',
    '  sign in',
    '  check the scope of the credential',
    '  authorise and load the record, unless an earlier attempt deleted it',
    'once for each idempotency key',
    '  check write preconditions',
    '  validate the input',
    '  run the handler',
    '  serialize',
    'send',
  ]);
});

test('a recent sign-in is required after the record is loaded', () => {
  expect(stagesOf('DELETE', '/posts/:id/hard').slice(3)).toEqual([
    'authorise and load the record',
    'require a recent sign-in',
    'read the query',
    'check write preconditions',
    'run the handler',
    'serialize',
    'send',
  ]);
});

test('a route with a streamed body closes the connection after a body that was not read', () => {
  expect(stagesOf('POST', '/posts/import').slice(3)).toEqual([
    'authorise',
    'read the idempotency key',
    'read the query',
    'read the body',
    'after a slow body, again',
    '  sign in',
    '  check the scope of the credential',
    '  authorise',
    'once for each idempotency key',
    '  check write preconditions',
    '  run the handler',
    '  serialize',
    'close the connection after an unread body',
    'send',
  ]);
});

test('a batch counts its weight and checks the scopes of its operations before it runs', () => {
  expect(stagesOf('POST', '/tickets/batch').slice(4)).toEqual([
    'read the idempotency key',
    'read the query',
    'read the body',
    'after a slow body, again',
    '  sign in',
    '  check the scope of the credential',
    '  require a user',
    'count the weight',
    'check the scopes of performed routes',
    'once for each idempotency key',
    '  check write preconditions',
    '  run the handler',
    '  serialize',
    'send',
  ]);
});
