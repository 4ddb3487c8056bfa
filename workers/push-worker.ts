import { runProcess } from '../src/runtime/run-process.ts';

await runProcess('push-worker', () => import('../src/app/index.ts'), process.env);
