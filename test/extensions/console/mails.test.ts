import { expect, test } from 'vitest';
import { adminConsole, defineMail, defineUser } from '../../../src/index.ts';
import { ACCOUNT_TEXTS } from '../../../src/platform/mail/texts/account-texts.ts';
import { NOTICE_TEXTS } from '../../../src/platform/mail/texts/notice-texts.ts';
import { startTestApp } from '../../support/app.ts';

const { app, url, call } = await startTestApp(
  {
    resources: [defineUser()],
    extensions: [adminConsole()],
    mailTexts: {
      'verify-email': {
        de: ({ code }) => ({
          subject: 'Adresse bestätigen',
          text: `Code: ${code}`,
          html: `<b>${code}</b><script>x</script>`,
        }),
        fr: () => {
          throw new Error('no French yet');
        },
        it: () => ({ subject: 'Due\nrighe', text: '' }),
      },
    },
    mails: [
      defineMail('digest', {
        description: 'The news of the week',
        texts: {
          de: () => ({
            subject: 'Neuigkeiten',
            text: 'Lies https://example.com/news?a=1&b=2.',
            html: `<a href="https://example.com/news?a=1&amp;b=2">x</a><a href="http://example.com/more">y</a>
              <a href="javascript:alert(1)">z</a><a href="mailto:ada@example.com">m</a><a href="/relative">r</a>`,
          }),
        },
      }),
    ],
    settings: {
      mail: { templates: { passwordReset: ({ minutes }) => ({ subject: 'Own reset', text: `${minutes}` }) } },
    },
  },
  { roles: 'all', env: () => ({ APP_URL: 'https://dev.example.com' }) },
);
const PAGE = '/console/api/mails';

test('the page may show frames of its own only, and images by https', async () => {
  const policy = (await fetch(`${url}/console/mails`)).headers.get('content-security-policy')!.split('; ');
  expect(policy).toEqual(
    expect.arrayContaining([
      "default-src 'none'",
      "frame-src 'self'",
      "img-src 'self' data: https:",
      "style-src 'self'",
    ]),
  );
  expect(policy.join()).not.toContain('unsafe');
});

test('all e-mails are listed with their descriptions and locales', async () => {
  const { body } = await call('GET', `${PAGE}/texts`);
  const kinds = body.data.map(({ kind }: { kind: string }) => kind);
  expect(kinds.sort()).toEqual(['digest', ...Object.keys(ACCOUNT_TEXTS), ...Object.keys(NOTICE_TEXTS)].sort());
  expect(body.data).toContainEqual({
    kind: 'digest',
    description: 'The news of the week',
    origin: 'project',
    locales: ['de'],
  });
  expect(body.data.find(({ kind }: { kind: string }) => kind === 'new-device').origin).toBe('built-in');
  expect(body.data).toContainEqual({
    kind: 'verify-email',
    description: 'Sent after a registration, and when the user requests it',
    origin: 'replaced',
    locales: ['en', 'de', 'fr', 'it'],
  });
});

test('an e-mail is shown with example values, in each locale', async () => {
  const english = await call('GET', `${PAGE}/texts/verify-email/en`);
  expect(english.body.data).toMatchObject({ subject: 'Verify your e-mail address', to: 'ada@example.com' });
  expect(english.headers.get('cache-control')).toBe('no-store');
  const german = await call('GET', `${PAGE}/texts/verify-email/de`);
  expect(german.body.data).toEqual({
    to: 'ada@example.com',
    subject: 'Adresse bestätigen',
    text: 'Code: 482913',
    html: '<b>482913</b><script>x</script>',
    links: [],
  });
});

test('the links of an e-mail are those of its text and of its HTML, and only web addresses', async () => {
  const { body } = await call('GET', `${PAGE}/texts/digest/de`);
  expect(body.data.links).toEqual(['https://example.com/news?a=1&b=2', 'http://example.com/more']);
});

test('the setting mail.templates.passwordReset is shown like other texts', async () => {
  expect((await call('GET', `${PAGE}/texts/password-reset/en`)).body.data).toMatchObject({ subject: 'Own reset' });
});

