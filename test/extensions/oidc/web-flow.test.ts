import { Client } from 'pg';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { defineUser, oidc } from '../../../src/index.ts';
import { startFakeProvider } from '../../fakes/oidc-provider.ts';
import { readContract } from '../../runtime/openapi/contract.ts';
import { createClient, startTestApp } from '../../support/app.ts';
import { APP_URL, challengeOf, createBrowser, newVerifier, PAGE, signInWith } from './oidc-browser.ts';

const acme = await startFakeProvider();
const other = await startFakeProvider();
const events: [string, Record<string, unknown>][] = [];
const options = (fake: typeof acme) => ({
  name: 'Acme',
  issuer: fake.issuer,
  clientId: fake.clientId,
  clientSecret: fake.clientSecret,
});
const OTHER_PAGE = 'https://app.example.com/settings?tab=sign-in';
const { call, url, env, person } = await startTestApp(
  {
    resources: [defineUser()],
    extensions: [
      oidc({
        providers: {
          acme: options(acme),
          other: options(other),
          posted: { ...options(acme), icon: 'gitlab', responseMode: 'form_post' },
        },
        redirectUrls: [PAGE, OTHER_PAGE],
      }),
    ],
    listeners: (app) => {
      for (const name of ['auth.login', 'auth.registered', 'security.oidc_failed', 'security.identity_linked'])
        app.on(name, (payload: Record<string, unknown>) => void events.push([name, payload]));
    },
  },
  { roles: 'all', env: () => ({ APP_URL }) },
);
const database = new Client({ connectionString: env.DATABASE_URL! });
await database.connect();
afterAll(() => database.end());

let account = 0;
beforeEach(() => {
  account += 1;
  events.length = 0;
  const claims = { sub: `sub-${account}`, email: `user-${account}@example.com`, email_verified: true, name: 'Ada' };
  acme.behave({ claims });
  other.behave({ claims });
});

const exchange = (code: string | null, codeVerifier: string) =>
  call('POST', '/api/auth/oidc/exchange', { code, codeVerifier });
const errorOf = (page: URL) => page.searchParams.get('error');
const sessions = async () => (await database.query('select count(*)::int as n from sessions')).rows[0].n;

test('a user signs in at a provider and returns with a code that the front end exchanges for a session', async () => {
  const browser = createBrowser(url);
  const verifier = newVerifier();
  const authorization = await browser.start('acme', { verifier });
  expect(Object.fromEntries(authorization.searchParams)).toEqual({
    client_id: acme.clientId,
    redirect_uri: `${APP_URL}/api/auth/oidc/acme/callback`,
    response_type: 'code',
    scope: 'openid email profile',
    state: expect.stringMatching(/^[\w-]{43}$/),
    nonce: expect.stringMatching(/^[\w-]{43}$/),
    code_challenge: expect.stringMatching(/^[\w-]{43}$/),
    code_challenge_method: 'S256',
  });
  expect(browser.lastSetCookie()).toMatch(
    /^__Host-oidc=[\w-]{43}; Path=\/; Max-Age=600; HttpOnly; SameSite=Lax; Secure$/,
  );
  const page = await browser.follow(await browser.follow(authorization));
  expect(page.href).toMatch(new RegExp(`^${PAGE}\\?code=[\\w-]{43}$`));
  expect(events).toEqual([]);

  const { status, headers, body } = await exchange(page.searchParams.get('code'), verifier);
  expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
  expect(body.data).toMatchObject({
    user: { name: 'Ada', email: `user-${account}@example.com` },
    token: expect.any(String),
  });
  const me = createClient(url, body.data.token);
  expect((await me('GET', '/api/auth/me')).body.data.emailVerifiedAt).toEqual(expect.any(String));
  expect((await me('GET', '/api/auth/sign-in-methods')).body.data).toEqual(['oidc:acme']);
  expect(events.map(([name]) => name)).toEqual(['auth.registered', 'auth.login']);
  expect(events[1]![1]).toMatchObject({ method: 'oidc:acme' });
});

