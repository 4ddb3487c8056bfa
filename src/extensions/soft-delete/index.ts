import { z } from 'zod';
import { defineExtension, type Extension } from '../../declare/extension.ts';
import { createPurgeSweep } from './purge.ts';
import { type SoftDeleteOptions, softDeleteSettings } from './settings.ts';

export type { SoftDeleteOptions } from './settings.ts';

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
    setup: (host, { keepDays }) => ({ sweeps: createPurgeSweep(host, keepDays) }),
  });
}
