// The app whose accounts are erased, with all roles in one process.
import { createErasureApp } from '../apps/erasure.ts';
import { reportReady } from './child.ts';

const { url } = await createErasureApp(process.env).start({
  port: 0,
  roles: ['web', 'relay', 'webhook-worker', 'push-worker'],
});
reportReady(url);
