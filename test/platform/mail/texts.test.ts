import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createApp, defineUser, f } from '../../../src/index.ts';
import { LANGUAGES, type Language } from '../../../src/platform/helpers/language.ts';
import { findPreferredLocale, localeOfUser } from '../../../src/platform/helpers/locale.ts';
import { type MailTemplate, type MailWriting, validateMail } from '../../../src/platform/mail/message.ts';
import { EXAMPLES } from '../../../src/platform/mail/texts/examples.ts';
import { BUILT_IN_TEXTS, createMailTextRenderer, type MailOverrides } from '../../../src/platform/mail/texts/index.ts';
import type { MailKind } from '../../../src/platform/mail/texts/variables.ts';
import { anyCharacter } from '../../support/any-text.ts';
import { startTestApp } from '../../support/app.ts';
import { getStartupError } from '../../support/startup-error.ts';
import { scaleRuns } from '../../support/vitest/fuzz-runs.ts';

const text = (subject: string) => () => ({ subject, text: subject });
const NOTICE = {
  user: { id: 'ada' },
  appHost: 'app.example.com',
  at: '2026-11-24T10:15:00.000Z',
  ip: '203.0.113.7',
};
const BUILT_IN = 'Your password was changed';

test.each<[recipient: string | undefined, setting: string, expected: string]>([
  ['de', 'en', 'de'],
  ['de-CH', 'en', 'de-CH'],
  ['de-AT', 'en', 'de'],
  ['de-ch', 'en', 'de-CH'],
  ['DE', 'en', 'de'],
  ['fr', 'en', BUILT_IN],
  ['fr', 'de', 'de'],
  ['fr', 'de-CH', 'de-CH'],
  ['fr', 'de-AT', 'de'],
  ['fr', 'es', BUILT_IN],
  [undefined, 'en', BUILT_IN],
  [undefined, 'de', 'de'],
  ['', 'de', 'de'],
  ['not a locale', 'de', 'de'],
  ['x'.repeat(40), 'de', 'de'],
  ['en', 'de', BUILT_IN],
  ['en-GB', 'de', BUILT_IN],
  ['pt-BR', 'en', 'pt-BR'],
  ['pt-PT', 'en', BUILT_IN],
  ['pt', 'de', 'de'],
])('a recipient with the locale %s, and mail.locale %s, gets the text %s', async (recipient, setting, expected) => {
  const overrides = { 'password-changed': { de: text('de'), 'de-ch': text('de-CH'), 'pt-BR': text('pt-BR') } };
  const { render } = createMailTextRenderer(overrides, { locale: setting });
  expect((await render('password-changed', NOTICE, recipient)).subject).toBe(expected);
});

test('an English text of the app replaces the built-in one, for every locale without a text', async () => {
  const { render } = createMailTextRenderer({ 'password-changed': { en: text('own') } }, { locale: 'en' });
  for (const locale of ['en', 'en-GB', 'fr', undefined])
    expect((await render('password-changed', NOTICE, locale)).subject).toBe('own');
  expect((await render('passkey-added', NOTICE, 'en')).subject).toBe('A passkey was added to your account');
});

test.each<[user: Record<string, unknown>, fallback: unknown, expected: string | undefined]>([
  [{ locale: 'de-ch' }, 'fr', 'de-CH'],
  [{ locale: null }, 'fr', 'fr'],
  [{ locale: 'not a locale' }, 'fr', 'fr'],
  [{ locale: 5 }, undefined, undefined],
  [{}, 'fr-ca', 'fr-CA'],
  [{}, { evil: true }, undefined],
  [{}, undefined, undefined],
])('the locale of the user %j, with the request’s locale %j, is %s', (user, fallback, expected) => {
  expect(localeOfUser(user, fallback)).toBe(expected);
});

