import { expect, test } from 'vitest';
import { en } from '../../../packages/pages/src/tabs/mails/texts.en.ts';
import { adminConsole, defineMail, defineUser } from '../../../src/index.ts';
import { EXAMPLES } from '../../../src/platform/mail/texts/examples.ts';
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
  expect(kinds.sort()).toEqual(['digest', ...Object.keys(EXAMPLES)].sort());
  // The page says in words what each is.
  expect(Object.keys(en.kinds).sort()).toEqual(Object.keys(EXAMPLES).sort());
  expect(body.data).toContainEqual({
    kind: 'digest',
    description: 'The news of the week',
    origin: 'project',
    locales: ['de'],
  });
  expect(body.data.find(({ kind }: { kind: string }) => kind === 'new-device').origin).toBe('built-in');
  expect(body.data).toContainEqual({
    kind: 'verify-email',
    description: '',
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

/** The URL of the frame of an e-mail, as the page gets it. */
async function frameOf(path: string, query = ''): Promise<string> {
  return url + (await call('GET', `${PAGE}/${path}/frame${query}`)).body.data.url;
}
const policyOf = (response: Response) => response.headers.get('content-security-policy')!.split('; ');

test('the HTML of an e-mail is served so that it can run no script and load nothing, even outside of the frame', async () => {
  const response = await fetch(await frameOf('texts/verify-email/de'));
  expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
  expect(policyOf(response)).toEqual([
    "default-src 'none'",
    "style-src 'unsafe-inline'",
    'img-src data:',
    'font-src data:',
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'self'",
    'sandbox',
  ]);
  expect(response.headers.get('cache-control')).toBe('no-store');
  expect(response.headers.get('referrer-policy')).toBe('no-referrer');
  expect(await response.text()).toContain('<b>482913</b>');
});

test('images of other servers are loaded on request', async () => {
  const policy = policyOf(await fetch(await frameOf('texts/verify-email/de', '?images=loaded')));
  expect(policy).toContain('img-src data: https:');
  expect(policy).not.toContain('script-src');
});

test('the URL of a frame works for its e-mail and its options only, and without a signature there is no frame', async () => {
  const signed = await frameOf('texts/verify-email/de');
  expect((await fetch(signed)).status).toBe(200);
  const changed = [
    signed.split('?')[0]!,
    signed.replace('/verify-email/', '/digest/'),
    signed.replace('images=blocked', 'images=loaded'),
    signed.replace('images=blocked', 'images=blocked&images=loaded'),
    signed.replace(/expires=\d+/, 'expires=99999999999'),
    signed.replace(/signature=\w/, 'signature=x'),
    signed.replace(/signature=\w+/, ''),
  ];
  for (const one of changed) expect((await fetch(one)).status, one).toBe(404);
});

test('without an administrator, nobody can send a test', async () => {
  expect((await call('GET', `${PAGE}/texts`)).body.meta).toEqual({ delivery: 'captured', testTo: null });
  expect((await call('POST', `${PAGE}/texts/verify-email/en/test`)).status).toBe(404);
});

test.each([
  ['fr', 'The text of verify-email in fr threw Error: no French yet', undefined],
  [
    'it',
    'The text of verify-email in it returned an invalid e-mail',
    { subject: 'Must be a single line', text: 'Is required' },
  ],
])('a text that does not work responds 422 and says why: %s', async (locale, message, details) => {
  for (const below of ['', '/frame']) {
    const { status, body } = await call('GET', `${PAGE}/texts/verify-email/${locale}${below}`);
    expect([status, body.error.message, body.error.details]).toEqual([422, message, details]);
  }
});

test.each([
  'texts/nope/en',
  'texts/verify-email/es',
  'texts/toString/en',
  'captured/nope',
  'captured/nope/frame',
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
  expect(await (await fetch(await frameOf(`captured/${id}`))).text()).toContain('<p>One &lt;b&gt;</p>');
  const dark = await fetch(await frameOf(`captured/${id}`, '?scheme=dark'));
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
  ['texts/verify-email/en/frame?scheme=red', 400],
  ['texts/verify-email/en/frame?images=all', 400],
])('an invalid query is refused: %s', async (path, status) => {
  expect((await call('GET', `${PAGE}/${path}`)).status).toBe(status);
});
