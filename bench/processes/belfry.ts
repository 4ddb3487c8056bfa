// Belfry in its own process, in the role of BENCH_ROLE.
import { lookup } from 'node:dns/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { createBenchApp } from '../apps/articles.ts';
import { percentile } from '../measure/statistics.ts';
import type { Role } from '../setup/environment.ts';
import { currentTimeMs, reportReady } from './child.ts';

interface CreatedEvent {
  record: { id: string };
}

const app = createBenchApp(process.env);
const { url } = await app.start({ port: 0, roles: [process.env.BENCH_ROLE as Role] });
process.once('SIGTERM', () => void app.close().finally(() => process.exit()));
const commits: [id: string, at: number][] = [];

/** Looks a host up repeatedly for this many seconds. Returns the 99th percentile of the times in ms. */
async function measureLookups(seconds: number): Promise<number> {
  const times: number[] = [];
  for (const end = currentTimeMs() + seconds * 1000; currentTimeMs() < end; await sleep(5)) {
    const startedAt = currentTimeMs();
    await lookup('localhost');
    times.push(currentTimeMs() - startedAt);
  }
  return percentile(
    times.toSorted((a, b) => a - b),
    0.99,
  );
}

reportReady(url, {
  lookups: measureLookups,
  /** From now on, records when this process learns of each commit of a create. */
  watch: () => app.on<CreatedEvent>('article.created', ({ record }) => void commits.push([record.id, currentTimeMs()])),
  commits: () => commits,
  push: (message: object) => app.push.enqueue(message),
  /** Enqueues jobs, and a push and an e-mail to a user. */
  async enqueue({ jobs, user, email }: { jobs: number; user: string; email: string }) {
    const title = 'The bells of the old town';
    await Promise.all([
      ...Array.from({ length: jobs }, () => app.jobs.enqueue('noop')),
      app.push.enqueue({ to: user, title }),
      app.mail.send({ to: email, subject: title, text: 'They ring at noon.' }),
    ]);
  },
});