test.each<[accepted: string[], page: string | undefined, expected: string | undefined]>([
  [['de-CH', 'en'], undefined, 'de-CH'],
  [['*'], undefined, undefined],
  [['*', 'fr'], undefined, 'fr'],
  [['<script>', 'it'], undefined, 'it'],
  [[], undefined, undefined],
  [['en', 'de-AT'], 'de', 'de-AT'],
  [['fr'], 'de', 'de'],
  [['de-DE', 'en'], 'en', 'en'],
  [['de-DE'], 'en', 'en'],
  [['fr', 'en'], 'en', 'fr'],
  [['de'], 'klingon', 'de'],
  [['*'], 'de', 'de'],
])('a client that accepts %j, on a page in %s, prefers %s', (accepted, page, expected) => {
  const headers = { 'belfry-language': page };
  expect(findPreferredLocale({ acceptsLanguages: (() => accepted) as never, headers })).toBe(expected);
});

test.each<[mailTexts: unknown, error: string]>([
  ['de', "mailTexts: must be an object such as { 'verify-email': { de: (about) => ({ subject, text }) } }"],
  [[], 'mailTexts: must be an object such as'],
  [null, 'mailTexts: must be an object such as'],
  [{ 'verify-mail': {} }, 'mailTexts: "verify-mail" is not an e-mail. Did you mean "verify-email"?'],
  [{ toString: {} }, '"toString" is not an e-mail'],
  [{ 'verify-email': () => ({}) }, 'mailTexts: verify-email: must be an object of functions by locale'],
  [
    { 'verify-email': { german: text('x'), 'not a locale': text('x') } },
    '"not a locale" is not a locale; write en or de-CH',
  ],
  [{ 'verify-email': { de: 'Hallo' } }, 'mailTexts: verify-email: de: must be a function'],
])('the option mailTexts %j is a configuration error', (mailTexts, error) => {
  expect(getStartupError({ resources: [defineUser()], mailTexts: mailTexts as MailOverrides })).toContain(error);
});

test('mail.locale must be a locale', () => {
  const settings = { mail: { locale: 'not a locale' } };
  expect(getStartupError({ resources: [defineUser()], settings })).toContain(
    'mail.locale: must be a locale, such as en or de-CH',
  );
});

const german: MailOverrides = {
  'password-reset': {
    de: ({ link, minutes }) => ({ subject: 'Neues Passwort', text: `${link} (${minutes} Minuten)` }),
  },
};
const { app, call } = await startTestApp(
  {
    resources: [defineUser({ fields: { locale: f.string().max(10) } })],
    mailTexts: german,
  },
  { roles: 'all' },
);
const GERMAN = { 'accept-language': 'de-CH,de;q=0.9,en;q=0.5' };
const ENGLISH = { 'accept-language': 'en' };

/** Registers a user, requests a reset link, and returns the subject of its e-mail. */
async function resetSubject(
  client: typeof call,
  { body, registration, request }: { body?: object; registration?: object; request?: object },
  captured: () => Promise<{ to: string; subject: string }[]> = app.captured.mails,
): Promise<string> {
  const email = `${crypto.randomUUID()}@example.com`;
  const user = { name: 'Ann', email, password: 'correct horse battery', ...body };
  expect((await client('POST', '/api/auth/register', user, { ...registration })).status).toBe(201);
  await client('POST', '/api/auth/password/forgot', { email }, { ...request });
  const subject = async () => (await captured()).find(({ to }) => to === email)?.subject;
  await expect.poll(subject, { timeout: 60_000 }).toBeDefined();
  return (await subject())!;
}

const [DE, EN] = ['Neues Passwort', 'Choose a new password'];

test.each<[case_: string, given: Parameters<typeof resetSubject>[1], subject: string]>([
  ['the language of the registration', { registration: GERMAN, request: ENGLISH }, DE],
  ['the field in the registration', { body: { locale: 'de' }, registration: ENGLISH, request: ENGLISH }, DE],
  ['the field, although the browser of the registration differs', { body: { locale: 'en' }, registration: GERMAN }, EN],
  ['the language of the request, for a user without a locale', { body: { locale: null }, request: GERMAN }, DE],
  ['English, without any language', {}, EN],
  ['English, for a language without a text', { registration: { 'accept-language': 'fr' } }, EN],
])('the reset e-mail is in %s', async (_case, given, subject) => {
  expect(await resetSubject(call, given)).toBe(subject);
});

