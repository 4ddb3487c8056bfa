// `npm run audit -- verify`: verifies the chain of the audit trail and names the first row that was changed or removed.
// Needs DATABASE_URL from the shell or from .env, or a running `npm run dev`.
import { readAuditArguments } from './audit/arguments.ts';
import { verify } from './audit/verify.ts';
import { DATABASE_ONLY } from './deployment/database-only.ts';
import { fail } from './deployment/fail.ts';
import { loadApp } from './deployment/load-app.ts';

const UNDEFINED_TABLE = '42P01';

try {
  const given = readAuditArguments(process.argv.slice(2));
  const app = await loadApp({ environment: DATABASE_ONLY, orDevelopment: true });
  if (app.audit === undefined) fail('This app has no audit trail. See docs/audit.md.');
  try {
    if (!(await verify(app.audit, given))) process.exitCode = 1;
  } finally {
    await app.close();
  }
} catch (error) {
  const { code, message } = error as Error & { code?: string };
  fail(code === UNDEFINED_TABLE ? 'The database has no audit trail. Apply the migrations: npm run migrate' : message);
}
