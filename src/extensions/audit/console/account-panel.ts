import type { AccountPanel, Host, PanelRow, ResourceGateway } from '../../../extension/index.ts';
import { createPageReader, type ListQuery } from '../reading/query.ts';
import type { Entry } from '../trail/entry.ts';
import { actionInWords } from './words.ts';

/** Entries that the panel shows. */
const MAX_SHOWN = 10;

function toRow({ id, action, resource, record, user, at, ip, via }: Entry): PanelRow {
  const subject = record === null ? resource : `${resource}/${record}`;
  return { id: String(id), values: { action: actionInWords(action), record: subject, user, via, at, ip } };
}

/** Creates the panel with the newest entries about an account and of its user. */
export function createAuditPanel(
  { database, settings }: Pick<Host, 'database' | 'settings'>,
  users: Pick<ResourceGateway, 'name'>,
): AccountPanel {
  const readPage = createPageReader(database);
  const read = (filter: Partial<ListQuery>) => readPage({ limit: MAX_SHOWN, ...filter }, settings.http.pageBytes);
  return {
    id: 'audit',
    label: 'Recent activity',
    columns: [
      { name: 'action', label: 'Action', kind: 'word' },
      { name: 'record', label: 'Record', kind: 'record' },
      { name: 'user', label: 'By', kind: 'user' },
      { name: 'via', label: 'Via' },
      { name: 'at', label: 'Time', kind: 'time' },
      { name: 'ip', label: 'Address', kind: 'code' },
    ],
    empty: 'The audit trail has no entries yet. Sign-ins and changes of the account appear here.',
    async read(userId) {
      const pages = await Promise.all([read({ user: userId }), read({ resource: users.name, record: userId })]);
      const entries = new Map(pages.flatMap(({ records }) => records).map((entry) => [entry.id, entry]));
      const newest = [...entries.values()].sort((a, b) => b.at.localeCompare(a.at) || b.id - a.id);
      return {
        rows: newest.slice(0, MAX_SHOWN).map(toRow),
        link: { label: 'All entries of this user', href: `/console/audit?user=${userId}` },
      };
    },
  };
}
