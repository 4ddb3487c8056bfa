import { afterAll, beforeEach, expect, test, vi } from 'vitest';
import { apiKeys, defineResource, defineUser, f, verifyWebhook, webhooks } from '../../src/index.ts';
import { type Receiver, startReceiver } from '../fakes/receiver.ts';
import { createClient, type Person, startTestApp } from '../support/app.ts';
import { runCommandProcess, startCommand } from '../support/processes/command.ts';

const note = defineResource('note', {
  fields: { text: f.text(), owner: f.ref('user').owner() },
  policies: { read: 'owner' },
});
const { person, url } = await startTestApp(
  { resources: [defineUser(), note], extensions: [webhooks({ pollMs: 100 }), apiKeys()] },
  { roles: 'all' },
);
const opened: { close(): Promise<unknown> }[] = [];
afterAll(() => Promise.all(opened.map((one) => one.close())));

let ann: Person;
let key: string;
let receiver: Receiver;
beforeEach(async () => {
  ann = await person('Ann');
  const scopes = ['webhooks:read', 'webhooks:write', 'notes:read'];
  key = (await ann.call('POST', '/api/auth/api-keys', { name: 'listen', scopes })).body.data.key;
  receiver = await startReceiver();
  opened.push(receiver);
});

const listen = (options: string, to = receiver.url) =>
  startCommand('.', `listen ${to} --app ${url} ${options}`, { BELFRY_TOKEN: key });
const endpoints = async () => (await ann.call('GET', '/api/webhooks')).body.data;
const write = (text: string) => ann.call('POST', '/api/notes', { text });
const WAIT = { timeout: 60_000, interval: 50 };
const textsOf = ({ requests }: Receiver) => requests.map(({ body }) => JSON.parse(body).data.text);

test('brings events to a local URL with an endpoint of its own, which ends with the command', async () => {
  const command = listen('--events note.created');
  const secret = await vi.waitUntil(() => /whsec_\S+/.exec(command.out.output)?.[0], WAIT);
  await vi.waitUntil(() => command.out.output.includes('Press Ctrl-C'), WAIT);
  await write('one');
  await write('two');
  await receiver.received(2);
  expect(textsOf(receiver)).toEqual(['one', 'two']);
  const [first] = receiver.requests;
  expect(verifyWebhook(secret, first!.headers, first!.body)).toMatchObject({ type: 'note.created' });
  expect(first!.headers['content-type']).toBe('application/json');
  await vi.waitUntil(() => command.out.output.match(/note\.created msg_\S+ → 204 \(\d+ ms\)/g)?.length === 2, WAIT);
  command.child.kill('SIGINT');
  expect((await command.ended).code).toBe(0);
  expect(await endpoints()).toEqual([]);
});

test('sends a message again while the receiver fails, and acknowledges it after a 2xx', async () => {
  const { id } = (await createClient(url, key)('POST', '/api/webhooks', { delivery: 'poll', events: ['note.*'] })).body
    .data;
  receiver.answer(500, 204);
  const command = listen(`--endpoint ${id}`);
  await write('one');
  await receiver.received(2);
  await vi.waitUntil(async () => {
    const { body } = await ann.call('GET', `/api/webhooks/${id}/deliveries`);
    return body.data[0]?.status === 'succeeded';
  }, WAIT);
  expect(command.out.output).toMatch(/→ 500.*→ 204/s);
  command.child.kill('SIGTERM');
  expect((await command.ended).code).toBe(0);
  // The endpoint existed before.
  expect(await endpoints()).toHaveLength(1);
});

test('waits for a receiver that is not running', async () => {
  const closed = await startReceiver();
  await closed.close();
  const command = listen('--events note.*', closed.url);
  await vi.waitUntil(() => command.out.output.includes('Press Ctrl-C'), WAIT);
  await write('one');
  await vi.waitUntil(() => command.out.output.includes('not reachable (ECONNREFUSED)'), WAIT);
  command.child.kill('SIGINT');
  expect((await command.ended).code).toBe(0);
});

test('goes on after any response with --always-ack', async () => {
  receiver.answer(500);
  const command = listen('--events note.created --always-ack');
  await vi.waitUntil(() => command.out.output.includes('Press Ctrl-C'), WAIT);
  await write('one');
  await write('two');
  await receiver.received(2);
  expect(textsOf(receiver)).toEqual(['one', 'two']);
});

test('ends at once, without an endpoint, if the key may not poll or the app is not there', async () => {
  const { body } = await ann.call('POST', '/api/auth/api-keys', {
    name: 'w',
    scopes: ['webhooks:write', 'notes:read'],
  });
  const line = `listen ${receiver.url} --events note.created --app`;
  const refused = await runCommandProcess('.', `${line} ${url}`, { BELFRY_TOKEN: body.data.key });
  expect([refused.code, refused.errorOutput]).toEqual([1, expect.stringContaining('"webhooks:read"')]);
  expect(refused.output).not.toContain('Listening');
  expect(await endpoints()).toEqual([]);
  const closed = await startReceiver();
  await closed.close();
  const missing = await runCommandProcess('.', `${line} ${closed.url}`, { BELFRY_TOKEN: key });
  expect([missing.code, missing.errorOutput]).toEqual([1, expect.stringContaining('is not available (ECONNREFUSED)')]);
});

test.each([
  ['--events note.nope', /Unknown events: "note.nope"/],
  [`--endpoint ${'a'.repeat(24)}`, /The app refused the request \(404\)/],
  ['--events note.created --token svc_wrong', /The app refused the request \(401\)/],
])('ends with the message of the app for %s', async (options, message) => {
  const { code, errorOutput } = await runCommandProcess('.', `listen ${receiver.url} --app ${url} ${options}`, {
    BELFRY_TOKEN: key,
  });
  expect([code, errorOutput]).toEqual([1, expect.stringMatching(message)]);
  expect(errorOutput).not.toContain(key);
});

test.each([
  ['listen nope --app http://localhost:1 --token x --events a', /must look like http/],
  ['listen http://localhost:1 --token x --events a', /--app/],
  ['listen http://localhost:1 --app localhost:5001 --token x --events a', /must look like https:\/\/app\.example\.com/],
  ['listen http://localhost:1 --app http://localhost:1 --events a', /BELFRY_TOKEN is missing/],
  ['listen http://localhost:1 --app http://localhost:1 --token x', /either --endpoint or --events/],
  ['listen http://localhost:1 --app http://localhost:1 --token x --events a --endpoint b', /24 hex digits/],
])('refuses the command line %s', async (line, message) => {
  const { code, errorOutput } = await runCommandProcess('.', line);
  expect([code, errorOutput]).toEqual([2, expect.stringMatching(message)]);
});
