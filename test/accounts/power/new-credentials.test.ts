import { Client as Postgres } from 'pg';
import { describe, expect, test } from 'vitest';
import type { WebhookOperations } from '../../../src/extensions/webhooks/index.ts';
import { defineExtension, defineUser, twoFactor, webhooks } from '../../../src/index.ts';
import { codeOf, forget, guard, wrongCode } from '../../extensions/two-factor/two-factor-user.ts';
import { type ApiResponse, type Client, startTestApp } from '../../support/app.ts';
import { startPowerApp } from './power-app.ts';

const started = await startPowerApp();
const { person, database, guarded, signIn, signInEarlier, createKey, openApiDocument, routes } = started;

const ada = await guarded('Ada', ['user']);
// Sessions of some minutes ago began after the second factor was turned on.
await database.query(`update two_factors set confirmed_at = now() - interval '1 day'`);
// A public address, which needs no DNS.
const url = 'https://93.184.215.14/hook';
const webhook = { url, events: ['user.updated'] };

/** A route whose response contains a credential that outlives the session. */
interface CredentialRoute {
  operation: string;
  send(client: Client, body: { code?: string }): Promise<ApiResponse>;
  status: number;
}

let endpoint: string | undefined;
let organisation: string | undefined;
const CREDENTIALS: CredentialRoute[] = [
  {
    operation: 'createApiKey',
    send: (client, body) => client('POST', '/api/auth/api-keys', { name: 'Key', ...body }),
    status: 201,
  },
  {
    operation: 'createApiKey',
    send: (client, body) => client('POST', '/api/auth/api-keys', { name: 'All', scopes: ['*'], ...body }),
    status: 201,
  },
  {
    operation: 'createOrganisationApiKey',
    async send(client, body) {
      organisation ??= (await client('POST', '/api/organisations', { name: 'Acme' })).body.data.id;
      return client('POST', `/api/organisations/${organisation}/api-keys`, { name: 'Key', ...body });
    },
    status: 201,
  },
  {
    operation: 'createWebhook',
    send: (client, body) => client('POST', '/api/webhooks', { ...webhook, ...body }),
    status: 201,
  },
  {
    operation: 'rotateWebhookSecret',
    async send(client, body) {
      endpoint ??= (await (await signIn(ada))('POST', '/api/webhooks', webhook)).body.data.id;
      return client('POST', `/api/webhooks/${endpoint}/rotate-secret`, body);
    },
    status: 200,
  },
];

describe.each(CREDENTIALS)('$operation', ({ send, status }) => {
  test('needs a code or a recently confirmed second factor of users who have one', async () => {
    const late = await signInEarlier(ada, 11);
    const refused = await send(late, {});
    expect([refused.status, refused.body.error.code]).toEqual([403, 'RECENT_SIGN_IN_REQUIRED']);
    await forget(ada, database);
    expect((await send(late, { code: wrongCode(ada.secret) })).body.error.details).toHaveProperty('code');
    const code = codeOf(ada.secret);
    expect((await send(late, { code })).status).toBe(status);
    expect((await send(late, { code })).status).toBe(422);
  });

  test('needs nothing more on a session that has just signed in with the second factor', async () => {
    expect((await send(await signInEarlier(ada, 9), {})).status).toBe(status);
  });
});

test('users without a second factor are not concerned', async () => {
  const bob = await person('Bob');
  await started.age(bob.id, 30);
  expect((await bob.call('POST', '/api/auth/api-keys', { name: 'Key' })).status).toBe(201);
  expect((await bob.call('POST', '/api/webhooks', webhook)).status).toBe(201);
});

test('an API key creates a webhook endpoint without a code, because the endpoint is limited to its scopes', async () => {
  const key = await createKey(await signIn(ada));
  expect((await key('POST', '/api/webhooks', webhook)).status).toBe(201);
});

test('an administrator confirms the second factor before the console shows the secret of an endpoint', async () => {
  const root = await guarded('Root', ['user', 'admin']);
  const path = '/console/api/webhooks/endpoints';
  const owner = await person('Owner');
  const late = await signInEarlier(root, 11);
  const refused = await late('POST', path, { ...webhook, owner: owner.id });
  expect([refused.status, refused.body.error.code]).toEqual([403, 'RECENT_SIGN_IN_REQUIRED']);
  const fresh = await signIn(root);
  const { status, body } = await fresh('POST', path, { ...webhook, owner: owner.id });
  expect(status).toBe(201);
  expect((await late('POST', `${path}/${body.data.id}/rotate-secret`)).status).toBe(403);
  expect((await fresh('POST', `${path}/${body.data.id}/rotate-secret`)).status).toBe(200);
});

