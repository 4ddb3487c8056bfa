import { type AnyResource, type Fields, isId } from '../../../../extension/index.ts';

type Data = Readonly<Record<string, unknown>>;

const isObject = (value: unknown): value is Data =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The declarations of all resources, by name. */
export type Declarations = ReadonlyMap<string, AnyResource>;

/**
 * Returns the values that an erasure may search, each with the resource of the records that are expanded in it. Values of encrypted fields
 * are left out, because mentions are stored in plain text.
 */
function searchableValues(data: Data, resource: AnyResource | undefined): [value: unknown, target?: string][] {
  const fields = (resource?.fields ?? {}) as Fields;
  return Object.entries(data).flatMap(([name, value]): [unknown, string?][] => {
    const spec = Object.hasOwn(fields, name) ? fields[name]!.spec : undefined;
    return spec?.encrypted ? [] : [[value, spec?.target ?? spec?.inner?.spec.target]];
  });
}

const idsIn = (values: readonly [value: unknown, target?: string][]): string[] =>
  values.flatMap(([value]) => (isId(value) ? [value] : []));

/**
 * Returns the ids by which an erasure finds a delivery: the fields of its data that are ids, the same fields of objects directly inside it
 * (such as expanded records), and the owner. Other ids inside arrays are not collected, nor are values of encrypted fields. An erasure checks
 * every delivery that it finds, so extra ids do no harm.
 *
 * @param data the data as sent to the owner of an endpoint
 * @param owner the owner of the record; for a published event, the user who receives it
 * @param resource the resource of the record; undefined for a published event
 */
export function collectMentions(
  data: unknown,
  owner: string | null | undefined,
  resource: AnyResource | undefined,
  declarations: Declarations,
): string[] {
  const values = isObject(data) ? searchableValues(data, resource) : [[data] as [unknown]];
  const expanded = values.flatMap(([value, target]) =>
    [value]
      .flat()
      .filter(isObject)
      .flatMap((one) => searchableValues(one, declarations.get(target ?? ''))),
  );
  return [...new Set([...(owner ? [owner] : []), ...(isObject(data) ? idsIn(values) : []), ...idsIn(expanded)])];
}
