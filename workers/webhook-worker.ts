import { runProcess } from '../src/runtime/run-process.ts';

await runProcess('webhook-worker', () => import('../src/app/index.ts'), process.env);