test('a link to the webhook portal needs a code or a recently confirmed second factor of the user who asks for it', async () => {
  let createLink: (userId: string, options: object) => Promise<unknown>;
  const links = defineExtension({
    name: 'links',
    setup: () => ({
      routes: [
        {
          method: 'POST',
          path: '/links',
          body: 'json',
          handler: ({ user, body }) => createLink(user!.id, body as object),
        },
      ],
    }),
  });
  const portal = await startTestApp({
    resources: [defineUser()],
    extensions: [twoFactor(), webhooks({ portal: true }), links],
  });
  const { portalLink } = (portal.app as unknown as { webhooks: WebhookOperations }).webhooks;
  createLink = portalLink;
  const sql = new Postgres({ connectionString: portal.env.DATABASE_URL! });
  await sql.connect();
  const eve = await guard(await portal.person('Eve'), sql);
  const create = (body: object) => eve.call('POST', '/api/links', body);
  expect((await create({})).status).toBe(200);
  await sql.query(`update sessions set authenticated_at = authenticated_at - interval '11 minutes'`);
  expect((await create({})).body.error.code).toBe('RECENT_SIGN_IN_REQUIRED');
  expect((await create({ code: codeOf(eve.secret) })).status).toBe(200);
  // Not a request of the user.
  expect(await portalLink(eve.id)).toHaveProperty('url');
  const max = await portal.person('Max');
  expect((await max.call('POST', '/api/links', {})).status).toBe(200);
  await sql.end();
});

/** Names of properties whose values can be credentials. */
const SECRET = /token|secret|key$|code|password|ticket|url$|proof/i;
/** Properties with such names that are none, in any response. */
const HARMLESS = new Set([
  'avatarUrl',
  'publicKey',
  'statusCode',
  'code',
  'payloadTruncated',
  'secretGraceHours',
  'apiKey',
]);

/** Names of the properties in a schema, with those of the schemas that it refers to. */
function propertiesOf(schema: unknown, document: unknown, seen = new Set<unknown>()): string[] {
  if (typeof schema !== 'object' || schema === null || seen.has(schema)) return [];
  seen.add(schema);
  const { $ref } = schema as { $ref?: string };
  if ($ref !== undefined) {
    const target = $ref
      .slice(2)
      .split('/')
      .reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], document);
    return propertiesOf(target, document, seen);
  }
  const { properties } = schema as { properties?: object };
  const names = properties === undefined ? [] : Object.keys(properties);
  return [...names, ...Object.values(schema).flatMap((part) => propertiesOf(part, document, seen))];
}

/** Operations whose responses have such properties, and why they need no second factor. */
const NO_CREDENTIALS: Record<string, string> = {
  // These start a session: they ask for the second factor themselves.
  login: 'asks for the second factor',
  register: 'a new user has no second factor',
  verifyTwoFactor: 'is the second factor',
  verifyEmail: 'asks for the second factor',
  signInWithPasskey: 'a passkey is two factors',
  acceptInvitation: 'asks for the second factor',
  exchangeSignInCode: 'asks for the second factor',
  signInWithIdToken: 'asks for the second factor',
  enrolTwoFactor: 'the user has no second factor yet',
  confirmTwoFactor: 'needs a code',
  renewRecoveryCodes: 'needs a code',
  linkIdentity: 'the ticket works once, for minutes; a sign-in with the identity asks for the second factor',
  createStreamTicket: 'ends with the session',
  // A link to a copy of what the session can read. It ends with the password and with all sessions.
  exportMe: 'a download of what the session reads',
  exportUser: 'a download of what the session reads',
  // Tokens of devices are masked, and the number of recovery codes is none of them.
  registerDevice: 'masked',
  listMyDevices: 'masked',
  readPush: 'masked',
  readTwoFactor: 'a number',
  listWebhooks: 'the address of the receiver',
  readWebhook: 'the address of the receiver',
  updateWebhook: 'the address of the receiver',
};

test('every operation of the API whose response may contain a credential is classified', () => {
  const document = openApiDocument();
  const found = Object.values(document.paths).flatMap((operations) =>
    Object.values(operations).flatMap(({ operationId, responses }) => {
      const contents = Object.entries(responses ?? {}).filter(([status]) => status.startsWith('2'));
      const names = contents.flatMap(([, { content = {} }]) =>
        Object.values(content).flatMap(({ schema }) => propertiesOf(schema, document)),
      );
      return names.some((name) => SECRET.test(name) && !HARMLESS.has(name)) ? [operationId] : [];
    }),
  );
  const guardedOperations = new Set(CREDENTIALS.map(({ operation }) => operation));
  const known = [...guardedOperations, ...Object.keys(NO_CREDENTIALS)];
  expect(found.filter((operation) => !known.includes(operation))).toEqual([]);
  expect(known.filter((operation) => !found.includes(operation))).toEqual([]);
});

test('every action of the console that changes webhook endpoints is classified: only two show a secret', () => {
  const actions = routes()
    .filter(({ method, path }) => method !== 'GET' && path.startsWith('/console/api/webhooks/endpoints'))
    .map(({ method, path }) => `${method} ${path.slice('/console/api/webhooks'.length)}`);
  expect(actions.toSorted()).toEqual(
    [
      // Tested above.
      'POST /endpoints',
      'POST /endpoints/:id/rotate-secret',
      // Show no secret.
      'PATCH /endpoints/:id',
      'DELETE /endpoints/:id',
      'POST /endpoints/:id/test',
      'POST /endpoints/:id/filter/test',
      'POST /endpoints/:id/recover',
    ].toSorted(),
  );
});
