import type { Host, ResourceGateway } from '../../declare/host.ts';
import type { OutboxConsumer } from '../../platform/outbox/relay.ts';
import { isRecordChange, type OutboxRow } from '../../platform/outbox/table.ts';
import type { Executor } from '../../platform/postgres/database.ts';
import { quoteIdentifier } from '../../platform/postgres/quote-identifier.ts';
import { isPersonal } from '../../records/fields/personal-data.ts';
import { erasurePlan } from '../../records/schema/erasure-plan.ts';
import { append } from './chain.ts';
import { changesOf } from './changes.ts';
import type { AuditEvent } from './entry.ts';
import { OWN_ROW, type OwnPayload } from './event-writer.ts';

/** A resource whose changes the trail tells of. */
interface Audited {
  gateway: ResourceGateway;
  /** What an erasure of an account takes out of its records, though it does not look personal: the trail, which cannot be changed,
   * never has it. */
  personal: ReadonlySet<string>;
  /** Fields whose values an erasure of the owner's account removes from the trail, as it does from the records. */
  erasable: readonly string[];
  ownerColumn: string | undefined;
}

function auditedOf(gateway: ResourceGateway, isUser: boolean): Audited {
  const { personal, action, ownerColumn } = erasurePlan(gateway.declaration, isUser);
  // What looks personal by itself is masked as finely as it looks so: a member of an object alone.
  const others = personal.filter(({ name, spec }) => !isPersonal(name, spec));
  const erasable = {
    // The whole record is deleted.
    delete: Object.keys(gateway.declaration.fields),
    // An object is emptied whole, including members that are not personal.
    anonymize: personal.map(({ name }) => name),
    keep: [],
  };
  return {
    gateway,
    personal: new Set(others.map(({ name }) => name)),
    erasable: erasable[action],
    ownerColumn: isUser ? 'id' : ownerColumn,
  };
}

/** Where a change came from, as the outbox keeps it. */
interface Origin {
  via?: string;
  id?: string;
  ip?: string;
}

/** The changes, and which of them an erasure can remove. Values of a record that an erasure has just removed are not stored at all. */
function changesIn(
  { gateway, personal, erasable, ownerColumn }: Audited,
  row: OutboxRow,
): Pick<AuditEvent, 'changes' | 'erasable'> {
  const changes = changesOf(gateway, row, personal);
  const { record, erased } = row.payload as { record: Record<string, unknown>; erased?: true };
  if (erased && row.name.endsWith('.deleted')) {
    return { changes: Object.fromEntries(Object.keys(changes).map((field) => [field, { changed: true }])) };
  }
  const owner = ownerColumn === undefined ? undefined : record[ownerColumn];
  return { changes, erasable: typeof owner === 'string' ? { owner, fields: erasable } : undefined };
}

function changed(audited: Audited, row: OutboxRow): AuditEvent {
  const { createdAt, name, recordId, userId, requestId, payload } = row;
  const { via = null, id = null, ip = null } = (payload.origin ?? {}) as Origin;
  return {
    at: createdAt,
    action: name.slice(name.lastIndexOf('.') + 1),
    resource: audited.gateway.name,
    record: recordId,
    user: userId,
    via,
    credential: id,
    ip,
    requestId,
    ...changesIn(audited, row),
    details: null,
  };
}

/** Finds the users of e-mails that somebody tried, so that the trail of a user tells of it. */
function createFinder(users: ResourceGateway | undefined) {
  const text = users && `select email, id from ${quoteIdentifier(users.table)} where email = any($1::text[])`;
  return async (rows: readonly OutboxRow[], tx: Executor): Promise<Map<string, string>> => {
    const emails = rows.flatMap(({ name, payload }) =>
      name === OWN_ROW ? ((payload as unknown as OwnPayload).email ?? []) : [],
    );
    if (text === undefined || emails.length === 0) return new Map();
    return new Map(await tx.write<[email: string, id: string]>({ text, values: [[...new Set(emails)]] }));
  };
}

/**
 * Turns changes of audited records, and the extension's own rows, into rows of the audit trail, in the relay's transaction: each
 * exactly once. Its turn is the last, since the end of the chain is held until the transaction ends.
 */
export function createConsumer({ resources, users }: Pick<Host, 'resources' | 'users'>): OutboxConsumer {
  const audited = new Map(
    resources
      .filter((gateway) => gateway.declaration.audit === true)
      .map((gateway) => [gateway.name, auditedOf(gateway, gateway === users)]),
  );
  const find = createFinder(users);

  return {
    last: true,
    wants: (row) => row.name === OWN_ROW || (isRecordChange(row) && audited.has(row.resource!)),
    async handle(rows, tx) {
      const found = await find(rows, tx);
      const events = rows.map((row): AuditEvent => {
        if (row.name !== OWN_ROW) return changed(audited.get(row.resource!)!, row);
        const { email, ...event } = row.payload as unknown as OwnPayload;
        return email === undefined ? event : { ...event, record: found.get(email) ?? null };
      });
      await append(tx, events);
      return undefined;
    },
  };
}
