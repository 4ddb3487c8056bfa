import type { DevicePlatform } from '../../accounts/devices/index.ts';
import type { Database } from '../../platform/postgres/database.ts';

/** A push that was captured instead of sent. */
export interface CapturedPush {
  id: string;
  /** With all defaults filled; `to` and `deviceIds` as passed by the caller, without raw tokens. */
  message: Record<string, unknown>;
  /** The devices it would have been sent to. `id` and `user` are null for a raw token; tokens are masked. */
  devices: { id: string | null; platform: DevicePlatform; token: string; user: string | null }[];
}

/** Access to captured pushes: `app.captured`, for development and tests. */
export interface Captured {
  /** The newest 1,000 pushes, newest first. Always empty in production, where nothing is captured. */
  pushes(): Promise<CapturedPush[]>;
}

// A chunk without a transport was captured.
const CAPTURED = `
  select p.id, p.message || p.audience, (
    select json_agg(json_build_object('id', r.device_id, 'platform', r.platform, 'token', r.masked_token, 'user', r.user_id)
      order by r.position)
    from push_chunks c join push_results r on r.push_id = c.push_id and r.position between c.first_position and c.last_position
    where c.push_id = p.id and c.transport is null and r.ok
  )
  from pushes p where p.captured_devices > 0 order by p.created_at desc, p.id desc limit 1000`;

/** Reads captured pushes from Postgres, so that every process sees the captures of all processes. */
export function createCaptured(database: Database): Captured {
  return {
    async pushes() {
      const rows = await database.write<[string, CapturedPush['message'], CapturedPush['devices']]>({
        text: CAPTURED,
        values: [],
      });
      return rows.map(([id, message, devices]) => ({ id, message, devices }));
    },
  };
}
