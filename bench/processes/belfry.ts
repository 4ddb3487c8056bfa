// Belfry in a process of its own, in the role that BENCH_ROLE names.
import { benchApp } from '../app.ts';
import type { Role } from '../environment.ts';
import { now, ready } from './child.ts';

interface Created {
  record: { id: string };
}

const app = benchApp(process.env);
const { url } = await app.start({ port: 0, roles: [process.env.BENCH_ROLE as Role] });
const commits: [id: string, at: number][] = [];

ready(url, {
  /** From now on notes when this process learns that a create is committed. */
  watch: () => app.on<Created>('article.created', ({ record }) => void commits.push([record.id, now()])),
  commits: () => commits,
});
