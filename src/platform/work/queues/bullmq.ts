import { createRequire } from 'node:module';
import type * as Bullmq from 'bullmq';

const requirePackage = createRequire(import.meta.url);

/** Loads BullMQ, which takes 6 MB, when a process first needs a queue. A process with only the role `web` may never need one. */
export const loadBullmq = (): typeof Bullmq => requirePackage('bullmq');
