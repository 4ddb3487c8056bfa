import type { PgTable } from 'drizzle-orm/pg-core';
import type { Fields } from '../../../declare/field.ts';
import type { ResourceGateway, UserData } from '../../../declare/host.ts';
import { snakeCase } from '../../../declare/naming.ts';
import { ownerFieldOf } from '../../../records/schema/compile.ts';
import { tablesOf } from '../../../records/schema/tables-of.ts';
import { describeDeclared, describePolicy } from './describe-policy.ts';
import { personalColumns } from './personal-columns.ts';
import { personalFields, type Reason } from './personal-fields.ts';

/** A personal field of a resource. */
export interface ReportedField {
  resource: string;
  /** `address.city` of an object. */
  field: string;
  reason: Reason;
  /** `users.email`; the table of deleted records, too. */
  storedIn: string[];
  encrypted: boolean;
  /** In words. */
  seenBy: string;
  /** How long it stays, in words. */
  kept: string;
}

/** What features hold about users in tables of their own. */
export interface ReportedData {
  name: string;
  description: string;
  /** By table: the columns that name users, and those that look personal. */
  storedIn: { table: string; columns: string[] }[];
  /** What of it an erasure leaves, in words; null: nothing. */
  kept: string | null;
}

/** Where personal data is, by the declarations. */
export interface PrivacyReport {
  /** What the declarations say is personal, or look like. */
  fields: ReportedField[];
  /** What looks personal, and no declaration says so. */
  unmarked: { resource: string; field: string }[];
  data: ReportedData[];
  /** Tables that seem to hold data of users, and are in no export and no erasure. */
  unclaimed: { table: string; columns: string[] }[];
}

// Events under way, which the relay takes within seconds; ids of accounts that are erased.
const NOT_HELD = ['outbox', 'privacy_erasures'];

const ON_OWNER_DELETE = {
  delete: 'it goes when the account of its owner is erased',
  anonymize: 'it is emptied when the account of its owner is erased',
  keep: 'it stays when the account of its owner is erased',
};

function keptFor({ declaration, archiveTable }: ResourceGateway, isUser: boolean): string {
  const { onOwnerDelete = 'delete', audit } = declaration;
  const owned = isUser || ownerFieldOf(declaration) !== undefined;
  return [
    'as long as its record',
    ...(archiveTable === undefined ? [] : ['deleted records for the days of softDelete()']),
    ...(isUser ? ['it goes when the account is erased'] : owned ? [ON_OWNER_DELETE[onOwnerDelete]] : []),
    ...(audit ? ['its changes, masked, stand in the audit trail'] : []),
  ].join('; ');
}

/** Who gets a field in answers: who may read its record, as far as the field is for them. */
function seenBy({ declaration, readPolicy }: ResourceGateway, field: string): string {
  const { hidden, writeOnly, visibleTo } = (declaration.fields as Fields)[field]!.spec;
  if (hidden || writeOnly) return 'nobody, by the API';
  const readers = describePolicy(readPolicy);
  const { reference } = declaration.policies ?? {};
  const others = reference === undefined ? '' : `; expanded in other records: ${describeDeclared(reference)}`;
  const scope = declaration.scope === undefined ? '' : ', within the scope';
  const record = `who may read the record: ${readers}${scope}${others}`;
  return visibleTo === undefined ? record : `${describeDeclared(visibleTo)}; of ${record}`;
}

function fieldsOf(gateway: ResourceGateway, isUser: boolean): ReportedField[] {
  const tables = tablesOf(gateway);
  return personalFields(gateway.declaration, isUser).map(({ path, field, reason }) => ({
    resource: gateway.name,
    field: path,
    reason,
    storedIn: tables.map((table) => `${table}.${snakeCase(field)}`),
    encrypted: (gateway.declaration.fields as Fields)[field]!.spec.encrypted === true,
    seenBy: seenBy(gateway, field),
    kept: keptFor(gateway, isUser),
  }));
}

/**
 * Tells where personal data is, by the declarations alone.
 *
 * @param tables of the whole app, by name
 */
export function privacyReport(
  resources: readonly ResourceGateway[],
  users: ResourceGateway,
  userData: readonly UserData[],
  tables: Readonly<Record<string, PgTable>>,
): PrivacyReport {
  const columnsOf = (table: string) => {
    const { users: naming, personal } = personalColumns(tables[table]!);
    return [...naming, ...personal];
  };
  const fields = resources.flatMap((gateway) => fieldsOf(gateway, gateway === users));
  const claimed = new Set([
    ...resources.flatMap(tablesOf),
    ...userData.flatMap((data) => data.tables ?? []),
    ...NOT_HELD,
  ]);
  return {
    fields,
    unmarked: fields.filter(({ reason }) => reason === 'name').map(({ resource, field }) => ({ resource, field })),
    data: userData.map(({ name, description, kept, tables: own = [] }) => ({
      name,
      description,
      storedIn: own.filter((table) => table in tables).map((table) => ({ table, columns: columnsOf(table) })),
      kept: kept ?? null,
    })),
    unclaimed: Object.keys(tables)
      .filter((table) => !claimed.has(table))
      .map((table) => ({ table, columns: columnsOf(table) }))
      .filter(({ columns }) => columns.length > 0),
  };
}
