import { app } from './app/index.ts';
import { runProcess } from './runtime/run-process.ts';

// `web` alone is a whole deployment: it plays the roles that the environment does not switch off.
await runProcess(app, process.env);
