import { createRatio, type Group } from '../../figure.ts';
import { runInterleaved } from '../../measure/interleave.ts';
import { type LoadRequest, runLoad } from '../../measure/load.ts';
import { startBelfry } from '../../setup/belfry.ts';
import { getUserEmail, PASSWORD, PASSWORD_COST, USERS } from '../../setup/seed.ts';

const CONCURRENCY = 2;
// A login takes a fifth of a second, so shorter repetitions would count too few.
const MIN_SECONDS = 4;

/** Compares logins with bare scrypt at the same cost and concurrency. */
export const logins: Group = {
  name: 'accounts',
  async run(bench) {
    if (!bench.isRequested('accounts.logins')) return [];
    bench.logProgress('accounts.logins …');
    const seconds = Math.max(bench.seconds, MIN_SECONDS);
    const belfry = await startBelfry(bench, 'web');
    const scrypt = await bench.children.start(new URL('../../baselines/scrypt.ts', import.meta.url), {});
    let loginCount = 0;
    const createLogin = (): LoadRequest => {
      const body = JSON.stringify({ email: getUserEmail(loginCount++ % USERS), password: PASSWORD });
      return { method: 'POST', path: '/api/auth/login', body, status: 200 };
    };
    const logins = async (seconds: number) =>
      (await runLoad(belfry.url, createLogin, { connections: CONCURRENCY, seconds })).perSecond;
    await logins(0.5);
    const results = await runInterleaved(
      {
        belfry: () => logins(seconds),
        scrypt: () => scrypt.call<number>('hash', { seconds, concurrency: CONCURRENCY, cost: PASSWORD_COST }),
      },
      bench.reps,
    );
    await Promise.all([belfry.stop(), scrypt.stop()]);
    return [createRatio('accounts.logins', results.belfry, results.scrypt)];
  },
};
