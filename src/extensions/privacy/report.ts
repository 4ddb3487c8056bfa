import type { PgTable } from 'drizzle-orm/pg-core';
import {
  type AnyResource,
  allowsNobody,
  type CompiledPolicy,
  compilePolicy,
  type FieldSpec,
  type Fields,
  fieldTypeOf,
  getTableConfig,
  isFreeTextField,
  isPersonalField,
  isPersonalFieldName,
  ownerFieldOf,
  type Policy,
  type ResourceGateway,
  snakeCase,
  tablesOf,
  type UserData,
  VERIFIED,
} from '../../extension/index.ts';

/** Why a field counts as personal: its declaration marks it, it is a text of the user resource, or its name or type looks personal. */
type Reason = 'pii()' | 'personalFields' | 'account' | 'name';

/** A personal field, or a personal member of an object field. */
interface PersonalField {
  /** For a member of an object: `address.city`. */
  path: string;
  /** The top-level field. */
  field: string;
  reason: Reason;
}

/** Returns the personal parts of a field: the field itself, or its personal members. */
function listPersonalPaths(
  path: string,
  name: string,
  spec: FieldSpec,
  reason: Reason | undefined,
): [string, Reason][] {
  if (reason !== undefined) return [[path, reason]];
  if (spec.pii) return [[path, 'pii()']];
  const { shape, inner, ...own } = spec;
  if (isPersonalField(name, own)) return [[path, 'name']];
  if (inner !== undefined) return listPersonalPaths(path, name, inner.spec, undefined);
  return Object.entries(shape ?? {}).flatMap(([member, field]) =>
    listPersonalPaths(`${path}.${member}`, member, field.spec, undefined),
  );
}

/**
 * Returns the personal fields of a resource.
 *
 * @param isUser whether it is the user resource, whose free-text fields are all personal
 */
function listPersonalFields({ fields, personalFields: listed = [] }: AnyResource, isUser: boolean): PersonalField[] {
  return Object.entries(fields as Fields).flatMap(([field, { spec }]) => {
    if (fieldTypeOf(spec).concealed) return [];
    const declared = spec.pii ? 'pii()' : listed.includes(field) ? 'personalFields' : undefined;
    const reason = declared ?? (isUser && isFreeTextField(spec) ? 'account' : undefined);
    return listPersonalPaths(field, field, spec, reason).map(([path, why]) => ({ path, field, reason: why }));
  });
}

// Columns that refer to a user, in tables that do not belong to resources.
const USER_REFERENCE = /^(user|owner|author|account|created_by|requested_by)(_?id)?s?$|_user_ids?$/;
// Columns with hashes reveal no personal data.
const HASH_COLUMN = /(hash|fingerprint)$/;
const PERSONAL_COLUMN = /^(recipient|user_agent|token|ip|last_used_ip|phone|email)$/;

function toCamelCase(column: string): string {
  return column.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}

/** Returns the columns of a table that refer to users, and those that look personal. */
function listPersonalColumns(table: PgTable): { users: string[]; personal: string[] } {
  const names = getTableConfig(table).columns.map(({ name }) => name);
  const users = names.filter((name) => USER_REFERENCE.test(name));
  const personal = names.filter(
    (name) =>
      !users.includes(name) &&
      !HASH_COLUMN.test(name) &&
      (PERSONAL_COLUMN.test(name) || isPersonalFieldName(toCamelCase(name))),
  );
  return { users, personal };
}

/** Describes in words which callers a policy allows. */
function describePolicy(policy: CompiledPolicy): string {
  if (policy.public) return 'everyone';
  if (policy.authenticated) return 'any signed-in user';
  if (allowsNobody(policy)) return 'no one';
  const words = [
    ...(policy.owner ? ['the owner'] : []),
    ...(policy.verified ? ['users with a verified e-mail address'] : []),
    ...policy.roles.filter((role) => !(policy.verified && role === VERIFIED)).map((role) => `role ${role}`),
    ...(policy.functions.length === 0 ? [] : ['callers that a policy function allows']),
  ];
  return words.join(', ');
}

/** Describes in words which callers a declared policy allows. */
const describeDeclaredPolicy = (policy: Policy): string => describePolicy(compilePolicy(policy, () => undefined));

/** A personal field of a resource. */
export interface ReportedField {
  resource: string;
  /** For a member of an object: `address.city`. */
  field: string;
  reason: Reason;
  /** Columns such as `users.email`, including those of the table of deleted records. */
  storedIn: string[];
  encrypted: boolean;
  /** Who sees the field in responses, in words. */
  seenBy: string;
  /** How long values of the field are kept, in words. */
  kept: string;
}

