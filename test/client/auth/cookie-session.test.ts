import { expect, onTestFinished, test } from 'vitest';
import { cookieSession, cookieStorage, createClient, memoryStorage } from '../../../packages/client/src/index.ts';
import { ORIGIN, OWN_PAGE, PASSWORD, startCookieApp } from './cookie-browser.ts';

const { url, person, createBrowser, sendTo, signedIn } = await startCookieApp();

test('the token of a sign-in is in the cookie alone, and requests of pages are sent with it until the sign-out', async () => {
  const { browser, tab, id, content, sessionId } = await signedIn('Ada');
  expect(tab.auth.session).toMatchObject({ user: { id }, token: undefined, expiresAt: expect.any(String) });
  const [token] = content.split('.') as [string];
  expect(token).toMatch(/^svc_[0-9a-f]{64}$/);
  const cookie = browser.responses.at(-1)!.headers.getSetCookie();
  expect(cookie).toEqual([
    expect.stringMatching(/^__Host-belfry=svc_\w+\.\d+; Max-Age=\d+; Path=\/; HttpOnly; SameSite=Lax; Secure$/),
  ]);
  expect(Number(/Max-Age=(\d+)/.exec(cookie[0]!)![1])).toBeGreaterThan(29 * 86_400);
  expect(sessionId).toMatch(/^sid_[0-9a-f]{32}$/);

  const created = (await tab.resource('notes').create({ text: 'Bells' })) as { id: string };
  expect(await tab.resource('notes').get(created.id)).toMatchObject({ text: 'Bells', author: id });
  for (const { text } of browser.responses) expect(text).not.toContain(token);

  await tab.auth.signOut();
  expect([tab.auth.session, browser.jar.size]).toEqual([undefined, 0]);
  await expect(createClient({ url, token }).request({ method: 'GET', path: '/auth/me' })).rejects.toMatchObject({
    status: 401,
  });
});

test('a page that is loaded again, and another tab, find the session of the cookie', async () => {
  const { browser, id } = await signedIn('Ada');
  const tab = browser.openTab();
  expect(await tab.auth.ready()).toMatchObject({ user: { id }, token: undefined });
  expect((await tab.resource('notes').list()).data).toEqual([]);
  expect(await createBrowser().openTab().auth.ready()).toBeUndefined();
});

test('realtime events reach the page through the handler, as they happen', async () => {
  const { tab } = await signedIn('Ada');
  const log: string[] = [];
  const stop = tab.resource('notes').subscribe(
    {},
    {
      onReady: () => log.push('ready'),
      onEvent: ({ type, data }) => log.push(`${type} ${(data as { text?: string } | undefined)?.text}`),
    },
  );
  onTestFinished(stop);
  await expect.poll(() => log).toEqual(['ready']);
  await tab.resource('notes').create({ text: 'Bells' });
  await expect.poll(() => log).toEqual(['ready', 'created Bells']);
});

test('a page that cannot reach its server gets the usual error, and finds the session later', async () => {
  const { browser, id } = await signedIn('Ada');
  let isOffline = true;
  const send: typeof fetch = (target, init) =>
    isOffline ? Promise.reject(new TypeError('offline')) : browser.pageFetch(target, init);
  const storage = cookieStorage({ url: ORIGIN, fetch: send });
  const { auth, request } = createClient({ url: ORIGIN, fetch: send, retries: 0, storage });
  await expect(auth.ready()).rejects.toMatchObject({ status: 0, code: 'NETWORK_ERROR' });
  await expect(request({ method: 'GET', path: '/notes' })).rejects.toMatchObject({ status: 0, code: 'NETWORK_ERROR' });
  isOffline = false;
  expect(await auth.ready()).toMatchObject({ user: { id } });
});

test('a request of a tab whose user has been replaced in the cookie is not sent for the new user', async () => {
  const { browser, tab } = await signedIn('Ada');
  const bob = await person('Bob');
  await browser.openTab().auth.signIn({ email: bob.email, password: PASSWORD });
  await expect(tab.resource('notes').create({ text: 'of Ada' })).rejects.toMatchObject({ status: 401 });
  await expect.poll(() => tab.auth.session?.user.id).toBe(bob.id);
  expect((await tab.resource('notes').list()).data).toEqual([]);
});

