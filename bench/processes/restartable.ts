// Belfry as an entry point of a deployment runs it, in the role of BENCH_ROLE: it stops on SIGTERM.
import type { ProcessRole } from '../../src/declare/process-role.ts';
import { runProcess } from '../../src/runtime/run-process.ts';
import { createBenchApp } from '../apps/articles.ts';
import { reportReady } from './child.ts';

const { BENCH_ROLE, PORT } = process.env;
await runProcess(BENCH_ROLE as ProcessRole, async () => ({ app: createBenchApp }), process.env);
reportReady(`http://127.0.0.1:${PORT}`);
