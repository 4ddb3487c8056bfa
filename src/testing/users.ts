import { randomBytes } from 'node:crypto';
import type { StoredRecord } from '../declare/host.ts';
import type { AssembledApp } from '../runtime/assemble.ts';
import { createTestApi, type TestApi } from './api.ts';
import type { RecordFactory } from './factories/create-records.ts';

/** A user with a session. */
export interface TestUser<User = StoredRecord> {
  id: string;
  email: string;
  /** The token of the session. */
  token: string;
  /** Sends requests as this user. */
  api: TestApi;
  /** The user's record when they signed in. */
  user: User;
  /** Registers a device of the user, so that the user receives pushes. */
  addDevice(device?: TestDevice): Promise<{ id: string }>;
}

/** A device for pushes. No push leaves the machine: without a transport, pushes are captured. */
export interface TestDevice {
  /** Default: `ios`. */
  platform?: 'ios' | 'android';
  /** Such as `de-DE`. */
  locale?: string;
}

type Values = Readonly<Record<string, unknown>>;

/** The client of the sessions that tests start without a login. */
const TEST_CLIENT = { ip: '127.0.0.1', socket: {}, headers: { 'user-agent': 'belfry/testing' } };

async function registerDevice(api: TestApi, { platform = 'ios', ...device }: TestDevice = {}): Promise<{ id: string }> {
  const token = randomBytes(32).toString('hex');
  const { status, body } = await api.post('/api/auth/devices', { platform, token, ...device });
  if (status >= 300) throw new Error(`addDevice: ${status} ${JSON.stringify(body)}`);
  return body.data;
}

let userCount = 0;

/** Fills in the name and the e-mail address, so that a user is recognizable in the output of a test. */
function nameUser(values: Values, hasName: boolean): Values {
  const { name = 'Test user', email } = values;
  userCount += 1;
  const local =
    String(name)
      .toLowerCase()
      .replaceAll(/[^a-z0-9]+/g, '-')
      .replaceAll(/^-|-$/g, '') || 'user';
  return { ...values, ...(hasName && { name }), email: email ?? `${local}-${userCount}@example.com` };
}

/**
 * Creates the function that signs in users. It uses no login: the session starts without a password, second factor or rate limit.
 *
 * @param url the address of the app
 */
export function createSignIn({ host, startSession }: AssembledApp, factory: RecordFactory, url: string) {
  /** @param who the values of a new user, or the id of an existing one */
  return async function signInAs(who: Values | string = {}): Promise<TestUser> {
    if (host.users === undefined || startSession === undefined)
      throw new Error('signInAs needs accounts: add defineUser() to the resources of the app');
    const hasName = 'name' in host.users.declaration.fields;
    const user =
      typeof who === 'string'
        ? (await host.users.load([who]))[0]
        : await factory.create('user', nameUser(who, hasName));
    if (user === undefined) throw new Error(`signInAs: there is no user with the id "${who}"`);
    const session = await startSession(user.id, TEST_CLIENT);
    if (session === undefined) throw new Error(`signInAs: the user "${user.id}" was deleted`);
    const { token } = session;
    const api = createTestApi(url, token);
    const addDevice = (device?: TestDevice) => registerDevice(api, device);
    return { id: user.id, email: String(user.email), token, api, user, addDevice };
  };
}
