import { defineExtension, type Extension } from '../../declare/extension.ts';
import { createPurge } from './purge.ts';
import { keepDaysMistakes, type SoftDeleteOptions } from './settings.ts';

export type { SoftDeleteOptions } from './settings.ts';

const KEEP_DAYS = 30;

/**
 * Soft delete: deleted records of resources with `softDelete: true` are kept for some time, and those who may delete a record may
 * restore it.
 *
 * @example createApp({ resources, extensions: [softDelete({ keepDays: 90 })] }, process.env)
 */
export function softDelete({ keepDays = KEEP_DAYS }: SoftDeleteOptions = {}): Extension {
  return defineExtension({
    name: 'softDelete',
    resourceOptions: ['softDelete'],
    mistakes: () => keepDaysMistakes(keepDays),
    setup: (host) => ({ sweeps: createPurge(host, keepDays) }),
  });
}
