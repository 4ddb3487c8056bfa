import { NO_PASSWORD } from '../../../accounts/passwords/password-hash.ts';
import {
  type FieldSpec,
  type Fields,
  type FilesApi,
  fieldTypeOf,
  findFileRules,
  type Queryable,
  quoteIdentifier,
  type ResourceGateway,
  type StoredFile,
  type StoredRecord,
  snakeCase,
} from '../../../extension/index.ts';
import { findTarget, isSecretField, listFields, passwordFieldsOf } from './field-info.ts';

/** A record, as the pages of the console show it. */
export type ConsoleRecord = Record<string, unknown>;

/** Stands for a value that never leaves the server: an encrypted value, a password, or the value of a write-only field. */
interface SecretValue {
  $secret: true;
  isSet: boolean;
}

/** Stands for a long value in a list: the beginning of its text, and the length of the whole text. */
interface CutValue {
  $cut: true;
  text: string;
  length: number;
}

/** Characters of a value in a list. */
const MAX_LISTED_LENGTH = 2000;

const secretValue = (isSet: boolean): SecretValue => ({ $secret: true, isSet });

/** Cuts a value that is too long for a list. */
function cutValue(value: unknown): unknown {
  if (typeof value === 'number' || typeof value === 'boolean' || value === null) return value;
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  if (text.length <= MAX_LISTED_LENGTH) return value;
  return { $cut: true, text: text.slice(0, MAX_LISTED_LENGTH).toWellFormed(), length: text.length } satisfies CutValue;
}

/** Cuts the long values of records, for a list. */
export function cutLongValues(records: readonly ConsoleRecord[]): ConsoleRecord[] {
  return records.map((record) =>
    Object.fromEntries(Object.entries(record).map(([name, value]) => [name, cutValue(value)])),
  );
}

function withUrls(files: Pick<FilesApi, 'urlOf'>, { sha256: _, variants = [], ...file }: StoredFile) {
  const urls = variants.map((variant) => [variant, files.urlOf(file, { variant })]);
  return { ...file, url: files.urlOf(file), ...(urls.length > 0 && { variants: Object.fromEntries(urls) }) };
}

function toConsoleValue(spec: FieldSpec, value: unknown, files: Pick<FilesApi, 'urlOf'>, isDeleted: boolean): unknown {
  if (isSecretField(spec)) return secretValue(value !== undefined);
  // The URL of a file works only while its record is not deleted.
  if (value === undefined || isDeleted || findFileRules(spec) === undefined) return value;
  const convert = (file: StoredFile) => withUrls(files, file);
  return Array.isArray(value) ? value.map(convert) : convert(value as StoredFile);
}

/** Finds which password fields of records are set: one query, and none for a resource without passwords. */
async function findSetPasswords(
  database: Pick<Queryable, 'readList'>,
  gateway: ResourceGateway,
  ids: readonly string[],
): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const names = passwordFieldsOf(gateway.declaration);
  if (names.length === 0 || ids.length === 0) return new Map();
  const tests = names.map((name) => {
    const column = quoteIdentifier(snakeCase(name));
    return `coalesce(${column}, '') <> '' and ${column} not like '${NO_PASSWORD}%'`;
  });
  const tables = [gateway.table, ...(gateway.archiveTable === undefined ? [] : [gateway.archiveTable])];
  const text = tables
    .map((table) => `select "id", ${tests.join(', ')} from ${quoteIdentifier(table)} where "id" = any($1::text[])`)
    .join(' union all ');
  const rows = await database.readList<[id: string, ...isSet: boolean[]]>({ text, values: [ids] });
  return new Map(rows.map(([id, ...isSet]) => [id, new Set(names.filter((_, i) => isSet[i]))]));
}

/**
 * Converts stored records to the form in which administrators see them: every field except secrets, also those that the API hides from
 * everyone.
 */
export async function toConsoleRecords(
  { database, files }: { database: Pick<Queryable, 'readList'>; files: Pick<FilesApi, 'urlOf'> },
  gateway: ResourceGateway,
  records: readonly StoredRecord[],
): Promise<ConsoleRecord[]> {
  const passwords = await findSetPasswords(
    database,
    gateway,
    records.map(({ id }) => id),
  );
  const fields = listFields(gateway.declaration.fields as Fields);
  const times = gateway.declaration.timestamps === false ? [] : ['createdAt', 'updatedAt'];
  return records.map((record) => {
    const values = fields.map(([name, spec]): [string, unknown] =>
      fieldTypeOf(spec).concealed
        ? [name, secretValue(passwords.get(record.id)?.has(name) ?? false)]
        : [name, toConsoleValue(spec, record[name], files, record.deletedAt !== undefined)],
    );
    const own = [...times, ...(record.deletedAt === undefined ? [] : ['deletedAt'])].map((name) => [
      name,
      record[name],
    ]);
    return Object.fromEntries([['id', record.id], ...values.filter(([, value]) => value !== undefined), ...own]);
  });
}

/**
 * Replaces the encrypted values in a response of the API, and in the records that are expanded in it: the console reveals such a value only
 * by its own route, which records that.
 *
 * @param gatewayOf returns the gateway of a resource
 */
export function maskEncryptedValues(
  gateway: ResourceGateway,
  serialized: ConsoleRecord,
  gatewayOf: (name: string) => ResourceGateway,
): ConsoleRecord {
  const specs = new Map(listFields(gateway.declaration.fields as Fields));
  const maskExpanded = (target: string, value: unknown): unknown => {
    if (Array.isArray(value)) return value.map((one) => maskExpanded(target, one));
    if (typeof value !== 'object' || value === null) return value;
    return maskEncryptedValues(gatewayOf(target), value as ConsoleRecord, gatewayOf);
  };
  const masked = Object.entries(serialized).map(([name, value]) => {
    const spec = specs.get(name);
    if (spec === undefined) return [name, value];
    if (spec.encrypted) return [name, secretValue(true)];
    const target = findTarget(spec);
    return [name, target === undefined ? value : maskExpanded(target, value)];
  });
  return Object.fromEntries(masked);
}
