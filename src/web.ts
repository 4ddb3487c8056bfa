import { runProcess } from './runtime/run-process.ts';

// `web` alone is a complete deployment: it runs every role that the environment does not switch off.
await runProcess('web', () => import('./app/index.ts'), process.env);
