// An app with fifty resources in its own process. Creates its tables if BENCH_MIGRATE is set; otherwise starts `web`.
import { releaseMemory } from '../../src/runtime/release-memory.ts';
import { fiftyResources } from '../apps/fifty-resources.ts';
import { ready } from './child.ts';

const app = fiftyResources(process.env);
if (process.env.BENCH_MIGRATE === undefined) {
  const { url } = await app.start({ port: 0, roles: ['web'] });
  releaseMemory();
  const answer = await fetch(`${url}/readyz`);
  if (!answer.ok) throw new Error(`web is not ready: ${await answer.text()}`);
  ready(url);
} else {
  await app.migrate({ mode: 'sync' });
  await app.close();
  ready('');
}
