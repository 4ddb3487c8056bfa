import {
  createUnreachableOrganisationSearch,
  type Fields,
  type FindUnreachableOrganisations,
  findFileRules,
  findOrganisationField,
  ownerFieldOf,
  pluralName,
  type ResourceGateway,
  type StoredFile,
  type StoredRecord,
  type Viewer,
} from '../../../extension/index.ts';
import type { ExportFile, ExportWriteContext } from './export-file.ts';
import { type ExportedField, listExportedFields, listReferringFields, toExportedRecord } from './fields.ts';
import { columnOf, readRecords } from './read-records.ts';

/** Returns the field that holds the owner of a record. Users own themselves. */
function findExportOwnerField(gateway: ResourceGateway, users: ResourceGateway): string | undefined {
  return gateway === users ? 'id' : ownerFieldOf(gateway.declaration);
}

/** Returns the names of fields that an export leaves out: passwords and hidden fields. */
function omittedFieldsOf({ declaration }: ResourceGateway, fields: readonly ExportedField[]): string[] {
  const exportable = new Set(
    fields.filter(({ isAlwaysExported, isConcealed }) => isAlwaysExported || !isConcealed).map(({ name }) => name),
  );
  return Object.keys(declaration.fields).filter((name) => !exportable.has(name));
}

/** Creates the function that leaves out the records of organisations that the user does not reach any more. */
function createOrganisationFilter(gateway: ResourceGateway) {
  const field = findOrganisationField(gateway);
  return async (records: StoredRecord[], findUnreachable: FindUnreachableOrganisations): Promise<StoredRecord[]> => {
    if (field === undefined) return records;
    const unreachable = await findUnreachable(records.map((record) => record[field]));
    return records.filter((record) => !unreachable.has(record[field]));
  };
}

/**
 * Creates the file of the user's own records of a resource; undefined if its records have no owner.
 *
 * @param resources all resources of the app
 */
export function createOwnRecordsFile(
  gateway: ResourceGateway,
  users: ResourceGateway,
  resources: readonly ResourceGateway[],
): ExportFile | undefined {
  const owner = findExportOwnerField(gateway, users);
  if (owner === undefined) return undefined;
  const fields = listExportedFields(gateway.declaration, gateway === users);
  const alwaysOmitted = omittedFieldsOf(gateway, fields);
  const exportedIfVisible = new Set(fields.filter(({ isAlwaysExported }) => !isAlwaysExported).map(({ name }) => name));
  const times = gateway.declaration.timestamps !== false;
  const filterByOrganisation = createOrganisationFilter(gateway);
  const fileFields = fields
    .map(({ name }) => name)
    .filter((name) => findFileRules((gateway.declaration.fields as Fields)[name]!.spec));

  async function exportRecord(
    record: StoredRecord,
    visible: ReadonlySet<string>,
    { leftOut, addStoredFile }: ExportWriteContext,
  ): Promise<Record<string, unknown>> {
    const names: string[] = [];
    for (const field of fields) {
      if (field.isAlwaysExported || visible.has(field.name)) names.push(field.name);
      else if (record[field.name] !== undefined) leftOut.add(field.name);
    }
    const output = toExportedRecord(record, names, times);
    for (const name of fileFields) for (const file of [output[name] ?? []].flat()) addStoredFile(file as StoredFile);
    return record.deletedAt === undefined ? output : { ...output, deletedAt: record.deletedAt };
  }

  return {
    path: `records/${pluralName(gateway.name)}.ndjson`,
    holds: gateway.name,
    description: gateway.declaration.description ?? `Your records of kind "${gateway.name}"`,
    async *rows(user, writing: ExportWriteContext) {
      const { database, batchRows, onUnreadable } = writing;
      for (const name of alwaysOmitted) writing.leftOut.add(name);
      const reading = { where: `${columnOf(owner)} = $1`, values: [user.id], batchRows, onUnreadable };
      const visibleFields = gateway.visibleFields(exportedIfVisible, { user });
      const findUnreachable = createUnreachableOrganisationSearch(resources, user);
      for await (const found of readRecords(database, gateway, reading)) {
        const records = await filterByOrganisation(found, findUnreachable);
        yield await Promise.all(
          records.map(async (record) => exportRecord(record, await visibleFields(record), writing)),
        );
      }
    },
  };
}

/**
 * Creates the file of other users' records that refer to the user; undefined if no field of the resource refers to users. A record
 * whose reference the user may see is listed without its other fields. If the reference is marked as personal, the record is always
 * listed, with the fields that the user may see.
 *
 * @param resources all resources of the app
 */
export function createReferencesFile(
  gateway: ResourceGateway,
  users: ResourceGateway,
  resources: readonly ResourceGateway[],
): ExportFile | undefined {
  const owner = findExportOwnerField(gateway, users);
  const referring = listReferringFields(gateway.declaration, owner);
  if (referring.length === 0) return undefined;
  const fields = listExportedFields(gateway.declaration, gateway === users);
  const times = gateway.declaration.timestamps !== false;
  const named = referring.map(({ where }) => where).join(' or ');
  const where = owner === undefined ? named : `(${named}) and ${columnOf(owner)} is distinct from $1`;

  const exported = new Set(fields.map(({ name }) => name));
  const filterByOrganisation = createOrganisationFilter(gateway);

  async function exportRecord(
    record: StoredRecord,
    user: Viewer,
    visibleFields: ReturnType<ResourceGateway['visibleFields']>,
  ): Promise<Record<string, unknown>[]> {
    const isReadable = record.deletedAt === undefined && (await gateway.readableBy(record, { user }));
    const visible = isReadable ? [...(await visibleFields(record))] : [];
    const references = referring.filter(
      ({ name, isMarkedPersonal, refersTo }) =>
        refersTo(record[name], user.id) && (isMarkedPersonal || visible.includes(name)),
    );
    if (references.length === 0) return [];
    const fieldNames = references.some(({ isMarkedPersonal }) => isMarkedPersonal) ? visible : [];
    const deleted = record.deletedAt === undefined ? {} : { deletedAt: record.deletedAt };
    return [
      { ...toExportedRecord(record, fieldNames, times), ...deleted, namedIn: references.map(({ name }) => name) },
    ];
  }

  return {
    path: `named-in/${pluralName(gateway.name)}.ndjson`,
    holds: gateway.name,
    description: `Records of kind "${gateway.name}" of other users that refer to you; "namedIn" lists the fields`,
    async *rows(user, { database, batchRows, onUnreadable }: ExportWriteContext) {
      const reading = { where, values: [user.id], batchRows, onUnreadable };
      const visibleFields = gateway.visibleFields(exported, { user });
      const findUnreachable = createUnreachableOrganisationSearch(resources, user);
      for await (const found of readRecords(database, gateway, reading)) {
        const records = await filterByOrganisation(found, findUnreachable);
        yield (await Promise.all(records.map((record) => exportRecord(record, user, visibleFields)))).flat();
      }
    },
  };
}