test('a session that has ended on the server ends in the page, and a sign-in follows', async () => {
  const { browser, tab, call, email } = await signedIn('Ada');
  await call('POST', '/api/auth/logout-all');
  await expect(tab.auth.sessions.list()).rejects.toMatchObject({ status: 401 });
  await expect.poll(() => tab.auth.session).toBeUndefined();
  expect(await browser.openTab().auth.ready()).toBeUndefined();
  expect(await tab.auth.signIn({ email, password: PASSWORD })).toMatchObject({ status: 'signedIn' });
});

test('the API gets the bodies of uploads as they arrive, and an API that cannot be reached is a 503', async () => {
  const { browser, sessionId } = await signedIn('Ada');
  const headers = { ...OWN_PAGE, authorization: `Bearer ${sessionId}`, 'content-type': 'application/json' };
  const body = new Blob(['{"text":', '"streamed"}']).stream();
  const created = await sendTo(browser, '/api/notes', { method: 'POST', headers, body, duplex: 'half' } as object);
  expect((await created.json()) as object).toMatchObject({ data: { text: 'streamed' } });

  const errors: unknown[] = [];
  const offline = createBrowser({ url: 'http://127.0.0.1:9', onError: (error) => errors.push(error) });
  const response = await sendTo(offline, '/api/notes', { headers: OWN_PAGE });
  expect([response.status, await response.json()]).toEqual([
    503,
    { error: { code: 'UNAVAILABLE', message: 'The API cannot be reached', requestId: expect.any(String) } },
  ]);
  expect(errors).toHaveLength(1);
});

test('the sign-in at a provider begins at the API itself', async () => {
  const tab = createBrowser().openTab();
  const start = await tab.auth.oidc.createSignInUrl('acme');
  expect(start).toContain(`${ORIGIN}/api/auth/oidc/acme/start?codeChallenge=`);
  const response = await createBrowser().cookies.handle(
    new Request(start, { headers: { 'sec-fetch-site': 'same-origin', 'sec-fetch-mode': 'navigate' } }),
  );
  expect([response.status, response.headers.get('location')]).toEqual([303, start.replace(ORIGIN, url)]);
});

test('a server renders a page with the session of the cookie, and hands the session on without its token', async () => {
  const { browser, id, sessionId, content } = await signedIn('Ada');
  const request = new Request(`${ORIGIN}/page`, { headers: { cookie: browser.cookieHeader() } });
  const client = createClient({ url, storage: browser.cookies.storage(request) });
  const session = await client.auth.ready();
  expect(session).toMatchObject({ user: { id }, token: content.split('.')[0] });
  const initial = await browser.cookies.toPageSession(session!);
  expect(initial).toEqual({ sessionId, user: session!.user, expiresAt: session!.expiresAt });
  const page = createClient({ url: ORIGIN, storage: cookieStorage({ initial: JSON.parse(JSON.stringify(initial)) }) });
  expect(page.auth.session).toBeUndefined();
  expect(await page.auth.ready()).toMatchObject({ user: { id }, token: undefined });
});

test('a form that a server handles signs in and out with the cookie', async () => {
  const ada = await person('Ada');
  const cookies = cookieSession({ url, origin: ORIGIN });
  const headers = new Headers();
  const request = new Request(`${ORIGIN}/sign-in`, { method: 'POST', headers: OWN_PAGE });
  const foreign = new Request(`${ORIGIN}/sign-in`, { method: 'POST', headers: { origin: 'https://evil.example' } });
  expect([cookies.isOwnPage(request), cookies.isOwnPage(foreign)]).toEqual([true, false]);
  const client = createClient({ url, storage: cookies.storage(request, headers) });
  await client.auth.signIn({ email: ada.email, password: PASSWORD });
  const [cookie] = headers.getSetCookie();
  expect(cookie).toContain(`__Host-belfry=${client.auth.session!.token}.`);
  await client.auth.signOut();
  expect(headers.getSetCookie()[1]).toBe('__Host-belfry=; Max-Age=0; Path=/; HttpOnly; SameSite=Lax; Secure');

  const reading = createClient({ url, storage: cookies.storage(request) });
  await expect(reading.auth.signIn({ email: ada.email, password: PASSWORD })).rejects.toThrow(
    'headers of the response',
  );
});

test('a page that uses cookies without the handler learns what is missing', async () => {
  const ada = await person('Ada');
  const storage = { ...memoryStorage(), hidesToken: true };
  const { auth } = createClient({ url, storage });
  await expect(auth.signIn({ email: ada.email, password: PASSWORD })).rejects.toThrow('handler of cookieSession');
  expect(storage.read()).toBeUndefined();
});
