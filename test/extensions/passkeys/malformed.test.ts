import fc from 'fast-check';
import { Client } from 'pg';
import { afterAll, expect, test } from 'vitest';
import { defineUser, passkeys } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';
import { type Cbor, createPasskey, encodeCbor } from '../../support/passkeys/authenticator.ts';
import { scaleRuns } from '../../support/vitest/fuzz-runs.ts';
import { confirm, signInOptions, withPasskey } from './passkey-user.ts';

const { person, call, env } = await startTestApp({
  resources: [defineUser()],
  extensions: [passkeys({ secondFactor: true })],
});
const database = new Client({ connectionString: env.DATABASE_URL! });
await database.connect();
afterAll(() => database.end());
const ada = await withPasskey(await person('Ada'));
// Without it, a user with a passkey could not add another one.
await confirm(ada, ada.passkey);
const countRows = async () =>
  (await database.query('select (select count(*) from passkeys)::int as p, (select count(*) from sessions)::int as s'))
    .rows[0];

const register = (response: unknown, name?: unknown) => ada.call('POST', '/api/auth/passkeys', { response, name });
const signIn = (challengeId: unknown, response: unknown) =>
  call('POST', '/api/auth/passkeys/sign-in', { challengeId, response });
const CHALLENGE = { challenge: 'A'.repeat(43), rpId: 'localhost' };
const base64url = (text: string) => Buffer.from(text).toString('base64url');

// biome-ignore lint/suspicious/noExplicitAny: tests change any part of a credential
const malformed: [string, (honest: Record<string, any>) => void, string][] = [
  ['no id', (json) => delete json.id, 'response.id'],
  ['a number as id', (json) => (json.id = 7), 'response.id'],
  ['an id with padding', (json) => (json.id = 'AAA='), 'response.id'],
  ['an empty id', (json) => (json.id = ''), 'response.id'],
  ['an oversized id', (json) => (json.id = 'A'.repeat(1365)), 'response.id'],
  ['another type', (json) => (json.type = 'password'), 'response.type'],
  ['no response', (json) => delete json.response, 'response.response'],
  ['a text as response', (json) => (json.response = 'x'), 'response.response'],
  ['no client data', (json) => delete json.response.clientDataJSON, 'response.response.clientDataJSON'],
  [
    'oversized client data',
    (json) => (json.response.clientDataJSON = 'A'.repeat(4097)),
    'response.response.clientDataJSON',
  ],
  ...['', 'null', '7', '[]', '{}', '{"type":"webauthn.get","challenge":1,"origin":"x"}', '{', '\u0000'].map(
    (text): (typeof malformed)[number] => [
      `the client data ${JSON.stringify(text)}`,
      (json) => (json.response.clientDataJSON = base64url(text)),
      'response.response.clientDataJSON',
    ],
  ),
];

test.each(malformed)('a credential with %s is refused with 422 that names the input', async (_, change, field) => {
  for (const [json, send] of [
    [createPasskey().create(CHALLENGE as never), register],
    [ada.passkey.use(CHALLENGE), (response: unknown) => signIn('x', response)],
    [ada.passkey.use(CHALLENGE), (response: unknown) => ada.call('POST', '/api/auth/passkeys/confirm', { response })],
    [
      ada.passkey.use(CHALLENGE),
      (response: unknown) => call('POST', '/api/auth/passkeys/second-factor', { mfaToken: 'x', response }),
    ],
  ] as const) {
    change(json);
    const { status, body } = await send(json);
    expect([status, Object.keys(body.error.details)]).toEqual([422, [field]]);
  }
});

test('each body accepts only its own members, and ignores members that browsers may add to a credential', async () => {
  const { challengeId, options } = await signInOptions(call);
  const response = { ...ada.passkey.use(options), prf: { added: 'later' } };
  const refused = await call('POST', '/api/auth/passkeys/sign-in', { challengeId, response, email: ada.email });
  expect([refused.status, Object.keys(refused.body.error.details)]).toEqual([422, ['email']]);
  expect((await signIn(challengeId, response)).status).toBe(200);
});

