import { expect, test } from 'vitest';
import { defineUser, developerConsole } from '../../../src/index.ts';
import { ACCOUNT_TEXTS } from '../../../src/platform/mail/texts/account-texts.ts';
import { NOTICE_TEXTS } from '../../../src/platform/mail/texts/notice-texts.ts';
import { startTestApp } from '../../support/app.ts';

const { app, url, call } = await startTestApp(
  {
    resources: [defineUser()],
    extensions: [developerConsole()],
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
    settings: {
      mail: { templates: { passwordReset: ({ minutes }) => ({ subject: 'Own reset', text: `${minutes}` }) } },
    },
  },
  { env: () => ({ APP_URL: 'https://dev.example.com' }) },
);
const PAGE = '/console/mails';

test('the page and its assets are served, and its policy allows nothing inline and frames of its own only', async () => {
  const page = await fetch(url + PAGE);
  expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
  const policy = page.headers.get('content-security-policy')!;
  expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'");
  expect(policy).toContain("frame-src 'self'");
  expect(policy).not.toContain('unsafe');
  const html = await page.text();
  expect(html).not.toMatch(/<script(?![^>]*\bsrc=)|<style|\son\w+=|style=/);
  expect(html).toMatch(/<iframe [^>]*\bsandbox><\/iframe>/);
  const loaded = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1]!);
  for (const path of loaded) expect((await fetch(new URL(path, url))).status, path).toBe(200);
  expect(loaded).toContain('/console/push');
});

test('all e-mails are listed with their descriptions and locales', async () => {
  const { body } = await call('GET', `${PAGE}/texts`);
  const kinds = body.data.map(({ kind }: { kind: string }) => kind);
  expect(kinds.sort()).toEqual([...Object.keys(ACCOUNT_TEXTS), ...Object.keys(NOTICE_TEXTS)].sort());
  expect(body.data).toContainEqual({
    kind: 'verify-email',
    description: 'Sent after a registration, and when the user requests it',
    locales: ['en', 'de', 'fr', 'it'],
  });
});

test('an e-mail is shown with example values, in each locale', async () => {
  const english = await call('GET', `${PAGE}/texts/verify-email/en`);
  expect(english.body.data).toMatchObject({ subject: 'Verify your e-mail address', to: 'ada@example.com' });
  expect(english.headers.get('cache-control')).toBe('no-store');
  const german = await call('GET', `${PAGE}/texts/verify-email/de`);
  expect(german.body.data).toEqual({ to: 'ada@example.com', subject: 'Adresse bestätigen', text: 'Code: 482913' });
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

test('captured e-mails are listed, newest first, and can be read', async () => {
  const captured = async () => (await call('GET', `${PAGE}/captured`)).body.data;
  expect(await captured()).toEqual([]);
  await app.mail.send({ to: 'ann@example.com', subject: 'First', text: 'One <b>' });
  await expect.poll(captured, { timeout: 60_000 }).toHaveLength(1);
  await app.mail.send({ to: 'ben@example.com', subject: 'Second', text: 'Two' });
  await expect
    .poll(captured, { timeout: 60_000 })
    .toMatchObject([{ to: 'ben@example.com', subject: 'Second' }, { subject: 'First' }]);
  const [, { id }] = await captured();
  expect((await call('GET', `${PAGE}/captured/${id}`)).body.data).toEqual({
    to: 'ann@example.com',
    subject: 'First',
    text: 'One <b>',
  });
  expect(await (await fetch(`${url}${PAGE}/captured/${id}/html`)).text()).toContain('<p>One &lt;b&gt;</p>');
});
