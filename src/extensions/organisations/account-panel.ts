import { type AccountPanel, quoteIdentifier } from '../../extension/index.ts';
import type { OrganisationContext } from './membership/context.ts';
import { ORGANISATION } from './membership/resources.ts';

/** Memberships and invitations that the panel lists. */
const MAX_SHOWN = 100;

type Row = [id: string, organisation: string, name: string | null, role: string, state: string, since: string];

/** Creates the panel with the organisations of an account, and those that have invited its address. Owners and managers change members. */
export function createMembershipPanel({
  host: { database },
  users,
  organisations,
  memberships,
}: Pick<OrganisationContext, 'host' | 'users' | 'organisations' | 'memberships'>): AccountPanel {
  const [groups, members] = [quoteIdentifier(organisations.table), quoteIdentifier(memberships.table)];
  // Uses the index of memberships by user, and a scan of the invitations, which expire.
  const text = `
    select found.id, found.organisation, o.name, found.role, found.state, found.since from (
      select m.id, m.organisation, m.role, 'Member' as state, m.created_at as since from ${members} m where m."user" = $1
      union all
      select i.id, i.organisation, i.role, 'Invited', i.created_at from organisation_invitations i
      where i.accepted_at is null and i.expires_at > now()
        and i.email = (select u.email from ${quoteIdentifier(users.table)} u where u.id = $1)
    ) found left join ${groups} o on o.id = found.organisation
    order by found.since desc limit ${MAX_SHOWN}`;
  return {
    id: 'organisations',
    label: 'Organisations',
    columns: [
      { name: 'name', label: 'Organisation' },
      { name: 'role', label: 'Role' },
      { name: 'state', label: 'State', kind: 'word' },
      { name: 'since', label: 'Since', kind: 'time' },
    ],
    empty: 'Not a member of any organisation. Managers of an organisation invite or add members.',
    async read(userId) {
      const rows = await database.readSlowly<Row>({ text, values: [userId] });
      return {
        rows: rows.map(([id, organisation, name, role, state, since]) => ({
          id,
          values: { name: name ?? organisation, role, state, since },
        })),
        link: { label: 'All organisations', href: `/console/data/${ORGANISATION}` },
      };
    },
  };
}
