// `npm run admin -- create`, `promote`, `demote`, `disable`, `enable`, `list`, `sessions`, `import`: manages accounts from the
// command line. `mails` prints the e-mails that development captured. Needs DATABASE_URL and SVC_ENCRYPTION_KEYS from the
// shell or from .env, or a running `npm run dev`.

import { onStopRequest } from '../services/on-stop-request.ts';
import { readAdminArguments } from './admin/arguments.ts';
import { runAdminCommand } from './admin/run.ts';
import { loadApp, printErrorAndExit } from './load-app.ts';

try {
  const given = readAdminArguments(process.argv.slice(2));
  const app = await loadApp({
    environment: { NODE_ENV: 'test', LOG_LEVEL: 'error' },
    orDevelopment: true,
    needsKeys: true,
  });
  const stop = new AbortController();
  const work = runAdminCommand(app, given, stop.signal);
  if (given.command === 'import') {
    onStopRequest(async () => {
      stop.abort();
      await work.catch(() => undefined);
    });
  }
  try {
    if (!(await work)) process.exitCode = 1;
  } finally {
    await app.close();
  }
} catch (error) {
  printErrorAndExit((error as Error).message);
}
