import { defineExtension, type Extension } from '../../declare/extension.ts';
import { createPurge } from './purge.ts';
import { type SoftDeleteOptions, softDeleteSettings } from './settings.ts';

export type { SoftDeleteOptions } from './settings.ts';

/**
 * Soft delete: deleted records of resources with `softDelete: true` are kept for some time, and those who may delete a record may
 * restore it.
 *
 * @example createApp({ resources, extensions: [softDelete({ keepDays: 90 })] }, process.env)
 */
export function softDelete(options: SoftDeleteOptions = {}): Extension {
  return defineExtension({
    name: 'softDelete',
    resourceOptions: ['softDelete'],
    settings: softDeleteSettings,
    options,
    setup: (host, { keepDays }) => ({ sweeps: createPurge(host, keepDays) }),
  });
}