test('without a field locale, the request for the reset link decides', async () => {
  const other = await startTestApp({ resources: [defineUser()], mailTexts: german }, { roles: 'all' });
  const captured = () => other.app.captured.mails();
  expect(await resetSubject(other.call, { registration: ENGLISH, request: GERMAN }, captured)).toBe(DE);
  expect(await resetSubject(other.call, { registration: GERMAN, request: ENGLISH }, captured)).toBe(EN);
});

test('the setting mail.templates.passwordReset replaces the text in every locale', async () => {
  const passwordReset = () => ({ subject: 'Own', text: 'Own' });
  const { render, list } = createMailTextRenderer(german, { locale: 'en', templates: { passwordReset } });
  const about = { user: { id: 'ada' }, link: 'https://app.example.com/', minutes: 30 };
  for (const locale of ['de', 'en', undefined])
    expect((await render('password-reset', about, locale)).subject).toBe('Own');
  const preview = list().find(({ kind }) => kind === 'password-reset')!;
  expect((await preview.render('de')).subject).toBe('Own');
});

const KINDS = Object.keys(EXAMPLES) as MailKind[];
const ALL = LANGUAGES.flatMap((language) =>
  KINDS.map((kind): [MailKind, Language, MailTemplate<never>] => [kind, language, BUILT_IN_TEXTS[language][kind]]),
);

test.each(ALL)('the built-in text %s in %s renders its example as a valid e-mail', async (kind, locale, template) => {
  const content = await template(EXAMPLES[kind] as never, { locale });
  expect(() => validateMail({ to: 'ada@example.com', ...content })).not.toThrow();
  expect(content.subject).not.toMatch(/[\r\n]/);
  expect(content.html).toMatch(new RegExp(`^<div lang="${locale}" style="`));
  expect(`${content.subject}${content.text}${content.html}`).not.toMatch(/undefined|\[object|NaN|null/);
});

/** Texts with the characters that matter in HTML, and any others. */
const hostile = fc
  .array(
    fc.oneof(
      fc.constantFrom('<', '>', '"', "'", '&', '<script>', '</p>', '" onload="'),
      fc.string({ unit: anyCharacter, maxLength: 4 }),
    ),
    {
      maxLength: 6,
    },
  )
  .map((parts) => `<x y="z">${parts.join('')}`);

/** Returns a copy of an example in which every text is hostile. Links and times keep the form that Belfry creates. */
function poison(value: unknown, evil: string, key = ''): unknown {
  if (Array.isArray(value)) return value.map((one) => poison(one, evil, key));
  if (typeof value === 'object' && value !== null)
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, poison(one, evil, name)]));
  if (typeof value !== 'string') return value;
  if (/link$/i.test(key)) return `https://app.example.com/?token=${evil}`;
  return evil;
}

/** The tags that the layout creates; their attributes contain no value except for the address of a link. */
const TAG =
  /<(?:\/?(?:div|p|ul|li)|\/a|div lang="\w+" style="[^"<>]*"|p style="[^"<>]*"|a href="[^"<>]*" style="[^"<>]*")>/g;

