import { type Group, ratio } from '../../figure.ts';
import { interleave } from '../../measure/interleave.ts';
import { load, type Shot } from '../../measure/load.ts';
import { startBelfry } from '../../setup/belfry.ts';
import { emailOf, PASSWORD, PASSWORD_COST, USERS } from '../../setup/seed.ts';

const CONCURRENCY = 2;
// A login takes a fifth of a second, so shorter repetitions would count too few.
const LEAST_SECONDS = 4;

/** Compares logins with bare scrypt at the same cost and concurrency. */
export const accounts: Group = {
  name: 'accounts',
  async run(bench) {
    if (!bench.wants('accounts.logins')) return [];
    bench.say('accounts.logins …');
    const seconds = Math.max(bench.seconds, LEAST_SECONDS);
    const belfry = await startBelfry(bench, 'web');
    const scrypt = await bench.children.start(new URL('../../baselines/scrypt.ts', import.meta.url), {});
    let turn = 0;
    const login = (): Shot => {
      const body = JSON.stringify({ email: emailOf(turn++ % USERS), password: PASSWORD });
      return { method: 'POST', path: '/api/auth/login', body, status: 200 };
    };
    const logins = async (seconds: number) =>
      (await load(belfry.url, login, { connections: CONCURRENCY, seconds })).perSecond;
    await logins(0.5);
    const results = await interleave(
      {
        belfry: () => logins(seconds),
        scrypt: () => scrypt.ask<number>('hash', { seconds, concurrency: CONCURRENCY, cost: PASSWORD_COST }),
      },
      bench.reps,
    );
    await Promise.all([belfry.stop(), scrypt.stop()]);
    return [ratio('accounts.logins', results.belfry, results.scrypt)];
  },
};
