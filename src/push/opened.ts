import { isId } from '../platform/ids.ts';
import type { Platform } from '../platform/platform.ts';

// Index push_results_device_index. What a client says of a push that its device did not get changes nothing.
const OPENED = `
  update push_results set opened_at = now()
  where push_id = $1 and device_id = $2 and user_id = $3 and opened_at is null`;

// A device that follows no session is known when it is the only such one of the user that got the push. Index devices_user_id_index.
const OPENED_WITHOUT_SESSION = `
  update push_results set opened_at = now()
  where push_id = $1 and user_id = $2 and opened_at is null and device_id = (
    select min(d.id) from devices d join push_results r on r.device_id = d.id and r.push_id = $1
    where d.user_id = $2 and d.session_id is null having count(*) = 1
  )`;

/** What `push.opened` tells. */
interface Opened {
  id: string | null;
  user: string | null;
  device: string | null;
}

/** A listener of `push.opened`: notes the first tap of a device on a push. */
export function noteOpened({ database }: Pick<Platform, 'database'>) {
  return async ({ id, user, device }: Opened): Promise<void> => {
    if (!isId(id) || user === null) return;
    if (device === null) await database.write({ text: OPENED_WITHOUT_SESSION, values: [id, user] });
    else await database.write({ name: 'push_opened', text: OPENED, values: [id, device, user] });
  };
}