test.each(ALL)(
  'the HTML of %s in %s contains no value unescaped, and its subject stays one line',
  (kind, locale, template) => {
    fc.assert(
      fc.property(hostile, (evil) => {
        const { subject, html } = template(poison(EXAMPLES[kind], evil) as never, { locale }) as {
          subject: string;
          html: string;
        };
        expect(html.replaceAll(TAG, '')).not.toMatch(/[<>"']/);
        expect(html.replaceAll(TAG, '')).not.toMatch(/&(?!(?:amp|lt|gt|quot|#39);)/);
        expect(subject).not.toMatch(/[\r\n<>]/);
      }),
      { numRuns: scaleRuns(100) },
    );
  },
);

test('an app accepts texts in several locales', () => {
  const env = { NODE_ENV: 'test', DATABASE_URL: 'postgres://none/none', REDIS_URL: 'redis://none' };
  const mailTexts = { 'verify-email': { en: text('x'), de: text('y'), 'zh-Hant-TW': text('z') }, 'sign-in': {} };
  expect(() => createApp({ resources: [defineUser()], mailTexts }, env)).not.toThrow();
});

test('the example of each e-mail links to the page that the real e-mail links to, with the token in the same place', async () => {
  const { list } = createMailTextRenderer({}, { locale: 'en' });
  const links = new Map<string, string[]>();
  for (const { kind, render } of list())
    links.set(kind, ((await render('en')).text ?? '').match(/https:\/\/\S+/g) ?? []);
  const linked = Object.fromEntries([...links].filter(([, found]) => found.some((link) => link.includes('token='))));
  const page = (path: string) => [`https://app.example.com/${path}token=4f0c9d`];
  expect(linked).toEqual({
    'password-reset': page('reset-password?'),
    'email-change-undone': page('reset-password?'),
    'verify-email': page('verify-email#'),
    'change-email': page('change-email#'),
    'email-changed': page('undo-email-change#'),
    'sign-in': page('sign-in#'),
    invitation: page('invitation#'),
    'organisation-invitation': page('organisation-invitation#'),
  });
});

test.each<[languages: Language[], recipient: string | undefined, setting: string | undefined, expected: Language]>([
  [['en'], 'de', undefined, 'en'],
  [['en', 'de'], 'de-AT', undefined, 'de'],
  [['en', 'de'], 'fr', undefined, 'en'],
  [['en', 'de'], undefined, undefined, 'en'],
  [['en', 'de'], undefined, 'de-CH', 'de'],
  [['de', 'en'], undefined, undefined, 'de'],
  [['de', 'en'], 'en-GB', undefined, 'en'],
  [['de'], 'en', undefined, 'de'],
  [['de'], 'en', 'en', 'de'],
])(
  'an app in %j writes to a recipient with the locale %s, and mail.locale %s, in %s',
  async (languages, recipient, setting, expected) => {
    const { render, list } = createMailTextRenderer({}, { locale: setting }, [], languages);
    const { html } = await render('password-changed', NOTICE, recipient);
    expect(html).toContain(`<div lang="${expected}"`);
    expect(list()[0]!.locales).toEqual(languages);
  },
);

test('a text of the app comes before the built-in one of its language, and others stay built in', async () => {
  const overrides = { 'password-changed': { 'de-CH': text('Schweiz'), en: text('own') } };
  const { render } = createMailTextRenderer(overrides, {}, [], ['en', 'de']);
  const subjectIn = async (locale: string) => (await render('password-changed', NOTICE, locale)).subject;
  expect(await subjectIn('de-CH')).toBe('Schweiz');
  expect(await subjectIn('de')).toBe('Ihr Passwort wurde geändert');
  expect(await subjectIn('fr')).toBe('own');
  expect((await render('passkey-added', NOTICE, 'de-CH')).subject).toBe('Ihrem Konto wurde ein Passkey hinzugefügt');
});

test('a text of the app gets the locale in which it writes', async () => {
  const tell = (_about: unknown, { locale }: MailWriting) => ({ subject: locale, text: locale });
  const settings = { templates: { passwordReset: tell } };
  const own = { kind: 'own', description: '', texts: new Map([['fr', tell]]), example: {} };
  const { render, renderProjectMail } = createMailTextRenderer(
    { 'password-changed': { de: tell } },
    settings,
    [own],
    ['de'],
  );
  const reset = { user: { id: 'ada' }, link: 'https://app.example.com/', minutes: 30 };
  expect((await render('password-changed', NOTICE, 'de-AT')).subject).toBe('de-AT');
  expect((await render('password-changed', NOTICE, 'fr')).subject).toBe('de');
  expect((await render('password-reset', reset, 'fr')).subject).toBe('fr');
  expect((await render('password-reset', reset, undefined)).subject).toBe('de');
  expect((await renderProjectMail(own, {}, 'es')).subject).toBe('fr');
});
