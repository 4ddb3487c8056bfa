import { type Figure, type Group, ratio } from '../../figure.ts';
import { load, type Shot } from '../../measure/load.ts';
import { median } from '../../measure/statistics.ts';
import { startBelfry } from '../../setup/belfry.ts';
import type { Child } from '../../setup/children.ts';
import { emailOf, PASSWORD, USERS } from '../../setup/seed.ts';
import { OPERATIONS } from '../records/operations.ts';

// More than are hashed concurrently, so that the queue is never empty.
const LOGINS = 20;
const READERS = 20;
const LEAST_SECONDS = 4;
const NAMES = ['accounts.login-impact.dns.p99', 'accounts.login-impact.reads'];

function createLogin(): () => Shot {
  let turn = 0;
  return () => {
    const body = JSON.stringify({ email: emailOf(turn++ % USERS), password: PASSWORD });
    return { method: 'POST', path: '/api/auth/login', body, status: 200 };
  };
}

/** Runs `work` while as many logins are hashed as the hasher allows. */
async function amongLogins<T>(web: Child, seconds: number, work: () => Promise<T>): Promise<T> {
  const flood = load(web.url, createLogin(), { connections: LOGINS, seconds: seconds + 1 });
  const [result] = await Promise.all([work(), flood]);
  return result;
}

/** Measures how a flood of logins slows down everything else: host look-ups, which share the thread pool, and reads. */
export const loginImpact: Group = {
  name: 'login-impact',
  async run(bench) {
    if (!NAMES.some(bench.wants)) return [];
    bench.say('accounts.login-impact …');
    const seconds = Math.max(bench.seconds, LEAST_SECONDS);
    const web = await startBelfry(bench, 'web');
    const reads = async () =>
      (await load(web.url, OPERATIONS.read, { connections: READERS, seconds: bench.seconds })).perSecond;
    await reads();
    const waits: number[] = [];
    const alone: number[] = [];
    const among: number[] = [];
    for (let round = 0; round < bench.reps; round++) {
      waits.push(await amongLogins(web, seconds, () => web.ask<number>('lookups', seconds)));
      alone.push(await reads());
      among.push(await amongLogins(web, bench.seconds, reads));
    }
    await web.stop();
    const figures: Figure[] = [
      { name: NAMES[0]!, value: median(waits), unit: 'ms', note: `dns.lookup while ${LOGINS} clients log in` },
      ratio(NAMES[1]!, among, alone, `while ${LOGINS} clients log in, to without them`),
    ];
    return figures.filter(({ name }) => bench.wants(name));
  },
};
