import { runProcess } from '../src/runtime/run-process.ts';

await runProcess('relay', () => import('../src/app/index.ts'), process.env);
