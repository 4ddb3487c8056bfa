import { z } from 'zod';
import { deleteGoneDevices } from '../../accounts/devices/index.ts';
import { validationError } from '../../platform/helpers/errors.ts';
import { isId } from '../../platform/helpers/ids.ts';
import type { Platform } from '../../platform/platform.ts';

/** A provider's later report about a notification that the provider had accepted. */
interface Receipt {
  ok: boolean;
  error?: string | undefined;
  /** Whether the token is no longer valid. The device is then removed. */
  unregistered?: boolean | undefined;
  /** Name of the transport that received the report. */
  transport?: string | undefined;
}

/** Records what providers report later about notifications. */
export interface PushReceipts {
  /**
   * Stores a provider's later report about a device of a push, and emits `push.receipt`. A report about an unknown push or device is
   * ignored, because reports can arrive after the push was deleted.
   *
   * @throws ApiError VALIDATION_ERROR if the report is malformed
   */
  receipt(pushId: string, deviceId: string, report: Receipt): Promise<void>;
}

const MAX_ERROR_LENGTH = 500;

const text = z
  .string({ error: 'Must be a string' })
  .transform((value) => value.slice(0, MAX_ERROR_LENGTH).replaceAll('\0', '').toWellFormed())
  .optional();
const receiptSchema = z.object({
  ok: z.boolean({ error: 'Must be true or false' }),
  error: text,
  unregistered: z.boolean({ error: 'Must be true or false' }).default(false),
  transport: text,
});

// Stores the provider's report about a device of a push; it replaces an earlier report. Uses push_results_device_index.
const STORE_RECEIPT = `
  update push_results r set receipt = $3::jsonb || jsonb_build_object('at', now()) from pushes p
  where r.push_id = $1 and r.device_id = $2 and p.id = r.push_id returning p.created_at`;

/** Creates `app.push.receipt`. */
export function createReceiptRecorder({
  database,
  events,
  log,
}: Pick<Platform, 'database' | 'events' | 'log'>): PushReceipts['receipt'] {
  return async (pushId, deviceId, report) => {
    const parsed = receiptSchema.safeParse(report);
    if (!parsed.success) {
      const [issue] = parsed.error.issues;
      throw validationError({ [issue?.path.join('.') || 'receipt']: issue?.message ?? 'Must be valid' });
    }
    const { ok, error = null, unregistered, transport = null } = parsed.data;
    const stored = JSON.stringify({ ok, error, unregistered, transport });
    const rows =
      isId(pushId) && isId(deviceId)
        ? await database.write<[string]>({
            name: 'push_receipt',
            text: STORE_RECEIPT,
            values: [pushId, deviceId, stored],
          })
        : [];
    const createdAt = rows[0]?.[0];
    if (createdAt === undefined) {
      log.warn({ push: pushId, device: deviceId, transport }, 'ignored a receipt for an unknown push or device');
      return;
    }
    if (unregistered)
      await deleteGoneDevices(database, [{ id: deviceId, tokenHash: null, platform: null, seenUntil: createdAt }]);
    events.emit('push.receipt', { id: pushId, device: deviceId, ok, error, unregistered });
  };
}

// Stores the first tap of a device on a push; a tap on a push that the device did not receive changes nothing. Uses
// push_results_device_index.
const MARK_OPENED = `
  update push_results set opened_at = now()
  where push_id = $1 and device_id = $2 and user_id = $3 and opened_at is null`;

// Stores a tap of a device without a session, if it is the user's only such device that received the push. Uses devices_user_id_index.
const MARK_OPENED_WITHOUT_SESSION = `
  update push_results set opened_at = now()
  where push_id = $1 and user_id = $2 and opened_at is null and device_id = (
    select min(d.id) from devices d join push_results r on r.device_id = d.id and r.push_id = $1
    where d.user_id = $2 and d.session_id is null having count(*) = 1
  )`;

/** The payload of the event `push.opened`: ids of a push, a user and a device. */
interface OpenedPush {
  id: string | null;
  user: string | null;
  device: string | null;
}

/** Creates the listener of `push.opened` that records the first tap of a device on a push. */
export function createOpenedListener({ database }: Pick<Platform, 'database'>) {
  return async ({ id, user, device }: OpenedPush): Promise<void> => {
    if (!isId(id) || user === null) return;
    if (device === null) await database.write({ text: MARK_OPENED_WITHOUT_SESSION, values: [id, user] });
    else await database.write({ name: 'push_opened', text: MARK_OPENED, values: [id, device, user] });
  };
}
