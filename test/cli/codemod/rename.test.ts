import { describe, expect, test } from 'vitest';
import { renameInSource } from '../../../src/cli/codemod/rename.ts';
import { renamedSettings } from '../../../src/platform/settings/former-names.ts';

/** Renames in a text, and returns the new text. */
const rename = (source: string) => renameInSource(source).source;
const IMPORTS = "import { createApp, passkeys } from 'belfry';\n";
/** Renames in a text of a file that imports from Belfry. */
const renameWithImports = (source: string) => rename(IMPORTS + source).replace(IMPORTS, '');

test('an app is renamed, and what it says otherwise stays as it was', () => {
  const before = `import { createApp, developerConsole, passkeys, organisations } from 'belfry';
// developerConsole() was here; passkeys({ maxPerUser: 1 }) as well.
const MINUTES = 5;
export const app = createApp({
  resources,
  extensions: [
    passkeys({ maxPerUser: 10, /* minutes */ challengeMinutes: MINUTES * 2, secondFactor: true }),
    organisations({ globalAccess: 'support', invitations: { expiresDays: 7, maxPending: 5 } }),
    developerConsole(),
  ],
  settings: {
    auth: { recentSignInMinutes: 90, lockout: { maxAttempts: 3 } },
    files: { pendingHours: 1.5, uploadLimit: { limit: 5, windowMs: 60_000 } },
    jobs: { retentionDays: 1_000 },
  },
});
`;
  const { source, renamings } = renameInSource(before);
  expect(source).toBe(`import { createApp, adminConsole, passkeys, organisations } from 'belfry';
// developerConsole() was here; passkeys({ maxPerUser: 1 }) as well.
const MINUTES = 5;
export const app = createApp({
  resources,
  extensions: [
    passkeys({ maxPasskeysPerUser: 10, /* minutes */ challengeTtl: \`\${MINUTES * 2}m\`, secondFactor: true }),
    organisations({ globalPolicy: 'support', invitations: { ttl: '7d', maxPending: 5 } }),
    adminConsole(),
  ],
  settings: {
    auth: { recentSignIn: '90m', lockout: { maxAttempts: 3 } },
    files: { pendingTtl: '1.5h', uploadLimit: { limit: 5, windowMs: 60_000 } },
    jobs: { keepDays: 1_000 },
  },
});
`);
  expect(renamings.map(({ line, from, to }) => `${line} ${from} ${to}`)).toEqual([
    '1 developerConsole adminConsole',
    '7 passkeys.maxPerUser passkeys.maxPasskeysPerUser',
    '7 passkeys.challengeMinutes passkeys.challengeTtl',
    '8 organisations.globalAccess organisations.globalPolicy',
    '8 organisations.invitations.expiresDays organisations.invitations.ttl',
    '9 developerConsole adminConsole',
    '12 settings.auth.recentSignInMinutes settings.auth.recentSignIn',
    '13 settings.files.pendingHours settings.files.pendingTtl',
    '14 settings.jobs.retentionDays settings.jobs.keepDays',
  ]);
  expect(renameInSource(source)).toEqual({ source, renamings: [] });
});

