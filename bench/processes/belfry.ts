// Belfry in a process of its own. BENCH_ROLES names its roles, separated by commas.
import { benchApp } from '../app.ts';
import { ready } from './child.ts';

const roles = (process.env.BENCH_ROLES ?? 'web').split(',') as ('web' | 'relay' | 'webhook-worker' | 'push-worker')[];
const app = benchApp(process.env);

interface Created {
  record: { id: string };
}

/** When this process learned that the create of a record is committed, by the record's id. */
const committed = new Map<string, number>();

ready((await app.start({ port: 0, roles })).url, {
  /** Notes commits from now on. */
  watch: () => app.on<Created>('article.created', ({ record }) => void committed.set(record.id, at())),
  committed: () => [...committed],
});

function at(): number {
  return performance.timeOrigin + performance.now();
}
