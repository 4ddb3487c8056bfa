import type { AccountPanel, Host } from '../../extension/index.ts';
import { KNOWN_DEVICES_SUMMARY } from './sql.ts';

type SummaryRow = [count: number, firstSeenAt: string | null, lastSeenAt: string | null];

/** Creates the panel with the devices that an account has signed in from. Their names are not known: only fingerprints are stored. */
export function createKnownDevicePanel({ read }: Host['database']): AccountPanel {
  return {
    id: 'known-devices',
    label: 'Known devices',
    empty: 'None yet. A sign-in from a device that is not known sends the user an e-mail.',
    async read(userId) {
      const [[count, firstSeenAt, lastSeenAt] = [0, null, null]] = await read<SummaryRow>({
        text: KNOWN_DEVICES_SUMMARY,
        values: [userId],
      });
      if (count === 0) return {};
      return {
        facts: [
          { label: 'Known devices', value: count },
          { label: 'First seen', value: firstSeenAt, kind: 'time' },
          { label: 'Last sign-in', value: lastSeenAt, kind: 'time' },
        ],
      };
    },
  };
}
