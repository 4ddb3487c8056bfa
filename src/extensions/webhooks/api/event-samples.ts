type Schema = Readonly<Record<string, unknown>>;

/** Depth where a sample ends: schemas can contain themselves, such as comments with answers. */
const MAX_DEPTH = 6;
const SAMPLE_TIME = '2030-01-01T12:00:00.000Z';

const FORMAT_SAMPLES: Readonly<Record<string, string>> = {
  'date-time': SAMPLE_TIME,
  date: '2030-01-01',
  time: '12:00:00',
  email: 'ada@example.com',
  uri: 'https://example.com/',
  'uri-reference': '/path',
  uuid: '0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b',
};

/** The pattern of ids in the schemas of records. */
const ID_PATTERN = '^[0-9a-f]{24}$';

function sampleText({ format, pattern, minLength, maxLength }: Schema): string {
  if (pattern === ID_PATTERN) return '65f0c1d2e3a4b5c6d7e8f901';
  const known = typeof format === 'string' ? FORMAT_SAMPLES[format] : undefined;
  if (known !== undefined) return known;
  const text = 'text'.padEnd(typeof minLength === 'number' ? minLength : 0, 't');
  return typeof maxLength === 'number' ? text.slice(0, maxLength) : text;
}

function sampleNumber({ type, minimum, exclusiveMinimum, maximum }: Schema): number {
  const least = typeof minimum === 'number' ? minimum : typeof exclusiveMinimum === 'number' ? exclusiveMinimum + 1 : 1;
  const wanted = Math.max(least, type === 'integer' ? 1 : 1.5);
  return typeof maximum === 'number' ? Math.min(wanted, maximum) : wanted;
}

/** Returns the value that a schema names itself, in an array because the value may be undefined or null. */
function findNamedValue({ const: constant, examples, example, default: preset, enum: values }: Schema): [unknown] | [] {
  if (constant !== undefined) return [constant];
  if (Array.isArray(examples) && examples.length > 0) return [examples[0]];
  if (example !== undefined) return [example];
  if (Array.isArray(values) && values.length > 0) return [values[0]];
  return preset === undefined ? [] : [preset];
}

/**
 * Creates a value that fits the JSON Schema of an event's body, for people who write a receiver. Rules that only code can check, such as
 * patterns and the custom rules of a schema, are not considered.
 *
 * @param schema with the schemas that it refers to in `$defs`
 * @param fields the properties of `data` to include. Default: all
 */
export function createSample(schema: Schema, fields?: ReadonlySet<string>): Record<string, unknown> {
  const defs = (schema.$defs ?? {}) as Readonly<Record<string, Schema>>;

  function sampleObject({ properties = {}, allOf }: Schema, depth: number, only?: ReadonlySet<string>): object {
    const own = Object.entries(properties as Record<string, Schema>).filter(([name]) => only?.has(name) ?? true);
    const parts = Array.isArray(allOf) ? allOf.map((part) => createSampleValue(part, depth, only)) : [];
    return Object.assign(
      {},
      ...parts,
      Object.fromEntries(own.map(([name, each]) => [name, createSampleValue(each, depth + 1)])),
    );
  }

  function createSampleValue(each: Schema, depth: number, only?: ReadonlySet<string>): unknown {
    const named = findNamedValue(each);
    if (named.length > 0) return named[0];
    if (depth > MAX_DEPTH) return null;
    if (typeof each.$ref === 'string')
      return createSampleValue(defs[each.$ref.slice('#/$defs/'.length)] ?? {}, depth, only);
    const choices = each.oneOf ?? each.anyOf;
    // The first choice of a reference is the id, and null is never the first.
    if (Array.isArray(choices)) return createSampleValue(choices[0] ?? {}, depth, only);
    const type = Array.isArray(each.type) ? each.type[0] : each.type;
    if (type === 'object' || each.properties !== undefined || each.allOf !== undefined)
      return sampleObject(each, depth, only);
    if (type === 'array') return each.items === undefined ? [] : [createSampleValue(each.items as Schema, depth + 1)];
    if (type === 'string') return sampleText(each);
    if (type === 'integer' || type === 'number') return sampleNumber(each);
    if (type === 'boolean') return true;
    return null;
  }

  const body = sampleObject(schema, 0) as Record<string, unknown>;
  const { data } = (schema.properties ?? {}) as { data?: Schema };
  return data === undefined ? body : { ...body, timestamp: SAMPLE_TIME, data: createSampleValue(data, 1, fields) };
}
