import { isId } from '../platform/ids.ts';
import type { Platform } from '../platform/platform.ts';

// Index push_results_device_index. What a client says of a push that its device did not get changes nothing.
const OPENED = `
  update push_results set opened_at = now()
  where push_id = $1 and device_id = $2 and user_id = $3 and opened_at is null`;

/** What `push.opened` tells. */
interface Opened {
  id: string | null;
  user: string | null;
  device: string | null;
}

/** A listener of `push.opened`: notes the first tap of a device on a push. */
export function noteOpened({ database }: Pick<Platform, 'database'>) {
  return async ({ id, user, device }: Opened): Promise<void> => {
    if (!isId(id) || device === null || user === null) return;
    await database.write({ name: 'push_opened', text: OPENED, values: [id, device, user] });
  };
}
