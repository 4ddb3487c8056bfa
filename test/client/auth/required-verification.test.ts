import { expect, test } from 'vitest';
import {
  type ClientOptions,
  createClient,
  type KeyValueStorage,
  type SignInResult,
} from '../../../src/client/index.ts';
import { defineUser, emailVerification } from '../../../src/index.ts';
import { startTestApp } from '../../support/app.ts';
import { openMailbox } from '../../support/mailbox.ts';

const PASSWORD = 'correct horse battery';
const { app, url } = await startTestApp(
  {
    resources: [defineUser()],
    extensions: [emailVerification({ required: true })],
    settings: { relay: { sweepMs: 50, pollMs: 50 } },
  },
  { roles: 'all' },
);
const newClient = (options: ClientOptions = {}) => createClient({ url, ...options });

/** A storage of texts that two clients share, as two tabs share `localStorage`. */
function createTexts(): KeyValueStorage {
  const texts = new Map<string, string>();
  return {
    getItem: async (key) => texts.get(key) ?? null,
    setItem: async (key, value) => void texts.set(key, value),
    removeItem: async (key) => void texts.delete(key),
  };
}

/** @throws TypeError unless the sign-in waits for a verified address */
function asUnverified<User>(result: SignInResult<User>) {
  if (result.status !== 'emailVerification') throw new TypeError(`The sign-in has the status ${result.status}`);
  return result;
}

test('a registration goes on with the code of the e-mail', async () => {
  const { auth } = newClient();
  const mailbox = openMailbox(app, 'ada@required.example.com');
  const fields = { name: 'Ada', email: 'ada@required.example.com', password: PASSWORD };
  const registered = asUnverified(await auth.register(fields));
  expect(auth.session).toBeUndefined();
  await expect(registered.verify({ code: '000000' })).rejects.toMatchObject({ code: 'INVALID_TOKEN' });
  const { code } = await mailbox.next();
  expect(await registered.verify({ code })).toMatchObject({ status: 'signedIn', user: { name: 'Ada' } });
  expect(auth.session?.user).toMatchObject({ email: 'ada@required.example.com' });
});

test('the link of the e-mail goes on with the registration in another tab of the browser, and nowhere else', async () => {
  const flowStorage = createTexts();
  const mailbox = openMailbox(app, 'bob@required.example.com');
  const fields = { name: 'Bob', email: 'bob@required.example.com', password: PASSWORD };
  await newClient({ flowStorage }).auth.register(fields);
  const { token } = await mailbox.next();
  await expect(newClient().auth.email.verify({ token })).rejects.toMatchObject({ status: 401 });
  const tab = newClient({ flowStorage });
  expect(await tab.auth.email.verify({ token })).toMatchObject({ status: 'signedIn', user: { name: 'Bob' } });
  expect(await flowStorage.getItem('belfry.verificationToken')).toBeNull();
});
