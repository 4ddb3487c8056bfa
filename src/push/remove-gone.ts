import { type GoneDevice, removeDevices } from '../accounts/devices/index.ts';
import type { Platform } from '../platform/platform.ts';
import type { createAlarm } from './alarm.ts';

/** So many devices in a row are not gone: a wrong project, environment or key makes all of them look so. */
const MAX_IN_A_ROW = 19;

// The row is removed by the next success of the transport (store-answers.ts); what was long ago says nothing of now.
const COUNT = `
  insert into push_gone as g (transport, devices) values ($1, $2)
  on conflict (transport) do update set last_at = now(),
    devices = case when g.last_at < now() - interval '1 hour' then 0 else g.devices end + excluded.devices
  returning devices`;

/** Answers of a transport, as they came together. */
interface Answered {
  transport: string;
  gone: readonly GoneDevice[];
  /** Whether a device of the same transport accepted. */
  reached: boolean;
  /** What the provider says of the last one. */
  error: string;
}

/**
 * Removes devices that a provider calls gone, unless 20 or more in a row are and none is reached: then all are kept, until the
 * transport reaches one again, and the alarm is raised. The row is counted over all processes.
 *
 * @returns how many were removed
 */
export function createRemoveGone({ database }: Pick<Platform, 'database'>, alarm: ReturnType<typeof createAlarm>) {
  return async ({ transport, gone, reached, error }: Answered): Promise<number> => {
    if (!reached) {
      const values = [transport, gone.length];
      const rows = await database.write<[number]>({ name: 'push_gone', text: COUNT, values });
      const devices = rows[0]![0];
      if (devices > MAX_IN_A_ROW) {
        alarm({ transport, reason: 'gone', error, devices });
        return 0;
      }
    }
    return removeDevices(database, gone);
  };
}