test('the same account at the provider is the same user, whatever its address is now', async () => {
  const first = await signInWith(url, call, 'acme');
  acme.behave({ claims: { sub: `sub-${account}`, email: 'changed@example.com', email_verified: true } });
  const second = await signInWith(url, call, 'acme');
  expect(second.body.data.user).toMatchObject({ id: first.body.data.user.id, email: `user-${account}@example.com` });
});

test('the list of providers is public', async () => {
  expect((await call('GET', '/api/auth/oidc')).body.data).toEqual([
    { provider: 'acme', name: 'Acme' },
    { provider: 'other', name: 'Acme' },
    { provider: 'posted', name: 'Acme', icon: 'gitlab' },
  ]);
});

test('an unknown provider is not found', async () => {
  const challenge = challengeOf(newVerifier());
  expect((await call('GET', `/api/auth/oidc/nobody/start?codeChallenge=${challenge}`)).status).toBe(404);
  expect((await call('GET', '/api/auth/oidc/nobody/callback?code=a&state=b')).status).toBe(404);
  expect((await call('POST', '/api/auth/oidc/nobody/nonce')).status).toBe(404);
});

test('the user returns only to a listed page, exactly as it is listed', async () => {
  const challenge = challengeOf(newVerifier());
  const refused = [
    'https://evil.example',
    `${PAGE}/`,
    `${PAGE}?next=https://evil.example`,
    `${PAGE}#fragment`,
    `${PAGE}.evil.example`,
    'https://app.example.com',
    'https://app.example.com/auth/callback/../../evil',
    'https://app.example.com/auth/%63allback',
    'https://APP.example.com/auth/callback',
    'https://app.example.com:443/auth/callback',
    'https://app.example.com@evil.example/auth/callback',
    'https://evil.example/https://app.example.com/auth/callback',
    'https://app.example.com.evil.example/auth/callback',
    'http://app.example.com/auth/callback',
    '//app.example.com/auth/callback',
    '/auth/callback',
    '\\\\evil.example',
    'javascript:alert(1)',
    'data:text/html,x',
    ` ${PAGE}`,
    `${PAGE}\n`,
    `${PAGE}%00`,
    `${PAGE}\u0000`,
    'https://app.example.com/settings',
    `${OTHER_PAGE}&x=1`,
    '',
  ];
  const answers = await Promise.all(
    refused.map(async (redirectUrl) => {
      const query = new URLSearchParams({ codeChallenge: challenge, redirectUrl });
      const { status, headers } = await call('GET', `/api/auth/oidc/acme/start?${query}`);
      return [redirectUrl, status < 300 || headers.has('location'), status >= 400 && status < 500];
    }),
  );
  expect(answers).toEqual(refused.map((redirectUrl) => [redirectUrl, false, true]));
  const twice = `redirectUrl=${encodeURIComponent(PAGE)}&redirectUrl=${encodeURIComponent('https://evil.example')}`;
  expect((await call('GET', `/api/auth/oidc/acme/start?codeChallenge=${challenge}&${twice}`)).status).toBe(400);
});

test('a listed page keeps its own query', async () => {
  const browser = createBrowser(url);
  const page = await browser.follow(await browser.follow(await browser.start('acme', { redirectUrl: OTHER_PAGE })));
  expect(page.href).toMatch(/^https:\/\/app\.example\.com\/settings\?tab=sign-in&code=[\w-]{43}$/);
});

test('a sign-in without a code challenge, or with a malformed one, does not start', async () => {
  for (const query of ['', '?codeChallenge=', '?codeChallenge=abc', `?codeChallenge=${'='.repeat(43)}`])
    expect((await call('GET', `/api/auth/oidc/acme/start${query}`)).status).toBe(400);
});

