import type { PushResult } from '../declare/push.ts';
import type { Database } from '../platform/postgres/database.ts';
import { DEVICE_COLUMNS, type DeviceRow, type ShownDevice, showDevice } from './timeline.ts';

const RECENT = `
  select id, status, message, created_at, devices, ok_devices from pushes order by created_at desc, id desc limit $1`;
// Of each push the first devices alone, by the primary key: it may have gone to 100,000.
const DEVICES = `
  select ${DEVICE_COLUMNS}, r.device_name, p.id from unnest($1::text[]) wanted(id) join pushes p on p.id = wanted.id
  cross join lateral (select * from push_results where push_id = p.id order by position limit $2) r
  left join push_chunks c on c.push_id = r.push_id and r.position between c.first_position and c.last_position
  order by r.position`;

/** A push in a list of the newest. */
export interface RecentPush {
  id: string;
  status: PushResult['status'];
  /** Without whom it goes to. */
  message: Record<string, unknown>;
  createdAt: string;
  counts: { devices: number; accepted: number };
  /** The first ones. `name`: what the device was called when the push was sent. */
  devices: (ShownDevice & { name: string | null })[];
}

/** The newest pushes, newest first, each with its first devices. */
export async function readRecentPushes(
  database: Database,
  { limit, devices: most }: { limit: number; devices: number },
): Promise<RecentPush[]> {
  type NamedRow = [...DeviceRow, name: string | null, push: string];
  type Row = [string, PushResult['status'], Record<string, unknown>, string, number, number];
  const pushes = await database.read<Row>({ text: RECENT, values: [limit] });
  const ids = pushes.map(([id]) => id);
  const rows = await database.read<NamedRow>({ text: DEVICES, values: [ids, most] });
  const byPush = Map.groupBy(rows, (row) => row.at(-1) as string);
  return pushes.map(([id, status, message, createdAt, devices, accepted]) => {
    const own = (byPush.get(id) ?? []).map((row) => ({
      ...showDevice(row.slice(0, -2) as DeviceRow),
      name: row.at(-2) as string | null,
    }));
    return { id, status, message, createdAt, counts: { devices, accepted }, devices: own };
  });
}
