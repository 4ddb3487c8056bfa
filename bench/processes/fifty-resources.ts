// An app with fifty resources in its own process. Creates its tables if BENCH_MIGRATE is set; otherwise starts `web`.
import { releaseMemory } from '../../src/runtime/run-process.ts';
import { createFiftyResourcesApp } from '../apps/fifty-resources.ts';
import { reportReady } from './child.ts';

const app = createFiftyResourcesApp(process.env);
if (process.env.BENCH_MIGRATE === undefined) {
  const { url } = await app.start({ port: 0, roles: ['web'] });
  releaseMemory();
  const response = await fetch(`${url}/readyz`);
  if (!response.ok) throw new Error(`web is not ready: ${await response.text()}`);
  reportReady(url);
} else {
  await app.migrate({ mode: 'sync' });
  await app.close();
  reportReady('');
}
