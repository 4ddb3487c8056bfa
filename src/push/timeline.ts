import type { DevicePlatform } from '../accounts/devices/index.ts';

/** What happened to a device of a push, in the order in which it did. */
export interface TimelineEntry {
  at: string;
  /**
   * `queued`; `sent`: handed to its transport; `accepted` or `refused`: the provider's answer; `retry`: when it is tried again;
   * `receipt`: the provider reported later; `opened`.
   */
  event: 'queued' | 'sent' | 'accepted' | 'refused' | 'retry' | 'receipt' | 'opened';
  /** Of `receipt`. */
  ok?: boolean;
  /** The provider's id of the notification. */
  id?: string;
  error?: string;
}

/** A device of a push as it is shown. */
export interface ShownDevice {
  /** Null: a raw token. */
  device: string | null;
  user: string | null;
  platform: DevicePlatform;
  /** Masked. */
  token: string;
  /** Null: none, or none is known yet. */
  transport: string | null;
  /** Null: no answer yet. */
  ok: boolean | null;
  error: string | null;
  timeline: TimelineEntry[];
}

interface Earlier {
  sentAt: string;
  answeredAt: string;
  error: string | null;
  retryAt: string | null;
}

interface StoredReceipt {
  ok: boolean;
  error: string | null;
  at: string;
}

/** What is selected of a device: of the result `r`, its chunk `c` and its push `p`. */
export const DEVICE_COLUMNS = `
  r.device_id, r.user_id, r.platform, r.masked_token, c.transport, r.ok, r.provider_id, r.error, r.sent_at, r.answered_at,
  r.retry_at, r.earlier, r.receipt, r.opened_at, p.created_at`;

/** Those columns, in their order. */
export type DeviceRow = [
  deviceId: string | null,
  userId: string | null,
  platform: DevicePlatform,
  maskedToken: string,
  transport: string | null,
  ok: boolean | null,
  providerId: string | null,
  error: string | null,
  sentAt: string | null,
  answeredAt: string | null,
  retryAt: string | null,
  earlier: Earlier[] | null,
  receipt: StoredReceipt | null,
  openedAt: string | null,
  queuedAt: string,
];

// Times within JSON are written by Postgres, with its own zone and precision.
const iso = (text: string) => new Date(text).toISOString();
const reason = (error: string | null) => (error === null ? {} : { error });

function failedTry({ sentAt, answeredAt, error, retryAt }: Earlier): TimelineEntry[] {
  return [
    { at: iso(sentAt), event: 'sent' },
    { at: iso(answeredAt), event: 'refused', ...reason(error) },
    ...(retryAt === null ? [] : [{ at: iso(retryAt), event: 'retry' as const }]),
  ];
}

/** A device with its timeline. */
export function showDevice(row: DeviceRow): ShownDevice {
  const [device, user, platform, token, transport, ok, providerId, error, sentAt, answeredAt, retryAt] = row;
  const [earlier, receipt, openedAt, queuedAt] = row.slice(11) as [
    Earlier[] | null,
    StoredReceipt | null,
    string | null,
    string,
  ];
  const timeline: TimelineEntry[] = [{ at: queuedAt, event: 'queued' }, ...(earlier ?? []).flatMap(failedTry)];
  if (sentAt !== null) timeline.push({ at: sentAt, event: 'sent' });
  if (ok === true)
    timeline.push({ at: answeredAt!, event: 'accepted', ...(providerId === null ? {} : { id: providerId }) });
  if (ok === false) timeline.push({ at: answeredAt!, event: 'refused', ...reason(error) });
  if (retryAt !== null) timeline.push({ at: retryAt, event: 'retry' });
  if (receipt !== null)
    timeline.push({ at: iso(receipt.at), event: 'receipt', ok: receipt.ok, ...reason(receipt.error) });
  if (openedAt !== null) timeline.push({ at: openedAt, event: 'opened' });
  return { device, user, platform, token, transport, ok, error, timeline };
}
