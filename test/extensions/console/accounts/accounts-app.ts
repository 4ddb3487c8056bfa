import { Client } from 'pg';
import { afterAll } from 'vitest';
import {
  adminConsole,
  apiKeys,
  audit,
  defineUser,
  emailVerification,
  invitations,
  organisations,
  passkeys,
  securityMails,
  twoFactor,
  webhooks,
} from '../../../../src/index.ts';
import { startTestApp } from '../../../support/app.ts';

const PRODUCTION = {
  NODE_ENV: 'production',
  DRAIN_DELAY_MS: '0',
  SVC_ENCRYPTION_KEYS: Buffer.alloc(32, 1).toString('base64'),
  LOG_LEVEL: 'silent',
};

/** Starts an app for the test file with all features that show something of accounts in the console. */
export async function startAccountsApp(
  mode: 'development' | 'production',
  { policy = 'admin', inviters = 'admin' }: { policy?: string; inviters?: string } = {},
) {
  const events: [name: string, payload: Record<string, unknown>][] = [];
  const started = await startTestApp(
    {
      resources: [defineUser({ roles: ['support', 'editor'] })],
      extensions: [
        audit(),
        apiKeys(),
        twoFactor(),
        passkeys({ rpId: 'example.com', origins: ['https://app.example.com'] }),
        emailVerification(),
        invitations({ policy: inviters }),
        organisations(),
        webhooks(),
        securityMails(),
        adminConsole({ production: { policy } }),
      ],
      settings: { rateLimit: { enabled: false }, auth: { lockout: { maxAttempts: 3 } } },
      listeners(made) {
        for (const name of ['two_factor_disabled', 'passkey_removed', 'identity_removed', 'api_key_revoked'])
          made.on<Record<string, unknown>>(`security.${name}`, (payload) => void events.push([name, payload]));
      },
    },
    {
      roles: 'all',
      env: () => ({ ...(mode === 'production' && PRODUCTION), APP_URL: 'https://app.example.com' }),
      ...(mode === 'production' && { start: { roles: ['web', 'relay'] } }),
    },
  );
  const database = new Client({ connectionString: started.env.DATABASE_URL! });
  await database.connect();
  afterAll(() => database.end());

  let rows = 0;
  const insertPasskey = async (userId: string, name: string) => {
    const id = String(++rows).padStart(24, 'a');
    await database.query(
      `insert into passkeys (id, user_id, credential_id, public_key, counter, device_type, backed_up, transports, name)
       values ($1, $2, $1, 'key', 0, 'multiDevice', true, '{internal}', $3)`,
      [id, userId, name],
    );
    return id;
  };
  const insertIdentity = async (userId: string, provider: string) => {
    const id = String(++rows).padStart(24, 'b');
    await database.query(
      `insert into user_identities (id, user_id, provider, subject, email) values ($1, $2, $3, $1, 'at@provider.example')`,
      [id, userId, provider],
    );
    return id;
  };
  return { ...started, database, events, insertPasskey, insertIdentity };
}

/** A panel in a response. */
export interface ShownPanel {
  id: string;
  label: string;
  error: string | null;
  facts?: { label: string; value: unknown }[];
  columns?: { name: string; label: string; kind: string | null }[];
  rows?: { id: string; values: Record<string, unknown>; actions?: string[] }[];
  actions?: string[];
  link?: { href: string };
}

/** The panels in the response to the request for an account, by id. */
export function panelsOf({ panels }: { panels: ShownPanel[] }): Record<string, ShownPanel> {
  return Object.fromEntries(panels.map((panel) => [panel.id, panel]));
}

/** The facts of a panel, by label. */
export function factsOf({ facts = [] }: ShownPanel): Record<string, unknown> {
  return Object.fromEntries(facts.map(({ label, value }) => [label, value]));
}