test('a callback works once, however many requests send it at the same time', async () => {
  const browser = createBrowser(url);
  const callback = await browser.follow(await browser.start('acme'));
  const pages = await Promise.all(Array.from({ length: 8 }, () => browser.follow(callback)));
  expect(pages.filter((page) => page.searchParams.has('code'))).toHaveLength(1);
  expect(pages.filter((page) => errorOf(page) === 'sign_in_expired')).toHaveLength(7);
});

test('a code works once, however many requests use it at the same time', async () => {
  const verifier = newVerifier();
  const page = await createBrowser(url).signIn('acme', verifier);
  const before = await sessions();
  const code = page.searchParams.get('code');
  const answers = await Promise.all(Array.from({ length: 8 }, () => exchange(code, verifier)));
  expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array(7).fill(401)]);
  expect(await sessions()).toBe(before + 1);
});

test('a callback without the cookie of the browser that started is refused, and does not use up the sign-in', async () => {
  const browser = createBrowser(url);
  const callback = await browser.follow(await browser.start('acme'));
  expect(errorOf(await createBrowser(url).follow(callback))).toBe('sign_in_expired');
  const stranger = createBrowser(url);
  await stranger.start('acme');
  expect(errorOf(await stranger.follow(callback))).toBe('sign_in_expired');
  expect((await browser.follow(callback)).searchParams.has('code')).toBe(true);
});

test('an attacker cannot sign a victim in to the account of the attacker', async () => {
  // The attacker stops before the callback and lets the browser of the victim open it.
  const attacker = createBrowser(url);
  const callback = await attacker.follow(await attacker.start('acme'));
  const victim = createBrowser(url);
  await victim.start('acme');
  expect(errorOf(await victim.follow(callback))).toBe('sign_in_expired');
  // A code that the attacker got is useless to the page of the victim, which has another verifier.
  const code = (await attacker.follow(callback)).searchParams.get('code');
  expect((await exchange(code, newVerifier())).status).toBe(401);
});

test('a code without its verifier is useless, and stays valid for the page that has it', async () => {
  const verifier = newVerifier();
  const code = (await createBrowser(url).signIn('acme', verifier)).searchParams.get('code');
  for (const wrong of [newVerifier(), challengeOf(verifier), `${verifier}x`])
    expect((await exchange(code, wrong)).status).toBe(401);
  expect((await call('POST', '/api/auth/oidc/exchange', { code })).status).toBe(422);
  expect((await exchange(code, '')).status).toBe(422);
  expect((await exchange(code, verifier)).status).toBe(200);
});

test('an expired sign-in and an expired code are refused', async () => {
  const browser = createBrowser(url);
  const callback = await browser.follow(await browser.start('acme'));
  await database.query(`update oidc_flows set expires_at = now() - interval '1 minute'`);
  expect(errorOf(await browser.follow(callback))).toBe('sign_in_expired');
  const verifier = newVerifier();
  const code = (await browser.signIn('acme', verifier)).searchParams.get('code');
  const left = await database.query('select extract(epoch from expires_at - now())::float8 as s from oidc_codes');
  for (const { s } of left.rows) expect(Math.round(s)).toBeLessThanOrEqual(60);
  await database.query(`update oidc_codes set expires_at = now() - interval '1 minute'`);
  expect((await exchange(code, verifier)).status).toBe(401);
});

test('unknown, missing, repeated and malformed states are refused', async () => {
  const browser = createBrowser(url);
  const callback = await browser.follow(await browser.start('acme'));
  const variants: ((state: string) => string)[] = [
    () => '',
    () => '&state=',
    () => `&state=${newVerifier()}`,
    (state) => `&state=${state}&state=${state}`,
    (state) => `&state=${state.slice(1)}`,
    (state) => `&state=${state}%00`,
    () => `&state=${'x'.repeat(5000)}`,
  ];
  for (const variant of variants) {
    const query = variant(callback.searchParams.get('state')!);
    expect(errorOf(await browser.follow(`${APP_URL}/api/auth/oidc/acme/callback?code=x${query}`))).toBe(
      'sign_in_expired',
    );
  }
  expect((await browser.follow(callback)).searchParams.has('code')).toBe(true);
});

