// An app that takes uploads in its own process. Creates its tables if BENCH_MIGRATE is set; otherwise starts `web`.
import { createUploadsApp } from '../apps/uploads.ts';
import { reportReady } from './child.ts';

const app = createUploadsApp(process.env);
if (process.env.BENCH_MIGRATE === undefined) {
  const { url } = await app.start({ port: 0, roles: ['web'] });
  reportReady(url);
} else {
  await app.migrate({ mode: 'sync' });
  await app.close();
  reportReady('');
}
