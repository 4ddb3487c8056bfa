import { Client } from 'pg';
import { afterAll, expect } from 'vitest';
import type { Extension } from '../../../src/declare/extension.ts';
import { defineUser, f } from '../../../src/index.ts';
import type { AppOptions } from '../../../src/runtime/create-app.ts';
import { type Person, startTestApp } from '../../support/app.ts';

export const PASSWORD = 'correct horse battery';

export const FIREFOX = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64; rv:133.0) Gecko/20100101 Firefox/133.0';
export const CHROME =
  'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36';
export const SAFARI =
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/18.1 Mobile/15E148 Safari/604.1';

/** A client that signs in. */
export interface Device {
  ip: string;
  userAgent: string;
}

export const HOME: Device = { ip: '203.0.113.7', userAgent: FIREFOX };

const headersOf = ({ ip, userAgent }: Device) => ({ 'x-forwarded-for': ip, 'user-agent': userAgent });

/** An event of the app, with its payload. */
type Emitted = [name: string, payload: Record<string, unknown>];

/** Starts an app behind a proxy, whose users have a locale. */
export async function startSecurityApp(
  extensions: readonly Extension[],
  options: Omit<AppOptions<never>, 'resources' | 'extensions'> = {},
) {
  const events: Emitted[] = [];
  const user = defineUser({ fields: { locale: f.string().max(20) } });
  const started = await startTestApp(
    {
      resources: [user],
      extensions,
      ...options,
      listeners: (app) =>
        app.on('security.new_device', (payload) => void events.push(['security.new_device', payload])),
    },
    { roles: 'all', env: () => ({ TRUST_PROXY: 'true', APP_URL: 'https://app.example.com' }) },
  );
  const { app, call, env } = started;
  const database = new Client({ connectionString: env.DATABASE_URL! });
  await database.connect();
  afterAll(() => database.end());

  const signIn = async ({ email }: Pick<Person, 'email'>, device: Device) => {
    const response = await call('POST', '/api/auth/login', { email, password: PASSWORD }, headersOf(device));
    expect(response.status).toBe(200);
  };
  /** The e-mails to a user, oldest first. */
  const mailsTo = async ({ email }: Pick<Person, 'email'>) =>
    (await app.captured.mails()).filter(({ to }) => to === email).toReversed();
  const devicesOf = async ({ id }: Pick<Person, 'id'>) =>
    (await database.query('select * from known_devices where user_id = $1 order by last_seen_at', [id])).rows;
  /** Waits until a user has this many known devices. */
  const untilDevices = (person: Pick<Person, 'id'>, count: number) =>
    expect.poll(async () => (await devicesOf(person)).length, { timeout: 60_000 }).toBe(count);
  /** Waits until a user has got these e-mails, in any order. */
  const untilSubjects = (person: Pick<Person, 'email'>, subjects: readonly string[]) =>
    expect
      .poll(async () => (await mailsTo(person)).map(({ subject }) => subject).sort(), { timeout: 60_000 })
      .toEqual([...subjects].sort());

  let count = 0;
  /** Creates a user without a known device. */
  const newcomer = async (values: Record<string, unknown> = {}): Promise<{ id: string; email: string }> => {
    const email = `newcomer-${++count}@example.com`;
    const service = app.service('user') as { create(values: object): Promise<{ id: string }> };
    const { id } = await service.create({ name: 'Newcomer', email, password: PASSWORD, ...values });
    return { id, email };
  };
  return { ...started, database, events, signIn, mailsTo, devicesOf, untilDevices, untilSubjects, newcomer, headersOf };
}
