import type { ExtensionHost } from '../../../declare/extension.ts';
import type { Sweep } from '../../../platform/outbox/relay.ts';
import { removeInBatches } from '../../../platform/postgres/write-in-batches.ts';
import { DUE, FORGET_NOTICES } from './sql.ts';

const EVERY_MS = 5000;
const AT_ONCE = 500;

/** Adds the jobs of erasures that have something to do, and forgets the e-mails that told of one. */
export function erasureSweep({ database, jobs }: Pick<ExtensionHost, 'database' | 'jobs'>): Sweep {
  return {
    name: 'erasures of accounts',
    everyMs: EVERY_MS,
    async run() {
      const due = await database.write<[id: string]>({ text: DUE, values: [AT_ONCE] });
      // One that is under way keeps its job.
      await jobs.add('erase', due.flat());
      return due.length + (await removeInBatches(database, FORGET_NOTICES));
    },
  };
}
