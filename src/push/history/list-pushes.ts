import type { PushResult } from '../../declare/push.ts';
import type { Database } from '../../platform/data/postgres/database.ts';
import type { PushSummary } from './responses.ts';

/** Up to this number of devices, a list has the number of taps and late failures: they are counted in the results of the push. */
const MAX_COUNTED_DEVICES = 1000;

/** The number of elements of a member that is a text or an array. */
const sizeSql = (member: string) =>
  `case jsonb_typeof(p.audience->'${member}') when 'array' then jsonb_array_length(p.audience->'${member}') when 'string' then 1 else 0 end`;

const RESULTS = `(
    select array[count(*) filter (where opened_at is not null), count(*) filter (where (receipt->>'ok')::boolean is false)]::int[]
    from push_results where push_id = p.id)`;

// Uses index pushes_created_at_index, and the primary key of the results.
const LIST = `
  select p.id, p.status, p.message->>'title', p.message->>'body', coalesce((p.message->>'silent')::boolean, false),
    ${sizeSql('to')}, ${sizeSql('deviceIds')},
    case jsonb_typeof(p.audience->'to') when 'string' then p.audience->>'to' when 'array' then p.audience->'to'->>0 end,
    p.created_at, p.finished_at, p.devices, p.ok_devices, case when p.devices <= ${MAX_COUNTED_DEVICES} then ${RESULTS} end
  from pushes p
  where ($1::text is null or p.status = $1)
    and ($2::text is null or (p.created_at, p.id) < (select created_at, id from pushes where id = $2))
  order by p.created_at desc, p.id desc limit $3`;

/** The maximum number of newest pushes among which failed ones are counted. */
const MAX_RECENT = 10_000;

// Uses index pushes_created_at_index.
const COUNT_FAILED = `
  select count(*) filter (where status = 'failed')::int
  from (select status from pushes where created_at > now() - interval '1 day' order by created_at desc limit ${MAX_RECENT}) recent`;

type Row = [
  id: string,
  status: PushResult['status'],
  title: string | null,
  body: string | null,
  isSilent: boolean,
  users: number,
  deviceIds: number,
  firstUser: string | null,
  createdAt: string,
  finishedAt: string | null,
  devices: number,
  accepted: number,
  counted: [opened: number, failedLater: number] | null,
];

function toSummary(row: Row): PushSummary {
  const [id, status, title, body, isSilent, users, deviceIds, firstUser] = row;
  const [createdAt, finishedAt, devices, accepted, counted] = row.slice(8) as [
    string,
    string | null,
    number,
    number,
    [number, number] | null,
  ];
  const [opened = null, failedLater = null] = counted ?? [];
  const audience = { users, devices: deviceIds, user: users === 1 ? firstUser : null };
  const about = { id, status, title, body, isSilent, audience, createdAt, finishedAt };
  return { ...about, counts: { devices, accepted, opened, failedLater } };
}

/**
 * Returns pushes, newest first.
 *
 * @param filter `after`: the id of the last push of the previous page
 */
export async function listPushes(
  database: Database,
  { status, after, limit }: { status?: PushResult['status']; after?: string; limit: number },
): Promise<PushSummary[]> {
  const rows = await database.readSlowly<Row>({ text: LIST, values: [status, after, limit] });
  return rows.map(toSummary);
}

/** Counts the pushes of the last 24 hours, up to the newest 10,000, that no device received. */
export async function countFailedPushes(database: Pick<Database, 'readSlowly'>): Promise<number> {
  const [row] = await database.readSlowly<[number]>({ text: COUNT_FAILED, values: [] });
  return row![0];
}
