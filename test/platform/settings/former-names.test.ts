import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { passkeys } from '../../../src/index.ts';
import { applyFormerNames, renamedSettings } from '../../../src/platform/settings/former-names.ts';
import { readSettings } from '../../../src/platform/settings/settings.ts';

const emitted = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
afterEach(() => emitted.mockClear());

test('every renamed setting has its own code, and stays in its object', () => {
  const all = Object.values(renamedSettings).flatMap((section) => Object.entries(section));
  expect(new Set(all.map(([, { code }]) => code)).size).toBe(all.length);
  for (const [former, { to }] of all) expect(to.split('.').slice(0, -1)).toEqual(former.split('.').slice(0, -1));
});

test('docs/operate/upgrading.md lists each code with its names', async () => {
  const page = await readFile(join(import.meta.dirname, '../../../docs/operate/upgrading.md'), 'utf8');
  for (const [section, names] of Object.entries(renamedSettings))
    for (const [former, { code, to }] of Object.entries(names))
      expect(page).toContain(`| \`${code}\` | \`${section}.${former}\` | \`${section}.${to}\``);
});

test('settings under their former names work, and each name warns once per process', () => {
  const former = {
    auth: { recentSignInMinutes: 10, register: false },
    files: { urlTtlMinutes: 0.5, pendingPerUser: 3, pendingBytesPerUser: 1000, pendingHours: 2 },
    jobs: { retentionDays: 1, failedRetentionDays: 2 },
  };
  const before = structuredClone(former);
  for (let i = 0; i < 2; i++) {
    const { auth, files, jobs } = readSettings(former);
    expect(auth).toMatchObject({ recentSignIn: 600_000, register: false });
    expect(files).toMatchObject({
      urlTtl: 30_000,
      maxPendingPerUser: 3,
      maxPendingBytesPerUser: 1000,
      pendingTtl: 7_200_000,
    });
    expect(jobs).toEqual({ keepDays: 1, keepFailedDays: 2 });
  }
  expect(former).toEqual(before);
  expect(emitted.mock.calls.map(([, options]) => (options as unknown as { code: string }).code)).toEqual(
    Object.values(renamedSettings.settings!).map(({ code }) => code),
  );
  expect(emitted.mock.calls[0]).toEqual([
    'settings.auth.recentSignInMinutes is now settings.auth.recentSignIn. The former name works until Belfry 2.0; "npx belfry codemod" renames it',
    { type: 'DeprecationWarning', code: 'BELFRY_DEP0001' },
  ]);
});

test('an extension takes its settings under their former names', () => {
  const { checkConfig } = passkeys({ maxPerUser: 5, challengeMinutes: 2 });
  const reported: string[] = [];
  checkConfig?.({ at: (place: string) => ({ report: (text: string) => reported.push(`${place}: ${text}`) }) } as never);
  expect(reported).toEqual([]);
  expect(emitted.mock.calls.map(([text]) => text)).toEqual([
    expect.stringContaining('passkeys.maxPerUser is now passkeys.maxPasskeysPerUser.'),
    expect.stringContaining('passkeys.challengeMinutes is now passkeys.challengeTtl.'),
  ]);
});

describe('a former name', () => {
  const schema = z.strictObject({ maxPasskeysPerUser: z.number().optional(), challengeTtl: z.string().optional() });

  test('beside the present one stays, so that it is reported as unknown', () => {
    const input = { maxPerUser: 1, maxPasskeysPerUser: 2 };
    expect(applyFormerNames('passkeys', schema, input)).toBe(input);
  });
  test('that a schema declares is no former one', () => {
    const input = { maxPerUser: 1 };
    expect(applyFormerNames('passkeys', schema.extend({ maxPerUser: z.number() }), input)).toBe(input);
  });
  test('without a value is no setting', () => {
    expect(applyFormerNames('passkeys', schema, { maxPerUser: undefined })).toEqual({});
  });
  test('may have any fraction', () => {
    expect(applyFormerNames('passkeys', schema, { challengeMinutes: 1 / 3 })).toEqual({ challengeTtl: '0.333333m' });
  });
  test.each([undefined, null, 5, 'text', [{ maxPerUser: 1 }]])('is not looked for in %j', (input) => {
    expect(applyFormerNames('passkeys', schema, input)).toBe(input);
  });
  test('with an invalid value is moved as it is, so that the error names it', () => {
    expect(applyFormerNames('passkeys', schema, { challengeMinutes: 'soon' })).toEqual({ challengeTtl: 'soon' });
  });
});
