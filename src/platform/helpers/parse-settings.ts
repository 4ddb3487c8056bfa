import { z } from 'zod';
import { type ConfigErrors, describeType } from './config-errors.ts';
import { suggestClosestName } from './did-you-mean.ts';

type Issue = z.core.$ZodRawIssue;

/** The required types in words, by their names in zod. */
const TYPES: Record<string, string> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'a list',
  tuple: 'a list',
  function: 'a function',
  date: 'a Date',
};
const FORMATS: Record<string, string> = { url: 'a URL', email: 'an e-mail address' };

const count = (limit: number | bigint, unit: string) => `${limit} ${unit}${limit === 1 ? '' : 's'}`;

function describeWrongType({ expected, input }: Extract<Issue, { code: 'invalid_type' }>): string {
  if (input === undefined) return 'is required';
  const required = TYPES[expected] ?? `of the type ${expected}`;
  if (typeof input !== 'number') return `must be ${required}, not ${describeType(input)}`;
  return expected === 'int'
    ? `must be ${required}`
    : `must be ${required}, not ${Number.isFinite(input) ? 'a number' : input}`;
}

/** @param valueKind the kind of the value in zod's words: `string`, `array`, `number`; `limit`: the maximum or minimum */
function describeLimit(bound: 'most' | 'least', valueKind: string, limit: number | bigint, inclusive = true): string {
  if (valueKind === 'string') return `must have at ${bound} ${count(limit, 'character')}`;
  if (valueKind === 'array' || valueKind === 'set') return `must have at ${bound} ${count(limit, 'item')}`;
  if (inclusive) return `must be at ${bound} ${limit}`;
  return `must be ${bound === 'most' ? 'less' : 'greater'} than ${limit}`;
}

/** Describes what is wrong with a setting whose schema has no message of its own. */
function describeSettingIssue(issue: Issue): string {
  switch (issue.code) {
    case 'invalid_type':
      return describeWrongType(issue);
    case 'too_big':
      return describeLimit('most', issue.origin, issue.maximum, issue.inclusive);
    case 'too_small':
      return describeLimit('least', issue.origin, issue.minimum, issue.inclusive);
    case 'invalid_value': {
      const values = issue.values.map((value) => (typeof value === 'string' ? `"${value}"` : String(value)));
      return `must be ${values.length > 1 ? 'one of ' : ''}${values.join(', ')}`;
    }
    case 'invalid_format':
      return issue.format in FORMATS ? `must be ${FORMATS[issue.format]}` : 'has an invalid format';
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`;
    case 'unrecognized_keys':
      return `has unknown members: ${issue.keys.map((key) => `"${key}"`).join(', ')}`;
    default:
      return 'is invalid';
  }
}

/** Validates settings and other declarations, with messages in the words of configuration errors. */
export function parseSettings<S extends z.ZodType>(schema: S, input: unknown): z.ZodSafeParseResult<z.output<S>> {
  // Messages of the schema itself come before this one.
  return schema.safeParse(input, { error: describeSettingIssue });
}

/** Returns the keys of the object schema at a path of a schema; empty if the schema has no object there. */
export function findSchemaKeys(schema: unknown, path: readonly PropertyKey[]): string[] {
  let inner = schema;
  // Defaults and optional() wrap the object schema.
  while (!(inner instanceof z.ZodObject)) {
    const wrapped = (inner as { def?: { innerType?: unknown } } | undefined)?.def?.innerType;
    if (wrapped === undefined) return [];
    inner = wrapped;
  }
  const [key, ...rest] = path;
  return key === undefined ? Object.keys(inner.shape) : findSchemaKeys(inner.shape[key as string], rest);
}

/**
 * Reports each setting that the schema rejected by its full name, such as `webhooks.timeoutMs`.
 *
 * @param name the prefix of the names, such as `webhooks`
 */
export function reportSettingErrors(name: string, schema: z.ZodType, error: z.ZodError, errors: ConfigErrors): void {
  for (const issue of error.issues) {
    const place = [name, ...issue.path].join('.');
    if (issue.code !== 'unrecognized_keys') errors.at(place).report(issue.message);
    else
      for (const key of issue.keys)
        errors
          .at(`${place}.${key}`)
          .report(`there is no such setting${suggestClosestName(key, findSchemaKeys(schema, issue.path))}`);
  }
}
