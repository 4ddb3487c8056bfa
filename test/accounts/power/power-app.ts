import { Client } from 'pg';
import { afterAll } from 'vitest';
import type { ExtensionHost } from '../../../src/declare/extension.ts';
import type { Route } from '../../../src/declare/route.ts';
import {
  adminConsole,
  apiKeys,
  audit,
  defineExtension,
  defineResource,
  defineUser,
  emailVerification,
  f,
  invitations,
  oidc,
  organisations,
  passkeys,
  privacy,
  realtime,
  securityMails,
  softDelete,
  twoFactor,
  webhooks,
} from '../../../src/index.ts';
import {
  challenge,
  codeOf,
  forget,
  guard,
  type TwoFactorUser,
  verify,
} from '../../extensions/two-factor/two-factor-user.ts';
import { type Client as Call, createClient, startTestApp } from '../../support/app.ts';

const PRODUCTION = {
  NODE_ENV: 'production',
  DRAIN_DELAY_MS: '0',
  SVC_ENCRYPTION_KEYS: Buffer.alloc(32, 1).toString('base64'),
  LOG_LEVEL: 'silent',
  APP_URL: 'https://app.example.com',
};

export const ADMINISTRATOR = ['user', 'admin'];

/** Starts an app with every extension that has routes, in production, so that its console has administrators. */
export async function startPowerApp() {
  let host: ExtensionHost | undefined;
  const routesOf = defineExtension({
    name: 'routes-of',
    setup(given) {
      host = given;
      return {};
    },
  });
  const user = defineUser({
    // A project may let users change their address without a confirmation.
    fields: {
      email: f.email().required().unique().filterable(),
      company: f.ref('company', { onDelete: 'cascade' }),
    },
    roles: ['support', 'editor'],
    softDelete: true,
  });
  const started = await startTestApp(
    {
      resources: [user, defineResource('company', { fields: { name: f.string() }, softDelete: true })],
      extensions: [
        audit(),
        apiKeys(),
        twoFactor(),
        passkeys({ rpId: 'example.com', origins: ['https://app.example.com'] }),
        emailVerification(),
        invitations(),
        organisations(),
        oidc({
          providers: { google: { issuer: 'https://accounts.google.com', clientId: 'id', clientSecret: 'secret' } },
        }),
        privacy(),
        realtime(),
        webhooks({ portal: true }),
        securityMails(),
        softDelete(),
        adminConsole({ production: { policy: 'admin | support' } }),
        routesOf,
      ],
      settings: { rateLimit: { enabled: false } },
    },
    { env: () => PRODUCTION, roles: ['web', 'relay'] },
  );
  const { app, url, call, person, env } = started;
  const database = new Client({ connectionString: env.DATABASE_URL! });
  await database.connect();
  afterAll(() => database.end());

  let count = 0;
  /** Creates a user without a session. */
  const create = async (roles: string[]) => {
    const name = `Target ${++count}`;
    const email = `target-${count}@example.com`;
    return app.service('user').create({ name, email, password: 'correct horse battery', roles } as never);
  };
  /** Makes the newest session of a user older. */
  const age = (id: string, minutes: number) =>
    database.query(
      `update sessions set authenticated_at = null, created_at = created_at - $2 * interval '1 minute'
       where id = (select id from sessions where user_id = $1 order by created_at desc, id desc limit 1)`,
      [id, minutes],
    );
  /** Signs a user in with both factors. */
  const signIn = async (who: TwoFactorUser): Promise<Call> => {
    await forget(who, database);
    const { body } = await verify(call, await challenge(call, who), codeOf(who.secret));
    return createClient(url, body.data.token);
  };
  /** Signs a user in with both factors, this many minutes ago. */
  const signInEarlier = async (who: TwoFactorUser, minutes: number): Promise<Call> => {
    const client = await signIn(who);
    await age(who.id, minutes);
    return client;
  };
  const createKey = async (client: Call): Promise<Call> => {
    const { body } = await client('POST', '/api/auth/api-keys', { name: 'Key', scopes: ['*'] });
    return createClient(url, body.data.key);
  };
  return {
    ...started,
    database,
    create,
    age,
    signIn,
    signInEarlier,
    createKey,
    guarded: async (name: string, roles: string[]) => guard(await person(name, roles), database),
    read: async (id: string) => (await database.query('select * from users where id = $1', [id])).rows[0],
    /** All routes of the app, of the API and of pages such as the console, with their full paths. */
    routes: (): Pick<Route, 'method' | 'path'>[] => [
      ...host!.routes().map(({ method, path }) => ({ method, path: `/api${path}` })),
      ...host!.pages(),
    ],
    openApiDocument: () => host!.openApiDocument() as { paths: Record<string, Record<string, Operation>> },
    setStatus: (id: string, status: 'active' | 'disabled') => app.service('user').update(id, { status }),
  };
}

/** What the tests read of an operation of the OpenAPI document. */
export interface Operation {
  operationId: string;
  responses: Record<string, { content?: Record<string, { schema: unknown }> }>;
}
