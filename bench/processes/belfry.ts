// Belfry in its own process, in the role of BENCH_ROLE.
import { lookup } from 'node:dns/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { benchApp } from '../apps/articles.ts';
import { percentile } from '../measure/statistics.ts';
import type { Role } from '../setup/environment.ts';
import { now, ready } from './child.ts';

interface Created {
  record: { id: string };
}

const app = benchApp(process.env);
const { url } = await app.start({ port: 0, roles: [process.env.BENCH_ROLE as Role] });
const commits: [id: string, at: number][] = [];

/** Looks a host up repeatedly for this many seconds. Returns the 99th percentile of the times in ms. */
async function lookups(seconds: number): Promise<number> {
  const times: number[] = [];
  for (const end = now() + seconds * 1000; now() < end; await sleep(5)) {
    const begun = now();
    await lookup('localhost');
    times.push(now() - begun);
  }
  return percentile(
    times.toSorted((a, b) => a - b),
    0.99,
  );
}

ready(url, {
  lookups,
  /** From now on, records when this process learns of each commit of a create. */
  watch: () => app.on<Created>('article.created', ({ record }) => void commits.push([record.id, now()])),
  commits: () => commits,
  push: (message: object) => app.push.enqueue(message),
});
