import type { Viewer } from '../../../declare/actor.ts';
import type { Host, ResourceGateway, StoredRecord } from '../../../declare/host.ts';
import { pluralName } from '../../../declare/naming.ts';
import { ownerFieldOf } from '../../../records/schema/compile.ts';
import type { ExportFile, Writing } from './export-file.ts';
import { type ExportedField, exportedFields, namingFields, recordOf } from './fields.ts';
import { columnOf, readRecords } from './read-records.ts';

type Parts = Pick<Host, 'database' | 'service'>;

/** Returns the field that holds the owner of a record. Users own themselves. */
function ownerOf(gateway: ResourceGateway, users: ResourceGateway): string | undefined {
  return gateway === users ? 'id' : ownerFieldOf(gateway.declaration);
}

/** Returns the names of fields that an export leaves out: passwords and hidden fields. */
function leftOutOf({ declaration }: ResourceGateway, fields: readonly ExportedField[]): string[] {
  const told = new Set(fields.filter(({ held, concealed }) => held || !concealed).map(({ name }) => name));
  return Object.keys(declaration.fields).filter((name) => !told.has(name));
}

/** Creates the file of the user's own records of a resource; undefined if its records have no owner. */
export function ownRecords(parts: Parts, gateway: ResourceGateway, users: ResourceGateway): ExportFile | undefined {
  const owner = ownerOf(gateway, users);
  if (owner === undefined) return undefined;
  const fields = exportedFields(gateway.declaration, gateway === users);
  const always = leftOutOf(gateway, fields);
  const notHeld = new Set(fields.filter(({ held }) => !held).map(({ name }) => name));
  const times = gateway.declaration.timestamps !== false;

  async function tell(
    record: StoredRecord,
    visible: ReadonlySet<string>,
    leftOut: Set<string>,
  ): Promise<Record<string, unknown>> {
    const told: string[] = [];
    for (const field of fields) {
      if (field.held || visible.has(field.name)) told.push(field.name);
      else if (record[field.name] !== undefined) leftOut.add(field.name);
    }
    const shown = recordOf(record, told, times);
    return record.deletedAt === undefined ? shown : { ...shown, deletedAt: record.deletedAt };
  }

  return {
    path: `records/${pluralName(gateway.name)}.ndjson`,
    holds: gateway.name,
    description: gateway.declaration.description ?? `Your records of the kind "${gateway.name}"`,
    async *rows(user, { atOnce, leftOut, onUnreadable }: Writing) {
      for (const name of always) leftOut.add(name);
      const reading = { where: `${columnOf(owner)} = $1`, values: [user.id], atOnce, onUnreadable };
      const visibleFields = gateway.visibleFields(notHeld, { user });
      for await (const records of readRecords(parts.database, gateway, reading)) {
        yield await Promise.all(records.map(async (record) => tell(record, await visibleFields(record), leftOut)));
      }
    },
  };
}

/**
 * Creates the file of other users' records that refer to the user; undefined if there can be none. A record whose
 * reference the user may see is listed without its other fields. If the reference is marked as personal, the record is always listed, with
 * the fields that the user may see.
 */
export function namingRecords(parts: Parts, gateway: ResourceGateway, users: ResourceGateway): ExportFile | undefined {
  const owner = ownerOf(gateway, users);
  const naming = namingFields(gateway.declaration, owner);
  if (naming.length === 0) return undefined;
  const fields = exportedFields(gateway.declaration, gateway === users);
  const times = gateway.declaration.timestamps !== false;
  const named = naming.map(({ where }) => where).join(' or ');
  const where = owner === undefined ? named : `(${named}) and ${columnOf(owner)} is distinct from $1`;

  const exported = new Set(fields.map(({ name }) => name));

  async function tell(
    record: StoredRecord,
    user: Viewer,
    visibleFields: ReturnType<ResourceGateway['visibleFields']>,
  ): Promise<Record<string, unknown>[]> {
    const readable = record.deletedAt === undefined && (await gateway.readableBy(record, { user }));
    const seen = readable ? [...(await visibleFields(record))] : [];
    const by = naming.filter(
      ({ name, marked, names }) => names(record[name], user.id) && (marked || seen.includes(name)),
    );
    if (by.length === 0) return [];
    const told = recordOf(record, by.some(({ marked }) => marked) ? seen : [], times);
    const deleted = record.deletedAt === undefined ? {} : { deletedAt: record.deletedAt };
    return [{ ...told, ...deleted, namedIn: by.map(({ name }) => name) }];
  }

  return {
    path: `named-in/${pluralName(gateway.name)}.ndjson`,
    holds: gateway.name,
    description: `Records of others, of the kind "${gateway.name}", that name you; "namedIn": in which fields`,
    async *rows(user, { atOnce, onUnreadable }: Writing) {
      const reading = { where, values: [user.id], atOnce, onUnreadable };
      const visibleFields = gateway.visibleFields(exported, { user });
      for await (const records of readRecords(parts.database, gateway, reading)) {
        yield (await Promise.all(records.map((record) => tell(record, user, visibleFields)))).flat();
      }
    },
  };
}