test('a response of one provider at the callback of another is refused', async () => {
  const browser = createBrowser(url);
  const callback = await browser.follow(await browser.start('acme'));
  const mixed = new URL(callback);
  mixed.pathname = '/api/auth/oidc/other/callback';
  expect(errorOf(await browser.follow(mixed))).toBe('sign_in_expired');
  expect(other.requests).not.toContain('POST /token');
});

test.each([
  ['of another provider', { iss: other.issuer }],
  ['missing, although the provider supports it', { iss: undefined }],
])('a response is refused if its issuer is %s, and the code is not sent to the provider', async (_, callback) => {
  acme.behave({ claims: { sub: 'mixed' }, callback });
  const before = acme.requests.filter((path) => path === 'POST /token').length;
  const page = await createBrowser(url).signIn('acme', newVerifier());
  expect(errorOf(page)).toBe('provider_error');
  expect(acme.requests.filter((path) => path === 'POST /token')).toHaveLength(before);
  expect(events).toContainEqual(['security.oidc_failed', { provider: 'acme', ip: expect.any(String) }]);
});

test('an error of the provider returns to the page, and one that is no error code is replaced', async () => {
  acme.behave({ callback: { code: undefined, error: 'access_denied', error_description: 'no' } });
  const page = await createBrowser(url).signIn('acme', newVerifier());
  expect(page.href).toBe(`${PAGE}?error=access_denied&provider=acme`);
  expect(events).toEqual([]);
  acme.behave({ callback: { code: undefined, error: '<script>' } });
  expect(errorOf(await createBrowser(url).signIn('acme', newVerifier()))).toBe('provider_error');
});

test('two tabs of one browser can sign in at the same time', async () => {
  const browser = createBrowser(url);
  const verifiers = [newVerifier(), newVerifier()] as const;
  const first = await browser.start('acme', { verifier: verifiers[0] });
  const second = await browser.start('acme', { verifier: verifiers[1] });
  for (const name of ['state', 'nonce', 'code_challenge'])
    expect(first.searchParams.get(name)).not.toBe(second.searchParams.get(name));
  const callbacks = [await browser.follow(first), await browser.follow(second)] as const;
  const pages = await Promise.all(callbacks.map((callback) => browser.follow(callback)));
  const answers = await Promise.all(
    pages.map((page, i) => exchange(page.searchParams.get('code'), verifiers[i as 0 | 1])),
  );
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  expect(new Set(answers.map(({ body }) => body.data.user.id)).size).toBe(1);
});

test('a provider that posts a form gets a cookie that is sent with it, and needs it', async () => {
  const browser = createBrowser(url);
  const verifier = newVerifier();
  const authorization = await browser.start('posted', { verifier });
  expect(authorization.searchParams.get('response_mode')).toBe('form_post');
  expect(browser.lastSetCookie()).toMatch(/^__Host-oidc-form=[\w-]{43}; .*HttpOnly; SameSite=None; Secure$/);
  const callback = await browser.follow(authorization);
  const post = (from: typeof browser, parameters: URLSearchParams) =>
    from.follow(`${APP_URL}/api/auth/oidc/posted/callback`, { method: 'POST', body: parameters });
  expect(errorOf(await post(createBrowser(url), callback.searchParams))).toBe('sign_in_expired');
  expect(errorOf(await browser.follow(callback))).toBe('sign_in_expired');
  const named = new URLSearchParams(callback.searchParams);
  named.set('user', JSON.stringify({ name: { firstName: 'Grace', lastName: 'Hopper' }, email: 'evil@example.com' }));
  acme.behave({ claims: { sub: `sub-${account}`, email: `user-${account}@example.com`, email_verified: true } });
  const page = await post(browser, named);
  const { body } = await exchange(page.searchParams.get('code'), verifier);
  expect(body.data.user).toMatchObject({ name: 'Grace Hopper', email: `user-${account}@example.com` });
  expect(errorOf(await post(browser, named))).toBe('sign_in_expired');
});