/** The data that a feature stores about users in its own tables. */
export interface ReportedData {
  name: string;
  description: string;
  /** By table: the columns that refer to users, and those that look personal. */
  storedIn: { table: string; columns: string[] }[];
  /** What an erasure keeps, in words; null if nothing. */
  kept: string | null;
}

/** Where personal data is stored, according to the declarations. */
export interface PrivacyReport {
  /** Fields that are declared personal or look personal. */
  fields: ReportedField[];
  /** Fields that look personal but are not declared personal. */
  unmarked: { resource: string; field: string }[];
  data: ReportedData[];
  /** Tables that seem to contain data of users but are part of no export and no erasure. */
  unclaimed: { table: string; columns: string[] }[];
}

// Tables that need no report: the outbox is emptied within seconds, and privacy_erasures contains only ids of erased accounts.
const EXEMPT_TABLES = ['outbox', 'privacy_erasures'];

const ON_OWNER_DELETE_TEXTS = {
  delete: 'deleted when the account of its owner is erased',
  anonymize: 'emptied when the account of its owner is erased',
  keep: 'kept when the account of its owner is erased',
};

function describeRetention({ declaration, archiveTable }: ResourceGateway, isUser: boolean): string {
  const { onOwnerDelete = 'delete', audit } = declaration;
  const owned = isUser || ownerFieldOf(declaration) !== undefined;
  return [
    'as long as its record',
    ...(archiveTable === undefined ? [] : ['deleted records as long as softDelete() keeps them']),
    ...(isUser ? ['deleted when the account is erased'] : owned ? [ON_OWNER_DELETE_TEXTS[onOwnerDelete]] : []),
    ...(audit ? ['its masked changes are in the audit trail'] : []),
  ].join('; ');
}

/** Describes who gets a field in responses: callers who may read the record and see the field. */
function describeReaders({ declaration, readPolicy }: ResourceGateway, field: string): string {
  const { hidden, writeOnly, visibleTo } = (declaration.fields as Fields)[field]!.spec;
  if (hidden || writeOnly) return 'no one: the API never returns it';
  const readers = describePolicy(readPolicy);
  const { reference } = declaration.policies ?? {};
  const others = reference === undefined ? '' : `; expanded in other records: ${describeDeclaredPolicy(reference)}`;
  const scope = declaration.scope === undefined ? '' : ', within the scope';
  const record = `readers of the record: ${readers}${scope}${others}`;
  return visibleTo === undefined ? record : `${describeDeclaredPolicy(visibleTo)}; only among the ${record}`;
}

function createFieldReports(gateway: ResourceGateway, isUser: boolean): ReportedField[] {
  const tables = tablesOf(gateway);
  return listPersonalFields(gateway.declaration, isUser).map(({ path, field, reason }) => ({
    resource: gateway.name,
    field: path,
    reason,
    storedIn: tables.map((table) => `${table}.${snakeCase(field)}`),
    encrypted: (gateway.declaration.fields as Fields)[field]!.spec.encrypted === true,
    seenBy: describeReaders(gateway, field),
    kept: describeRetention(gateway, isUser),
  }));
}

/**
 * Reports where personal data is stored, from the declarations alone.
 *
 * @param tables all tables of the app, by name
 */
export function createPrivacyReport(
  resources: readonly ResourceGateway[],
  users: ResourceGateway,
  userData: readonly UserData[],
  tables: Readonly<Record<string, PgTable>>,
): PrivacyReport {
  const listReportedColumns = (table: string) => {
    const { users: userColumns, personal } = listPersonalColumns(tables[table]!);
    return [...userColumns, ...personal];
  };
  const fields = resources.flatMap((gateway) => createFieldReports(gateway, gateway === users));
  const claimed = new Set([
    ...resources.flatMap(tablesOf),
    ...userData.flatMap((data) => data.tables ?? []),
    ...EXEMPT_TABLES,
  ]);
  return {
    fields,
    unmarked: fields.filter(({ reason }) => reason === 'name').map(({ resource, field }) => ({ resource, field })),
    data: userData.map(({ name, description, kept, tables: own = [] }) => ({
      name,
      description,
      storedIn: own.filter((table) => table in tables).map((table) => ({ table, columns: listReportedColumns(table) })),
      kept: kept ?? null,
    })),
    unclaimed: Object.keys(tables)
      .filter((table) => !claimed.has(table))
      .map((table) => ({ table, columns: listReportedColumns(table) }))
      .filter(({ columns }) => columns.length > 0),
  };
}
