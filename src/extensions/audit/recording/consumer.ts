import {
  type AnyResource,
  createErasurePlan,
  type Executor,
  type Fields,
  findOrganisationField,
  gatewaysByName,
  type Host,
  isPersonalField,
  isRecordChange,
  type OutboxConsumer,
  type OutboxRow,
  quoteIdentifier,
  type ResourceGateway,
  snakeCase,
} from '../../../extension/index.ts';
import { appendToChain } from '../trail/chain.ts';
import type { AuditEvent } from '../trail/entry.ts';
import { type ComputeChanges, compileChanges } from './changes.ts';
import { AUDIT_EVENT_ROW, type AuditEventPayload } from './event-writer.ts';

/** A resource whose changes can be recorded. */
interface AuditedResource {
  gateway: ResourceGateway;
  computeChanges: ComputeChanges;
  /** Fields whose values an erasure of the owner's account removes from the trail, as it does from the records. */
  erasable: readonly string[];
  /** The columns that hold the owner of a record: the current one, then those of former names. */
  ownerColumns: readonly string[];
  /** Like `ownerColumns`, for the organisation that the records belong to. */
  organisationColumns: readonly string[];
}

/** The column of a field, then those of its former names. */
function columnsOf({ fields }: AnyResource, field: string | undefined): string[] {
  if (field === undefined) return [];
  return [field, ...((fields as Fields)[field]?.spec.renamedFrom ?? [])].map(snakeCase);
}

/** The value that the row of an event has in the first of some columns that it has. */
function findValue(row: unknown, columns: readonly string[]): unknown {
  const values = row as Record<string, unknown> | undefined;
  return columns.map((column) => values?.[column]).find((value) => value !== undefined);
}

function compileAuditedResource(gateway: ResourceGateway, isUser: boolean): AuditedResource {
  const { personal, action, ownerField } = createErasurePlan(gateway.declaration, isUser);
  // Fields to mask although their names do not look personal: an erasure removes their values, but cannot change the trail. Those that look
  // personal by name are masked more precisely, for example only one member of an object.
  const others = personal.filter(({ name, spec }) => !isPersonalField(name, spec));
  const erasable = {
    // The whole record is deleted.
    delete: Object.keys(gateway.declaration.fields),
    // An anonymized object loses all members, including those that are not personal.
    anonymize: personal.map(({ name }) => name),
    keep: [],
  };
  const organisationField = findOrganisationField(gateway);
  return {
    gateway,
    organisationColumns: columnsOf(gateway.declaration, organisationField),
    computeChanges: compileChanges(gateway, new Set(others.map(({ name }) => name))),
    erasable: erasable[action],
    ownerColumns: isUser ? ['id'] : columnsOf(gateway.declaration, ownerField),
  };
}

/** The origin of a change as stored in the outbox: how the caller was authenticated, id of the session or key, IP address. */
interface Origin {
  via?: string;
  id?: string;
  ip?: string;
  /** The organisation that made the change with an API key of its own. */
  organisation?: string;
}

/** Returns the changes and the fields that an erasure can remove. Values of a record deleted by an erasure are not stored. */
function computeErasableChanges(
  { computeChanges, erasable, ownerColumns }: AuditedResource,
  row: OutboxRow,
): Pick<AuditEvent, 'changes' | 'erasable'> {
  const changes = computeChanges(row);
  const { record, erased } = row.payload as { record: Record<string, unknown>; erased?: true };
  if (erased && row.name.endsWith('.deleted')) {
    return { changes: Object.fromEntries(Object.keys(changes).map((field) => [field, { changed: true }])) };
  }
  const owner = findValue(record, ownerColumns);
  return { changes, erasable: typeof owner === 'string' ? { owner, fields: erasable } : undefined };
}

/** The organisation of a record that belongs to one, or that made the change itself. */
function organisationDetails({ organisationColumns }: AuditedResource, { payload }: OutboxRow): AuditEvent['details'] {
  const acting = (payload.origin as Origin | undefined)?.organisation;
  const organisation = findValue(payload.record, organisationColumns) ?? acting;
  return typeof organisation === 'string' ? { organisation } : null;
}

function toAuditEvent(audited: AuditedResource, row: OutboxRow): AuditEvent {
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
    ...computeErasableChanges(audited, row),
    details: organisationDetails(audited, row),
  };
}

/** Creates the function that finds users by the e-mails in events, so that failed sign-ins appear in the trail of the user. */
function createUserIdFinder(users: ResourceGateway | undefined) {
  const text = users && `select email, id from ${quoteIdentifier(users.table)} where email = any($1::text[])`;
  return async (rows: readonly OutboxRow[], tx: Executor): Promise<Map<string, string>> => {
    const emails = rows.flatMap(({ name, payload }) =>
      name === AUDIT_EVENT_ROW ? ((payload as unknown as AuditEventPayload).email ?? []) : [],
    );
    if (text === undefined || emails.length === 0) return new Map();
    return new Map(await tx.write<[email: string, id: string]>({ text, values: [[...new Set(emails)]] }));
  };
}

/**
 * Creates the relay consumer that appends changes of audited records, and the extension's own rows, to the audit trail exactly once.
 * The consumer runs last, because it locks the end of the chain until the transaction ends.
 */
export function createAuditConsumer({ resources, users }: Pick<Host, 'resources' | 'users'>): OutboxConsumer {
  const compiled = new Map(
    Array.from(gatewaysByName(resources), ([name, gateway]) => [
      name,
      compileAuditedResource(gateway, gateway === users),
    ]),
  );
  // Changes that administrators make in the console are recorded for every resource.
  const isAudited = ({ resource, payload }: OutboxRow) => {
    const { via } = (payload.origin ?? {}) as Origin;
    return via === 'console' || compiled.get(resource!)?.gateway.declaration.audit === true;
  };
  const findUserIds = createUserIdFinder(users);

  return {
    last: true,
    wants: (row) =>
      row.name === AUDIT_EVENT_ROW || (isRecordChange(row) && compiled.has(row.resource!) && isAudited(row)),
    async handle(rows, tx) {
      const userIdByEmail = await findUserIds(rows, tx);
      const events = rows.values().map((row): AuditEvent => {
        if (row.name !== AUDIT_EVENT_ROW) return toAuditEvent(compiled.get(row.resource!)!, row);
        const { email, ...event } = row.payload as unknown as AuditEventPayload;
        return email === undefined ? event : { ...event, record: userIdByEmail.get(email) ?? null };
      });
      await appendToChain(tx, events);
      return undefined;
    },
  };
}
