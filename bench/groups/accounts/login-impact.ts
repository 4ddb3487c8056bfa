import { createRatio, type Figure, type Group } from '../../figure.ts';
import { type LoadRequest, runLoad } from '../../measure/load.ts';
import { median } from '../../measure/statistics.ts';
import { startBelfry } from '../../setup/belfry.ts';
import type { Child } from '../../setup/children.ts';
import { getUserEmail, PASSWORD, USERS } from '../../setup/seed.ts';
import { OPERATIONS } from '../records/operations.ts';

// More than are hashed concurrently, so that the queue is never empty.
const LOGINS = 20;
const READERS = 20;
const MIN_SECONDS = 4;
const NAMES = ['accounts.login-impact.dns.p99', 'accounts.login-impact.reads'];

function createLoginFactory(): () => LoadRequest {
  let loginCount = 0;
  return () => {
    const body = JSON.stringify({ email: getUserEmail(loginCount++ % USERS), password: PASSWORD });
    return { method: 'POST', path: '/api/auth/login', body, status: 200 };
  };
}

/** Runs `work` while as many logins are hashed as the hasher allows. */
async function runDuringLogins<T>(web: Child, seconds: number, work: () => Promise<T>): Promise<T> {
  const flood = runLoad(web.url, createLoginFactory(), { connections: LOGINS, seconds: seconds + 1 });
  const [result] = await Promise.all([work(), flood]);
  return result;
}

/** Measures how a flood of logins slows down everything else: host look-ups, which share the thread pool, and reads. */
export const loginImpact: Group = {
  name: 'accounts',
  async run(bench) {
    if (!NAMES.some(bench.isRequested)) return [];
    bench.logProgress('accounts.login-impact …');
    const seconds = Math.max(bench.seconds, MIN_SECONDS);
    const web = await startBelfry(bench, 'web');
    const measureReads = async () =>
      (await runLoad(web.url, OPERATIONS.read, { connections: READERS, seconds: bench.seconds })).perSecond;
    await measureReads();
    const lookupTimes: number[] = [];
    const withoutLogins: number[] = [];
    const duringLogins: number[] = [];
    for (let round = 0; round < bench.reps; round++) {
      lookupTimes.push(await runDuringLogins(web, seconds, () => web.call<number>('lookups', seconds)));
      withoutLogins.push(await measureReads());
      duringLogins.push(await runDuringLogins(web, bench.seconds, measureReads));
    }
    await web.stop();
    const figures: Figure[] = [
      { name: NAMES[0]!, value: median(lookupTimes), unit: 'ms', note: `dns.lookup while ${LOGINS} clients log in` },
      createRatio(NAMES[1]!, duringLogins, withoutLogins, `while ${LOGINS} clients log in, to no logins`),
    ];
    return figures.filter(({ name }) => bench.isRequested(name));
  },
};
