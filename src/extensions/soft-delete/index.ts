import { z } from 'zod';
import {
  createRetentionSweep,
  defineExtension,
  durationSetting,
  type Extension,
  type Host,
  quoteIdentifier,
  type Sweep,
  wholeNumberSettingSchema,
} from '../../extension/index.ts';

/** The settings of the extension. */
export const softDeleteSettings = z.strictObject({
  /** Days for which a deleted record is kept. */
  keepDays: durationSetting('d', wholeNumberSettingSchema(3650)).default(30),
});

/** The settings of the extension as a project writes them. All are optional. */
export type SoftDeleteOptions = z.input<typeof softDeleteSettings>;

declare module '../../declare/resource.ts' {
  interface ExtensionResourceOptions {
    /** Keeps deleted records for some time, so that they can be restored. */
    softDelete?: boolean;
  }
}

/**
 * Soft delete: keeps deleted records of resources with `softDelete: true` for some time. A caller who may delete a record may restore
 * it.
 *
 * @example createApp({ resources, extensions: [softDelete({ keepDays: 90 })] }, process.env)
 */
export function softDelete(options: SoftDeleteOptions = {}): Extension {
  return defineExtension({
    name: 'softDelete',
    resourceOptions: { softDelete: z.boolean({ error: 'must be true or false' }) },
    settings: softDeleteSettings,
    options,
    setup: (host, { keepDays }) => ({ sweeps: createPurgeSweeps(host, keepDays) }),
  });
}

const PURGE_EVERY_MS = 10 * 60_000;

/** Creates one sweep for each resource that permanently removes records deleted more than `keepDays` ago. */
function createPurgeSweeps({ resources, database }: Host, keepDays: number): Sweep[] {
  return resources.flatMap(({ name, archiveTable }) =>
    archiveTable === undefined
      ? []
      : createRetentionSweep(database, {
          name: `deleted records of ${name}`,
          everyMs: PURGE_EVERY_MS,
          removals: [
            { table: quoteIdentifier(archiveTable), column: 'deleted_at', keep: `interval '${keepDays} days'` },
          ],
        }),
  );
}
