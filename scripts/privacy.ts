// `npm run privacy -- report`: reports where personal data is stored, who can see it and how long it is kept, based on the
// declarations. Needs no database.

import { DATABASE_ONLY } from './deployment/database-only.ts';
import { fail } from './deployment/fail.ts';
import { loadApp } from './deployment/load-app.ts';
import { readPrivacyArguments } from './privacy/arguments.ts';
import { printReport } from './privacy/report.ts';

try {
  const given = readPrivacyArguments(process.argv.slice(2));
  const app = await loadApp({ environment: { ...DATABASE_ONLY, DATABASE_URL: 'postgres://none' } });
  if (app.privacy === undefined) fail('This app does not use the extension privacy(). See docs/privacy.md.');
  if (!printReport(app.privacy.report(app.tables), given)) process.exitCode = 1;
  await app.close();
} catch (error) {
  fail((error as Error).message);
}
