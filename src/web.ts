import { runProcess } from './runtime/run-process.ts';

// `web` alone is a complete deployment: it runs every role that the environment does not disable.
await runProcess('web', () => import('./app/index.ts'), process.env);
