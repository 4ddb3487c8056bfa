import type { PushResult } from '../declare/push.ts';
import type { Database } from '../platform/postgres/database.ts';

const READ = `
  select status, devices, finished_at is not null, exists (select from push_audiences where push_id = $1)
  from pushes where id = $1`;
const RESULTS = `
  select device_id, coalesce(ok, false), provider_id, error from push_results where push_id = $1 order by position`;

/** How far a push is. */
export interface Progress {
  status: PushResult['status'];
  /** Devices found so far. */
  devices: number;
  /** Whether every device was tried. */
  finished: boolean;
  /** Whether more devices may be found. */
  growing: boolean;
}

/** How far a push is; undefined when there is no such push. */
export async function readProgress(database: Database, id: string): Promise<Progress | undefined> {
  const [row] = await database.read<[PushResult['status'], number, boolean, boolean]>({
    name: 'push_read',
    text: READ,
    values: [id],
  });
  if (row === undefined) return undefined;
  const [status, devices, finished, growing] = row;
  return { status, devices, finished, growing };
}

/** The results of a push's devices. */
export async function readResults(database: Database, id: string): Promise<PushResult['results']> {
  type Row = [string | null, boolean, string | null, string | null];
  const rows = await database.read<Row>({ name: 'push_results', text: RESULTS, values: [id] });
  return rows.map(([device, ok, providerId, error]) => ({
    device,
    ok,
    ...(providerId === null ? {} : { id: providerId }),
    ...(error === null ? {} : { error }),
  }));
}