test('a malformed or large form is refused', async () => {
  const post = (body: string, type = 'application/x-www-form-urlencoded') =>
    createBrowser(url).open(`${APP_URL}/api/auth/oidc/posted/callback`, {
      method: 'POST',
      body,
      headers: { 'content-type': type },
    });
  expect((await post(`state=${'x'.repeat(100_000)}`)).status).toBe(400);
  expect((await post('a=1&'.repeat(60))).status).toBe(400);
  expect((await post('state=%')).status).toBe(303);
  expect((await post('state[a]=1&__proto__=2')).status).toBe(303);
  expect((await post('{"state":"x"}', 'application/json')).status).toBe(303);
});

test('a provider without form posts accepts none', async () => {
  const browser = createBrowser(url);
  const callback = await browser.follow(await browser.start('acme'));
  const init = { method: 'POST', body: callback.searchParams };
  expect(errorOf(await browser.follow(`${APP_URL}/api/auth/oidc/acme/callback`, init))).toBe('sign_in_expired');
});

test('neither states, cookies, codes, nor claims are readable in the database', async () => {
  const browser = createBrowser(url);
  const verifier = newVerifier();
  const authorization = await browser.start('acme', { verifier });
  const dump = async (table: string) => JSON.stringify((await database.query(`select * from ${table}`)).rows);
  const flows = await dump('oidc_flows');
  const cookie = browser.cookies().split('=')[1]!;
  for (const secret of [cookie, verifier, ...['state', 'nonce'].map((name) => authorization.searchParams.get(name)!)])
    expect(flows).not.toContain(secret);
  const page = await browser.follow(await browser.follow(authorization));
  const codes = await dump('oidc_codes');
  for (const secret of [page.searchParams.get('code')!, verifier, `user-${account}@example.com`])
    expect(codes).not.toContain(secret);
});

test('a signed-in user links an account at a provider, and can then sign in with it', async () => {
  const ada = await person('Ada');
  const browser = createBrowser(url);
  const verifier = newVerifier();
  const body = { codeChallenge: challengeOf(verifier), redirectUrl: OTHER_PAGE };
  const { data } = (await ada.call('POST', '/api/auth/oidc/acme/link', body)).body;
  expect(data).toEqual({
    url: expect.stringContaining(`${APP_URL}/api/auth/oidc/acme/link?ticket=`),
    expiresAt: expect.any(String),
  });
  const page = await browser.follow(await browser.follow(await browser.follow(data.url)));
  expect(page.href).toMatch(/settings\?tab=sign-in&code=/);
  const code = page.searchParams.get('code');
  expect((await browser.open(data.url)).status).toBe(400);

  // Neither another user, another provider, the exchange for a sign-in, nor another verifier can use the code.
  const eve = await person('Eve');
  const complete = (client: typeof call, given: object, provider = 'acme') =>
    client('POST', `/api/auth/oidc/${provider}/link/complete`, given);
  const right = { code, codeVerifier: verifier };
  expect((await complete(eve.call, right)).status).toBe(401);
  expect((await complete(ada.call, right, 'other')).status).toBe(401);
  expect((await complete(ada.call, { code, codeVerifier: newVerifier() })).status).toBe(401);
  expect((await complete(call, right)).status).toBe(401);
  expect((await exchange(code, verifier)).status).toBe(401);
  expect((await complete(ada.call, right)).status).toBe(204);
  expect((await complete(ada.call, right)).status).toBe(401);
  expect(events).toContainEqual([
    'security.identity_linked',
    expect.objectContaining({ userId: ada.id, provider: 'acme' }),
  ]);
  expect((await signInWith(url, call, 'acme')).body.data.user.id).toBe(ada.id);
});

