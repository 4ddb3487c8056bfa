import { runProcess } from '../src/runtime/run-process.ts';

await runProcess('job-worker', () => import('../src/app/index.ts'), process.env);
