import { app } from '../../src/app/index.ts';
import { findAssembly } from '../../src/runtime/create-app.ts';
import type { Change } from './change.ts';
import { compareDocuments } from './openapi/documents.ts';
import { type Json, sortKeys } from './openapi/json.ts';
import { compareReports } from './typescript/compare-reports.ts';
import { formatReport, parseReport, withoutDeclarationsOf } from './typescript/report-text.ts';
import { provideReports } from './typescript/stored-reports.ts';

/** The public API as committed: the texts of the files in api/, by file name. */
export type Snapshot = Record<string, string>;

const REPORTS: Record<string, string> = {
  'belfry.api.md': 'belfry',
  'client.api.md': '@belfry/client',
  'extension.api.md': 'belfry/extension',
  'client-declarations.api.md': '@belfry/client/declarations',
  'react.api.md': '@belfry/client/react',
  'testing.api.md': 'belfry/testing',
  'verify-webhook.api.md': '@belfry/verify-webhook',
  'verify-webhook-express.api.md': '@belfry/verify-webhook/express',
  'verify-webhook-fetch.api.md': '@belfry/verify-webhook/fetch',
};
const OPENAPI = 'openapi.json';

/** The names of the files in api/. */
export const FILES = [...Object.keys(REPORTS), OPENAPI];

/** Creates the OpenAPI document of the app in src/app. The environment does not affect it, and the app connects to nothing. */
function createDocument(): string {
  const created = app({ NODE_ENV: 'test', DATABASE_URL: 'postgres://none/none', REDIS_URL: 'redis://none' });
  return `${JSON.stringify(sortKeys(findAssembly(created)!.createOpenApiDocument()), undefined, 2)}\n`;
}

/** Creates the texts of the reports of the TypeScript API, by file name. */
async function createReportTexts(): Promise<Record<string, string>> {
  // Loads API Extractor and its compiler.
  const { createReports } = await import('./typescript/report.ts');
  const reports = createReports(Object.values(REPORTS));
  const texts = Object.entries(REPORTS).map(([file, entryPoint]) => {
    const report = reports[entryPoint]!;
    // `belfry/testing` refers to many types of `belfry`, which one report is enough for.
    const own = entryPoint === 'belfry' ? report : withoutDeclarationsOf(report, reports.belfry!);
    return [file, formatReport(entryPoint, own)];
  });
  return Object.fromEntries(texts);
}

/**
 * Creates the snapshot of the sources.
 *
 * @throws Error if the sources do not compile, or if the app has configuration errors
 */
export async function createSnapshot(): Promise<Snapshot> {
  return { ...(await provideReports(createReportTexts)), [OPENAPI]: createDocument() };
}

/** Compares two snapshots. */
export function compareSnapshots(before: Snapshot, after: Snapshot): Change[] {
  return FILES.flatMap((file) => {
    const [old, current] = [before[file], after[file]];
    if (old === current) return [];
    if (old === undefined || current === undefined)
      return {
        breaking: current === undefined,
        place: `api/${file}`,
        text: current ? 'new' : 'removed',
        names: [file],
      };
    if (file === OPENAPI) return compareDocuments(JSON.parse(old) as Json, JSON.parse(current) as Json);
    return compareReports(REPORTS[file]!, parseReport(old), parseReport(current));
  });
}
