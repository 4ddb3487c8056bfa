import { expect, test } from 'vitest';
import { compareReports } from '../../scripts/api/typescript/compare-reports.ts';
import { formatReport, parseExtractedReport, parseReport } from '../../scripts/api/typescript/report-text.ts';

/** A report as API Extractor writes it. */
function extracted(...declarations: string[]): string {
  return `## API Report File for "belfry"\n\n\`\`\`ts\n\nimport { z } from 'zod';\n\n${declarations.join('\n\n')}\n\n// (No @packageDocumentation comment for this package)\n\n\`\`\`\n`;
}

function describeChanges(before: readonly string[], after: readonly string[]): string[] {
  const [old, current] = [before, after].map((declarations) => parseExtractedReport(extracted(...declarations)));
  return compareReports('belfry', old!, current!).map(
    ({ breaking, place, text }) => `${breaking ? 'breaking' : 'compatible'}: ${place}: ${text}`,
  );
}

const app = '// @public\nexport interface App {\n    // (undocumented)\n    close(): Promise<void>;\n}';
const APP_CHANGES: [change: string, after: string[], expected: string[]][] = [
  ['a removed export', [], ['breaking: belfry: App: removed']],
  ['a new export', [app, 'export type Policy = string;'], ['compatible: belfry: Policy: new export']],
  [
    'a renamed export',
    [app.replace('App', 'Application')],
    ['breaking: belfry: App: removed', 'compatible: belfry: Application: new export'],
  ],
  ['an export that becomes internal', [app.replace('export ', '')], ['breaking: belfry: App: no longer exported']],
  [
    'a new line',
    [app.replace('\n}', '\n    url: string;\n}')],
    ['compatible: belfry: App: changed\n+     url: string;'],
  ],
  [
    'a changed line',
    [app.replace('void', 'number')],
    ['breaking: belfry: App: changed\n-     close(): Promise<void>;\n+     close(): Promise<number>;'],
  ],
  [
    'a deprecation',
    [app.replace('(undocumented)', '@deprecated (undocumented)')],
    ['compatible: belfry: App: changed\n+     // @deprecated'],
  ],
  ['documentation', [app.replace('    // (undocumented)\n', '')], []],
];

test.each(APP_CHANGES)('%s of the TypeScript API is classified', (_, after, expected) => {
  expect(describeChanges([app], after)).toEqual(expected);
});

test('a change of a type that is not exported has the names of the exported types that refer to it', () => {
  const host = 'export interface Host {\n    platform: Platform;\n}';
  const platform = 'interface Platform {\n    queues: Queues;\n}';
  const queues = 'interface Queues {\n    add(name: string): void;\n}';
  const [before, after] = [queues, queues.replace('string', 'number')].map((changed) =>
    parseExtractedReport(extracted(host, platform, changed, 'export type QueuesOf = string;')),
  );
  const changes = compareReports('belfry', before!, after!);
  expect(changes).toMatchObject([{ breaking: true, place: 'belfry: Queues', names: ['Queues', 'Host'] }]);
});

test('a change that only follows from a renamed type has the name of that type', () => {
  const app = 'export interface App {\n    policy: Rule;\n}';
  const [before, after] = ['Rule', 'Policy'].map((name) =>
    parseExtractedReport(extracted(app.replace('Rule', name), `export type ${name} = string;`)),
  );
  expect(compareReports('belfry', before!, after!)).toMatchObject([
    { breaking: true, place: 'belfry: App', names: ['App', 'Rule'] },
    { breaking: true, place: 'belfry: Rule', names: ['Rule'] },
    { breaking: false, place: 'belfry: Policy' },
  ]);
});

test('a type that is not exported and no longer used is not a breaking change of its own', () => {
  const host = 'export interface Host {\n    queues: Queues;\n}';
  expect(describeChanges([host, 'interface Queues {\n}'], [host.replace('Queues', 'string')])).toEqual([
    'breaking: belfry: Host: changed\n-     queues: Queues;\n+     queues: string;',
    'compatible: belfry: Queues: no longer used',
  ]);
});

test('every kind of declaration is compared', () => {
  for (const line of ['export { Logger }', 'export { Logger as Log }', "export * from 'zod';", 'export default App;'])
    expect(describeChanges([app, line], [app])).toEqual([expect.stringMatching(/^breaking: belfry: .*: removed$/)]);
});

test('a committed report is read back without a change', () => {
  const overload = 'export function on(name: string): void;';
  const report = parseExtractedReport(
    extracted(app, overload, overload.replace('string', 'number'), 'type Hidden<T> = {\n    [K in keyof T]: T[K];\n};'),
    'export interface App {\n    close(): void;\n}\nexport interface Elsewhere {\n    a: string;\n}\n',
  );
  expect([...report.exported.keys(), ...report.reachable.keys()]).toEqual(['App', 'on', 'Hidden']);
  expect(parseReport(formatReport('belfry', report))).toEqual(report);
});
