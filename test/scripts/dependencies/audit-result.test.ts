import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { judgeAudit, parseAcceptedAdvisories } from '../../../scripts/dependencies/audit-result.ts';

const TODAY = '2026-11-24';

/** Returns what npm printed. Names of packages, advisories and the registry were replaced. */
const recorded = (name: string) => readFileSync(join(import.meta.dirname, 'npm-audit', `${name}.json`), 'utf8');

/** Accepts the advisory of high severity in high.json. */
const accept = (expires: string, id = 'GHSA-aaaa-bbbb-cccc', name = 'signer') => [
  { id, package: name, reason: 'Belfry does not parse signatures.', expires },
];

const MODERATE_ONLY = recorded('high').replaceAll('"high"', '"moderate"');
const CRITICAL = recorded('high').replaceAll('"high"', '"critical"');

test.each<[string, string | undefined, Parameters<typeof judgeAudit>[1], 'passed' | 'failed' | 'skipped', RegExp]>([
  [
    'a report without advisories',
    recorded('clean'),
    [],
    'passed',
    /^PASSED: .* advisory; 0 of low or moderate severity$/,
  ],
  ['advisories of moderate severity only', MODERATE_ONLY, [], 'passed', /^PASSED: .*; 2 of low or moderate severity$/],
  ['an advisory of high severity', recorded('high'), [], 'failed', /^FAILED: 1 high or critical advisory/],
  ['an advisory of critical severity', CRITICAL, [], 'failed', /^FAILED: 1 high or critical advisory/],
  ['an accepted advisory', recorded('high'), accept('2026-12-31'), 'passed', /^PASSED: .*; 1 accepted advisory; 1 of/],
  ['an advisory on its last accepted day', recorded('high'), accept(TODAY), 'passed', /^PASSED/],
  [
    'an advisory that was accepted until yesterday',
    recorded('high'),
    accept('2026-11-23'),
    'failed',
    /until 2026-11-23 only/,
  ],
  [
    'an advisory that was accepted for another package',
    recorded('high'),
    accept('2026-12-31', undefined, 'x'),
    'failed',
    /signer/,
  ],
  [
    'another advisory than the accepted one',
    recorded('high'),
    accept('2026-12-31', 'GHSA-0000-0000-0000'),
    'failed',
    /signer/,
  ],
  ['a registry without audits', recorded('method-not-allowed'), [], 'skipped', /^SKIPPED: .*405 Method Not Allowed/],
  ['a registry that cannot be reached', recorded('unreachable'), [], 'skipped', /^SKIPPED: .*ENOTFOUND/],
  ['an answer that is not JSON', '<html><body>Sign in</body></html>', [], 'skipped', /^SKIPPED: npm did not print/],
  ['an empty answer', '', [], 'skipped', /^SKIPPED: npm did not print/],
  ['a JSON answer that is no object', 'null', [], 'skipped', /^SKIPPED: npm did not print/],
  ['no answer in time', undefined, [], 'skipped', /^SKIPPED: the registry did not answer in time/],
  ['a missing lock file, which is no network failure', recorded('no-lock-file'), [], 'failed', /^FAILED: .*ENOLOCK/],
  ['a report of another version', '{"auditReportVersion":3}', [], 'failed', /^FAILED: .* format/],
])('%s has the right outcome', (_case, output, accepted, outcome, lines) => {
  const result = judgeAudit(output, accepted, TODAY);
  expect(result.outcome).toBe(outcome);
  expect(result.lines.join('\n')).toMatch(lines);
});

test('a failure names each severe advisory once, with its package, versions and title', () => {
  expect(judgeAudit(recorded('high'), [], TODAY).lines.slice(1, 2)).toEqual([
    '  high: signer <=5.4.1: signer accepts malformed signatures (GHSA-aaaa-bbbb-cccc)',
  ]);
});

test('a skipped audit fits in one line, which does not contain the address of the registry', () => {
  for (const name of ['method-not-allowed', 'unreachable']) {
    const { lines } = judgeAudit(recorded(name), [], TODAY);
    expect(lines).toHaveLength(1);
    expect(lines[0]).not.toContain('https:');
  }
});

test('neither a title nor an error of npm can bring an address or control characters into the log', () => {
  const report = JSON.parse(recorded('high'));
  for (const { via } of Object.values<{ via: (string | { title: string })[] }>(report.vulnerabilities))
    for (const cause of via) if (typeof cause !== 'string') cause.title = 'bad\n::error::\u001b[2K';
  const error = { code: 'E401', summary: 'https://user:token@registry.example/ refuses the token' };
  const outputs = [report, { error }].map((answer) => judgeAudit(JSON.stringify(answer), [], TODAY));
  const lines = outputs.flatMap((result) => result.lines);
  expect(lines).toContain('FAILED: npm audit ended with E401: its address refuses the token');
  expect(lines.filter((line) => /\p{Cc}/u.test(line))).toEqual([]);
});

test('an accepted advisory that is no longer reported is named, so that it can be removed', () => {
  expect(judgeAudit(recorded('clean'), accept('2026-12-31'), TODAY)).toMatchObject({
    outcome: 'passed',
    lines: [expect.any(String), 'No longer reported, so remove it from the list: GHSA-aaaa-bbbb-cccc of signer'],
  });
});

test('the list of accepted advisories is valid', () => {
  const text = readFileSync('scripts/dependencies/accepted-advisories.json', 'utf8');
  expect(() => parseAcceptedAdvisories(text)).not.toThrow();
});

test.each([
  ['reason', ''],
  ['expires', '31.12.2026'],
  ['expires', undefined],
  ['id', '1100001'],
])('an accepted advisory whose %s is %j is refused', (field, value) => {
  const text = JSON.stringify([{ ...accept('2026-12-31')[0], [field]: value }]);
  expect(() => parseAcceptedAdvisories(text)).toThrow(`0.${field}: `);
});
