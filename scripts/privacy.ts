// `npm run privacy -- report`: where personal data is, who sees it and how long it stays, by the declarations. It needs no database.

import { DATABASE_ONLY } from './deployment/database-only.ts';
import { fail } from './deployment/fail.ts';
import { loadApp } from './deployment/load-app.ts';
import { readPrivacyArguments } from './privacy/arguments.ts';
import { printReport } from './privacy/report.ts';

try {
  const given = readPrivacyArguments(process.argv.slice(2));
  const app = await loadApp({ environment: { ...DATABASE_ONLY, DATABASE_URL: 'postgres://none' } });
  if (app.privacy === undefined) fail('This app lacks the extension privacy(): see docs/privacy.md.');
  if (!printReport(app.privacy.report(app.tables), given)) process.exitCode = 1;
  await app.close();
} catch (error) {
  fail((error as Error).message);
}