test.each(
  Object.entries(renamedSettings).flatMap(([section, names]) =>
    Object.entries(names).map(([former, { to, unit }]) => ({ section, former, to, unit })),
  ),
)('$section.$former becomes $to', ({ section, former, to, unit }) => {
  const write = (path: string, value: string) => {
    const keys = path.split('.');
    const object = `${keys.map((key) => `{ ${key}: `).join('')}${value}${' }'.repeat(keys.length)}`;
    return section === 'settings' ? `createApp({ settings: ${object} })` : `${section}(${object})`;
  };
  const imports = `import { createApp, ${section === 'settings' ? 'passkeys' : section} } from 'belfry';\n`;
  expect(rename(imports + write(former, '3'))).toBe(imports + write(to, unit === undefined ? '3' : `'3${unit}'`));
});

describe('a setting', () => {
  test.each([
    ['after a comment', 'passkeys({ maxPerUser: /* few */ 5 })', 'passkeys({ maxPasskeysPerUser: /* few */ 5 })'],
    ['with a fraction', 'passkeys({ challengeMinutes: .5 })', "passkeys({ challengeTtl: '0.5m' })"],
    ['with a quoted name', "passkeys({ 'maxPerUser': 5 })", 'passkeys({ maxPasskeysPerUser: 5 })'],
    ['without a value', 'passkeys({ challengeMinutes })', `passkeys({ challengeTtl: \`\${challengeMinutes}m\` })`],
    [
      'with a call as its value',
      'passkeys({ maxPerUser: max(1, 2), a: 1 })',
      'passkeys({ maxPasskeysPerUser: max(1, 2), a: 1 })',
    ],
    ['with a text as its value', "passkeys({ challengeMinutes: '5m' })", "passkeys({ challengeTtl: '5m' })"],
    ['that is the last, with a comma', 'passkeys({ a, maxPerUser: 1, })', 'passkeys({ a, maxPasskeysPerUser: 1, })'],
    ['after a spread', 'passkeys({ ...base, maxPerUser: 1 })', 'passkeys({ ...base, maxPasskeysPerUser: 1 })'],
    [
      'after a text with a bracket',
      "passkeys({ rpName: 'a } b', maxPerUser: 1 })",
      "passkeys({ rpName: 'a } b', maxPasskeysPerUser: 1 })",
    ],
    [
      'after a regular expression',
      'passkeys({ x: /[/}]"/, maxPerUser: 1 })',
      'passkeys({ x: /[/}]"/, maxPasskeysPerUser: 1 })',
    ],
    [
      'after a division',
      'passkeys({ x: a / b, maxPerUser: 1 / c })',
      'passkeys({ x: a / b, maxPasskeysPerUser: 1 / c })',
    ],
  ])('%s', (_, before, after) => {
    expect(renameWithImports(before)).toBe(after);
  });

  test.each([
    'other({ maxPerUser: 1 })',
    'passkeys({ challengeMinutes: a ? 1 : undefined })',
    'const { settings: { files: { urlTtlMinutes = 5 } } } = config;',
    'type A = { settings: { files: { urlTtlMinutes: number; x: string } } };',
    'passkeys({ maxPerUser: 1, maxPasskeysPerUser: 2 })',
    'passkeys.of({ maxPerUser: 1 })',
    'passkeys({ nested: { maxPerUser: 1 } })',
    'this.settings({ auth: { recentSignInMinutes: 1 } })',
    'const maxPerUser = 1;',
    'passkeys(options)',
    'passkeys({ maxPerUser',
    '`passkeys({ maxPerUser: 1 })`',
  ])('that is none of Belfry stays: %s', (source) => {
    expect(renameWithImports(source)).toBe(source);
  });
});

test('modules that became packages are renamed in imports, exports and mocks, and in no comment', () => {
  const before = `import { createClient } from 'belfry/client';
export { useList } from "belfry/react";
const { verifyWebhook } = await import('belfry/verify-webhook'); // belfry/verify-webhook
vi.mock('belfry/client', () => ({}));
const other = ['belfry/clients', 'my-belfry/client', 'belfry/testing'];
`;
  const { source, renamings } = renameInSource(before);
  expect(source).toBe(`import { createClient } from '@belfry/client';
export { useList } from "@belfry/client/react";
const { verifyWebhook } = await import('@belfry/verify-webhook'); // belfry/verify-webhook
vi.mock('@belfry/client', () => ({}));
const other = ['belfry/clients', 'my-belfry/client', 'belfry/testing'];
`);
  expect(renamings.map(({ line }) => line)).toEqual([1, 2, 3, 4]);
  expect(renameInSource(source)).toEqual({ source, renamings: [] });
});

test('settings and options are renamed by what a file imports from Belfry', () => {
  const aliased =
    "import { passkeys as keys } from 'belfry';\nkeys({ maxPerUser: 1 });\nconst settings = { jobs: { retentionDays: 1 } };";
  expect(rename(aliased)).toBe(
    aliased.replace('maxPerUser', 'maxPasskeysPerUser').replace('retentionDays', 'keepDays'),
  );
  for (const other of [
    "import { passkeys } from './mine.ts';\npasskeys({ maxPerUser: 5 });",
    'const settings = { jobs: { retentionDays: 5 } };',
  ])
    expect(rename(other)).toBe(other);
});

describe('an export', () => {
  test.each([
    [
      "import { developerConsole as dev } from 'belfry'; dev(); developerConsole();",
      "import { adminConsole as dev } from 'belfry'; dev(); developerConsole();",
    ],
    [
      "import { developerConsole } from 'belfry'; [a ? developerConsole : b?.developerConsole]",
      "import { adminConsole } from 'belfry'; [a ? adminConsole : b?.developerConsole]",
    ],
    [
      'import { developerConsole } from "belfry"; x.developerConsole; ({ developerConsole: 1 })',
      'import { adminConsole } from "belfry"; x.developerConsole; ({ developerConsole: 1 })',
    ],
  ])('%s', (before, after) => {
    expect(rename(before)).toBe(after);
  });
  test.each([
    "import { developerConsole } from 'other'; developerConsole();",
    'developerConsole();',
    "import belfry from 'belfry'; developerConsole",
  ])('that was not imported from Belfry stays: %s', (source) => {
    expect(rename(source)).toBe(source);
  });
});
