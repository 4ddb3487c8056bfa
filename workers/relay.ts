import { app } from '../src/app/index.ts';
import { runProcess } from '../src/runtime/run-process.ts';

await runProcess(app, process.env, { roles: ['relay'] });