test('an account at a provider that another user has linked cannot be linked', async () => {
  const owner = (await signInWith(url, call, 'acme')).body.data.user;
  const eve = await person('Eve');
  const browser = createBrowser(url);
  const verifier = newVerifier();
  const started = await eve.call('POST', '/api/auth/oidc/acme/link', { codeChallenge: challengeOf(verifier) });
  const page = await browser.follow(await browser.follow(await browser.follow(started.body.data.url)));
  const body = { code: page.searchParams.get('code'), codeVerifier: verifier };
  expect((await eve.call('POST', '/api/auth/oidc/acme/link/complete', body)).status).toBe(409);
  expect((await signInWith(url, call, 'acme')).body.data.user.id).toBe(owner.id);
});

test('linking requires a recent sign-in', async () => {
  const ada = await person('Ada');
  await database.query(
    `update sessions set authenticated_at = now() - interval '2 hours', created_at = now() - interval '2 hours' where user_id = $1`,
    [ada.id],
  );
  const body = { codeChallenge: challengeOf(newVerifier()) };
  const { status, body: answer } = await ada.call('POST', '/api/auth/oidc/acme/link', body);
  expect([status, answer.error.code]).toEqual([403, 'RECENT_SIGN_IN_REQUIRED']);
  expect((await call('POST', '/api/auth/oidc/acme/link', body)).status).toBe(401);
});

test.each([
  ['the given and the family name', { given_name: ' Ada ', family_name: 'Lovelace' }, {}, 'Ada Lovelace'],
  ['only a family name', { family_name: 'Lovelace' }, {}, 'Lovelace'],
  ['a name before its parts', { name: 'Countess', given_name: 'Ada', family_name: 'Lovelace' }, {}, 'Countess'],
  ['parts that are no texts', { given_name: 7, family_name: ['x'] }, { name: 'Ada' }, 'Ada'],
  ['a name that only UserInfo has', {}, { name: 'Ada Lovelace' }, 'Ada Lovelace'],
  ['parts of a name that only UserInfo has', { name: '  ' }, { given_name: 'Ada', family_name: 'L.' }, 'Ada L.'],
  ['no name, and UserInfo of another account', {}, { sub: 'another', name: 'Eve' }, /^user-\d+$/],
])('a new user gets %s', async (_, claims, userInfo, name) => {
  const email = `user-${account}@example.com`;
  const token = { sub: `sub-${account}`, email, email_verified: true, name: undefined, ...claims };
  // The address of the ID token counts, also if UserInfo is read for the name.
  acme.behave({ claims: token, userInfo: { sub: token.sub, email: 'other@example.com', ...userInfo } });
  const { user } = (await signInWith(url, call, 'acme')).body.data;
  expect([user.name, user.email]).toEqual([typeof name === 'string' ? name : expect.stringMatching(name), email]);
});

test('the OpenAPI document describes the responses', async () => {
  const contract = await readContract(url);
  const ada = await person('Ada');
  const codeChallenge = challengeOf(newVerifier());
  contract.check('listSignInProviders', await call('GET', '/api/auth/oidc'));
  contract.check('createSignInNonce', await call('POST', '/api/auth/oidc/acme/nonce'));
  contract.check('createSignInNonce', await call('POST', '/api/auth/oidc/nobody/nonce'));
  contract.check('exchangeSignInCode', await signInWith(url, call, 'acme'));
  contract.check('exchangeSignInCode', await exchange('x', newVerifier()));
  contract.check('exchangeSignInCode', await call('POST', '/api/auth/oidc/exchange', {}));
  contract.check('linkIdentity', await ada.call('POST', '/api/auth/oidc/acme/link', { codeChallenge }));
  const token = await call('POST', '/api/auth/oidc/acme/token', { idToken: 'a.b.c', nonce: 'x' });
  contract.check('signInWithIdToken', token);
});