test('the HTML of an e-mail is served so that it can run no script and load no page, even outside of the frame', async () => {
  const response = await fetch(`${url}${PAGE}/texts/verify-email/de/html`);
  expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
  const policy = response.headers.get('content-security-policy')!.split('; ');
  expect(policy).toEqual(
    expect.arrayContaining(["default-src 'none'", "form-action 'none'", "frame-ancestors 'self'", 'sandbox']),
  );
  expect(policy.join()).not.toContain('script-src');
  expect(response.headers.get('cache-control')).toBe('no-store');
  expect(await response.text()).toContain('<b>482913</b>');
});

test.each([
  ['fr', 'The text of verify-email in fr threw Error: no French yet', undefined],
  [
    'it',
    'The text of verify-email in it returned an invalid e-mail',
    { subject: 'Must be a single line', text: 'Is required' },
  ],
])('a text that does not work responds 422 and says why: %s', async (locale, message, details) => {
  for (const below of ['', '/html']) {
    const { status, body } = await call('GET', `${PAGE}/texts/verify-email/${locale}${below}`);
    expect([status, body.error.message, body.error.details]).toEqual([422, message, details]);
  }
});

test.each([
  'texts/nope/en',
  'texts/verify-email/es',
  'texts/toString/en',
  'captured/nope',
  'captured/nope/html',
  'nope',
])('an unknown e-mail or locale responds 404: %s', async (path) => {
  expect((await call('GET', `${PAGE}/${path}`)).status).toBe(404);
});

test('captured e-mails are listed, newest first, found by a part of the recipient, and can be read', async () => {
  const captured = async (query = '') => (await call('GET', `${PAGE}/captured${query}`)).body.data;
  expect(await captured()).toEqual([]);
  await app.mail.send({ to: 'ann@example.com', subject: 'First', text: 'One <b>' });
  await expect.poll(() => captured(), { timeout: 60_000 }).toHaveLength(1);
  await app.mail.send({ to: 'ben_x@example.com', subject: 'Second', text: 'Two' });
  await expect
    .poll(() => captured(), { timeout: 60_000 })
    .toMatchObject([{ to: 'ben_x@example.com', subject: 'Second' }, { subject: 'First' }]);
  const [, { id, createdAt }] = await captured();
  expect(await captured('?recipient=ANN@')).toEqual([
    { id, to: 'ann@example.com', subject: 'First', kind: null, createdAt },
  ]);
  expect(await captured('?recipient=BEN_X')).toHaveLength(1);
  expect(await captured('?recipient=an_')).toEqual([]);
  expect((await call('GET', `${PAGE}/captured/${id}`)).body.data).toEqual({
    id,
    to: 'ann@example.com',
    subject: 'First',
    text: 'One <b>',
    html: '<p>One &lt;b&gt;</p>',
    kind: null,
    createdAt,
    links: [],
  });
  expect(await (await fetch(`${url}${PAGE}/captured/${id}/html`)).text()).toContain('<p>One &lt;b&gt;</p>');
  const dark = await fetch(`${url}${PAGE}/captured/${id}/html?scheme=dark`);
  expect(await dark.text()).toContain('<meta name="color-scheme" content="dark">');
});

test('a long list of captured e-mails has pages', async () => {
  for (let i = 1; i <= 51; i++) await app.mail.send({ to: 'many@example.com', subject: `No. ${i}`, text: 'x' });
  const first = () => call('GET', `${PAGE}/captured?recipient=many`);
  await expect.poll(async () => (await first()).body.meta.next, { timeout: 60_000 }).toEqual(expect.any(String));
  const { data, meta } = (await first()).body;
  expect([data.length, data[0].subject, meta.limit]).toEqual([50, 'No. 51', 50]);
  const second = (await call('GET', `${PAGE}/captured?recipient=many&after=${meta.next}`)).body;
  expect([second.data.map(({ subject }: { subject: string }) => subject), second.meta.next]).toEqual([['No. 1'], null]);
});

test.each([
  ['captured?after=nope', 400],
  ['captured?recipient=%00', 400],
  ['captured?limit=5', 400],
  ['texts/verify-email/en/html?scheme=red', 400],
])('an invalid query is refused: %s', async (path, status) => {
  expect((await call('GET', `${PAGE}/${path}`)).status).toBe(status);
});