test('oversized texts and lists are refused', async () => {
  const created = createPasskey().create(CHALLENGE as never);
  const used = ada.passkey.use(CHALLENGE);
  const withResponse = (json: typeof used, change: object) => ({ ...json, response: { ...json.response, ...change } });
  const fieldsOf = ({ status, body }: Awaited<ReturnType<typeof call>>) => [status, ...Object.keys(body.error.details)];
  const long = 'A'.repeat(40_000);
  expect(fieldsOf(await register(withResponse(created, { attestationObject: long })))).toEqual([
    422,
    'response.response.attestationObject',
  ]);
  expect(fieldsOf(await register(withResponse(created, { transports: Array(11).fill('usb') })))).toEqual([
    422,
    'response.response.transports',
  ]);
  expect(fieldsOf(await register(created, 'x'.repeat(65)))).toEqual([422, 'name']);
  for (const name of ['authenticatorData', 'signature', 'userHandle'])
    expect(fieldsOf(await signIn('x', withResponse(used, { [name]: long })))).toEqual([
      422,
      `response.response.${name}`,
    ]);
  expect(fieldsOf(await signIn('x'.repeat(129), used))).toEqual([422, 'challengeId']);
});

test('an attestation object that is no CBOR, nested too deeply, or of another shape is refused', async () => {
  const nested = (depth: number) => Buffer.concat([Buffer.alloc(depth, 0x81), Buffer.from([0])]);
  const authData = (value: Cbor) =>
    encodeCbor(
      new Map<string, Cbor>([
        ['fmt', 'none'],
        ['attStmt', new Map()],
        ['authData', value],
      ]),
    );
  const objects = [
    Buffer.from([0xff]),
    encodeCbor('text'),
    encodeCbor([1, 2]),
    encodeCbor(new Map()),
    nested(20_000),
    authData('text'),
    authData(Buffer.alloc(0)),
    authData(Buffer.alloc(37, 0xff)),
    authData(Buffer.concat([Buffer.alloc(37, 0xff), Buffer.alloc(18, 0xff), nested(10_000)])),
  ];
  const before = await countRows();
  for (const object of objects) {
    const { body } = await ada.call('POST', '/api/auth/passkeys/options');
    const json = createPasskey().create(body.data);
    json.response.attestationObject = object.toString('base64url');
    const { status } = await register(json);
    expect([object.subarray(0, 8), status]).toEqual([object.subarray(0, 8), 422]);
  }
  expect(await countRows()).toEqual(before);
});

/** A change of bytes in one of the signed or structured parts of a response. */
const mutation = fc.record({
  part: fc.nat(3),
  at: fc.double({ min: 0, max: 0.999, noNaN: true }),
  bytes: fc.uint8Array({ minLength: 1, maxLength: 4 }),
  kind: fc.constantFrom('replace', 'insert', 'cut'),
});

/** Returns the base64url text with the change; the same text if the change has no effect. */
function mutate(text: string, { at, bytes, kind }: { at: number; bytes: Uint8Array; kind: string }): string {
  const data = Buffer.from(text, 'base64url');
  const place = Math.floor(at * data.length);
  const rest = kind === 'insert' ? place : place + bytes.length;
  const parts = [data.subarray(0, place), ...(kind === 'cut' ? [] : [bytes]), data.subarray(rest)];
  return Buffer.concat(parts).toString('base64url');
}

test('no response with changed signed data signs in, and no changed response is an internal error', async () => {
  await fc.assert(
    fc.asyncProperty(mutation, async (change) => {
      const { challengeId, options } = await signInOptions(call);
      const json = ada.passkey.use(options);
      const parts = ['clientDataJSON', 'authenticatorData', 'signature', 'userHandle'] as const;
      const part = parts[change.part]!;
      const text = json.response[part] as string;
      const changed = mutate(text, change);
      fc.pre(changed !== text);
      json.response[part] = changed;
      const { status } = await signIn(challengeId, json);
      // A signature has several encodings, so some changes keep it valid. Its challenge can be used only once anyway.
      expect(part === 'signature' ? [200, 401, 422] : [401, 422]).toContain(status);
    }),
    { numRuns: scaleRuns(60) },
  );
});

test('no changed creation is an internal error, and a stored one keeps the id of its authenticator', async () => {
  await fc.assert(
    fc.asyncProperty(mutation, async (change) => {
      const { body } = await ada.call('POST', '/api/auth/passkeys/options');
      const json = createPasskey().create(body.data);
      const part = change.part === 0 ? 'clientDataJSON' : 'attestationObject';
      json.response[part] = mutate(json.response[part] as string, change);
      const { status, body: stored } = await register(json);
      expect([201, 400, 422]).toContain(status);
      if (status !== 201) return;
      const { rows } = await database.query('select credential_id from passkeys where id = $1', [stored.data.id]);
      expect(rows).toEqual([{ credential_id: json.id }]);
      await ada.call('DELETE', `/api/auth/passkeys/${stored.data.id}`);
    }),
    { numRuns: scaleRuns(60) },
  );
});
