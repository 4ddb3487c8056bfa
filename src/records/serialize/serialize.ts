import type { StoredRecord, ViewContext } from '../../declare/host.ts';
import type { ResolvedViewContext } from '../access/operation-context.ts';
import type { ListQuery } from '../query/list-query.ts';
import type { CompiledResource } from '../schema/compiled.ts';
import { resourceNameOf } from '../store/codec.ts';
import type { EntityContext } from '../store/entity.ts';
import { expandReferences } from './expand.ts';
import { type SerializedRecord, serializeFields } from './serialize-fields.ts';

/** The fields of a record that a client requested, and the references to expand in addition to those that are always expanded. */
type Selection = Pick<ListQuery, 'include' | 'fields'>;

const DEFAULT_SELECTION: Selection = { include: new Map(), fields: undefined };

async function serializeAndExpand(
  context: EntityContext,
  resource: CompiledResource,
  records: readonly StoredRecord[],
  viewContext: ResolvedViewContext,
  selection: Selection,
): Promise<{ serialized: SerializedRecord[]; complete: boolean }> {
  const entity = context.entities.get(resource.name)!;
  const serialized = await serializeFields(entity, records, viewContext, selection.fields);
  const always = resource.populated.map((name) => [name, DEFAULT_SELECTION.include] as const);
  const includes = new Map([...always, ...selection.include]);
  if (includes.size === 0) return { serialized, complete: true };
  const places = new Map(serialized.map((record) => [record, 1]));
  return { serialized, complete: await expandReferences(context, { resource, includes, places }, viewContext) };
}

/** Serializes records of one response for a viewer: visible fields, with references expanded. */
async function serializeRecords(
  context: EntityContext,
  resource: CompiledResource,
  records: readonly StoredRecord[],
  viewContext: ResolvedViewContext,
  selection = DEFAULT_SELECTION,
): Promise<SerializedRecord[]> {
  return (await serializeAndExpand(context, resource, records, viewContext, selection)).serialized;
}

/**
 * Serializes records that are sent separately: each as in its own response, regardless of how much of the budget for expanded records the
 * other records use.
 */
export async function serializeRecordsSeparately(
  context: EntityContext,
  resource: CompiledResource,
  records: readonly StoredRecord[],
  viewContext: ResolvedViewContext,
): Promise<SerializedRecord[]> {
  const { serialized, complete } = await serializeAndExpand(context, resource, records, viewContext, DEFAULT_SELECTION);
  if (complete || records.length < 2) return serialized;
  const separate: SerializedRecord[] = [];
  for (const record of records) separate.push(...(await serializeRecords(context, resource, [record], viewContext)));
  return separate;
}

/**
 * Stored records in a handler's value that are serialized with their own selection, or for a viewer other than the caller. The records are
 * private: no copy of this object leaves the system before it is serialized.
 */
class RecordsToSerialize {
  readonly #resource: string;
  readonly #records: StoredRecord | readonly StoredRecord[];
  readonly #selection: Selection;
  readonly #viewer: ViewContext['user'];
  readonly #defaults: Readonly<Record<string, unknown>>;
  readonly #context: EntityContext | undefined;

  constructor(
    resource: string,
    records: StoredRecord | readonly StoredRecord[],
    {
      selection = DEFAULT_SELECTION,
      viewer,
      defaults = {},
      context,
    }: {
      selection?: Selection;
      viewer?: ViewContext['user'];
      /** Values of fields that the record lacks or the viewer may not see. For responses where every key is present. */
      defaults?: Readonly<Record<string, unknown>>;
      /** The context that reads references. Default: the app's. */
      context?: EntityContext;
    },
  ) {
    this.#context = context;
    this.#resource = resource;
    this.#records = records;
    this.#selection = selection;
    this.#viewer = viewer;
    this.#defaults = defaults;
  }

  /** The marked record; undefined if a list of records is marked. */
  get record(): StoredRecord | undefined {
    return Array.isArray(this.#records) ? undefined : (this.#records as StoredRecord);
  }

  /** The marked record or records; undefined if another viewer than the caller sees them. */
  get forCaller(): StoredRecord | readonly StoredRecord[] | undefined {
    return this.#viewer === undefined ? this.#records : undefined;
  }

  async serialize(ofApp: EntityContext, viewContext: ResolvedViewContext): Promise<unknown> {
    const context = this.#context ?? ofApp;
    const { resource } = context.entities.get(this.#resource)!;
    const viewer = this.#viewer === undefined ? viewContext : { ...viewContext, user: this.#viewer };
    const records = Array.isArray(this.#records) ? this.#records : [this.#records];
    const serialized = await serializeRecords(context, resource, records, viewer, this.#selection);
    for (const record of serialized) for (const [name, value] of Object.entries(this.#defaults)) record[name] ??= value;
    return Array.isArray(this.#records) ? serialized : serialized[0];
  }
}

/** Marks stored records in a handler's value for serialization with a selection, or for another viewer than the caller. */
export function markForSerialization(...parameters: ConstructorParameters<typeof RecordsToSerialize>): object {
  return new RecordsToSerialize(...parameters);
}

/**
 * Returns a handler's value if it is a stored record, or the single record that `markForSerialization` marked; undefined for any other
 * value.
 */
export function findStoredRecord(value: unknown): StoredRecord | undefined {
  if (value instanceof RecordsToSerialize) return value.record;
  return resourceNameOf(value) === undefined ? undefined : (value as StoredRecord);
}

// Maximum depth at which records in a handler's value are found: deeper than any real response. The JSON of a record at a greater depth
// still leaves out the fields that only some viewers may see.
const MAX_DEPTH = 16;

type Holder = Record<PropertyKey, unknown>;

/** The position of a stored record in a response. */
interface RecordPosition {
  holder: Holder;
  key: PropertyKey;
  record: StoredRecord;
}

/** The positions of stored records in a response, by resource, and of the records that `markForSerialization` marked. */
interface RecordPositions {
  records: Map<string, RecordPosition[]>;
  views: { holder: Holder; key: PropertyKey; view: RecordsToSerialize }[];
}

/** Copies a value into `holder[key]`, deeply, and collects the positions of stored records in the copy. */
function copyAndCollectRecords(
  holder: Holder,
  key: PropertyKey,
  value: unknown,
  places: RecordPositions,
  depth: number,
): void {
  holder[key] = value;
  if (typeof value !== 'object' || value === null || depth === 0) return;
  const name = resourceNameOf(value);
  if (name !== undefined) {
    const list = places.records.get(name);
    const place = { holder, key, record: value as StoredRecord };
    if (list === undefined) places.records.set(name, [place]);
    else list.push(place);
  } else if (value instanceof RecordsToSerialize) {
    places.views.push({ holder, key, view: value });
  } else if (Array.isArray(value)) {
    const copy = [...value];
    holder[key] = copy;
    for (const [i, item] of value.entries())
      copyAndCollectRecords(copy as unknown as Holder, i, item, places, depth - 1);
  } else if (typeof (value as { toJSON?: unknown }).toJSON !== 'function') {
    // No prototype: there, the key `__proto__` would be a setter. An object with toJSON (a date) is not copied, because toJSON decides how
    // the object is written.
    const copy: Holder = Object.create(null);
    holder[key] = copy;
    for (const [name, inner] of Object.entries(value)) copyAndCollectRecords(copy, name, inner, places, depth - 1);
  }
}

/** A stored record in a handler's value, and the keys that lead to it. */
interface StoredRecordAt {
  resource: string;
  record: StoredRecord;
  path: readonly string[];
}

/** Returns the stored records in a handler's value that `serializeResponse` serializes for the caller. */
export function collectStoredRecords(value: unknown, path: readonly string[] = []): StoredRecordAt[] {
  if (typeof value !== 'object' || value === null || path.length > MAX_DEPTH) return [];
  if (value instanceof RecordsToSerialize) return collectStoredRecords(value.forCaller, path);
  const resource = resourceNameOf(value);
  if (resource !== undefined) return [{ resource, record: value as StoredRecord, path }];
  if (typeof (value as { toJSON?: unknown }).toJSON === 'function') return [];
  return Object.entries(value).flatMap(([key, inner]) => collectStoredRecords(inner, [...path, key]));
}

/**
 * Serializes a handler's value for the caller. No other step sends stored records through HTTP, whether a CRUD, custom, account or
 * extension route returned them. Records may be anywhere in the value, alone, in lists or in objects; everything else is unchanged. All
 * records of one resource together cost one query per reference field.
 *
 * A copy of a record (a spread, `Object.assign`, `structuredClone`, parsed JSON) is a plain object and is sent unchanged. So are an object
 * that inherits from a record and a proxy of one: as in JSON, their own keys are sent. A stored record's own keys are only the fields that
 * every reader may see. A copy therefore never holds hidden or write-only fields, passwords, or fields with `visibleTo`, not even for a
 * viewer to whom such a field is visible. A value that a handler reads by name and puts into its response (`{ secret: doc.secret }`) is sent:
 * the handler chose to send it.
 */
export async function serializeResponse(
  context: EntityContext,
  value: unknown,
  viewContext: ResolvedViewContext,
): Promise<unknown> {
  if (value instanceof RecordsToSerialize) return value.serialize(context, viewContext);
  const places: RecordPositions = { records: new Map(), views: [] };
  const response: Holder = {};
  copyAndCollectRecords(response, 'value', value, places, MAX_DEPTH);
  await Promise.all([
    ...[...places.records].map(async ([name, list]) => {
      const { resource } = context.entities.get(name)!;
      const records = list.map(({ record }) => record);
      const serialized = await serializeRecords(context, resource, records, viewContext);
      for (const [i, { holder, key }] of list.entries()) holder[key] = serialized[i];
    }),
    ...places.views.map(async ({ holder, key, view }) => {
      holder[key] = await view.serialize(context, viewContext);
    }),
  ]);
  return response.value;
}
