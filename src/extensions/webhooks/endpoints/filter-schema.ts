import { z } from 'zod';
import { isStorable } from '../../../extension/index.ts';

/** Conditions on the events of one resource: the filters of its lists by query parameter, and `changed`, a list of fields. */
export type Conditions = Readonly<Record<string, string | readonly string[]>>;

/** The filter of an endpoint: conditions by the name or the pattern of events. */
export type EndpointFilter = Readonly<Record<string, Conditions>>;

/** Maximum bytes of a filter as JSON. Each fan-out reads the filters of its endpoints. */
const MAX_FILTER_BYTES = 4096;
const MAX_FILTER_CONDITIONS = 20;

const EXAMPLE = '{ "invoice.*": { "status": "paid" } }';

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

type Report = (path: string[], message: string) => void;

/** Returns the value of a condition as texts; undefined after an error was reported. */
function toConditionValue(value: unknown, path: string[], report: Report): string | string[] | undefined {
  const isList = path.at(-1) === 'changed' && Array.isArray(value);
  const texts = (isList ? value : [value]) as unknown[];
  if (isList && (texts.length === 0 || !texts.every((one) => typeof one === 'string'))) {
    report(path, 'Must be a list of at least one field');
    return undefined;
  }
  if (!isList && typeof value !== 'string' && typeof value !== 'number' && typeof value !== 'boolean') {
    report(path, 'Must be a text, a number or a boolean, as in the query string of a list');
    return undefined;
  }
  if (!texts.every((one) => isStorable(String(one)))) {
    report(path, 'Must not contain invalid characters');
    return undefined;
  }
  return isList ? texts.map(String) : String(value);
}

function toConditions(value: unknown, event: string, report: Report): Conditions {
  if (!isObject(value) || Object.keys(value).length === 0) {
    report([event], 'Must be an object with at least one condition, such as { "status": "paid" }');
    return {};
  }
  const conditions: [string, string | string[]][] = [];
  for (const [name, wanted] of Object.entries(value)) {
    const known = toConditionValue(wanted, [event, name], report);
    if (known !== undefined) conditions.push([name, known]);
  }
  return Object.fromEntries(conditions);
}

/** Reads the shape of a filter. Events and fields are checked later, because they depend on the endpoint and its owner. */
function toFilter(value: unknown, report: Report): EndpointFilter | null {
  if (value === null) return null;
  if (!isObject(value) || Object.keys(value).length === 0) {
    report([], `Must be an object of conditions by event, such as ${EXAMPLE}, or null`);
    return null;
  }
  if (Buffer.byteLength(JSON.stringify(value)) > MAX_FILTER_BYTES) {
    report([], `Must be at most ${MAX_FILTER_BYTES} bytes of JSON`);
    return null;
  }
  const entries = Object.entries(value);
  const count = entries.reduce((sum, [, one]) => sum + (isObject(one) ? Object.keys(one).length : 0), 0);
  if (count > MAX_FILTER_CONDITIONS) {
    report([], `Must have at most ${MAX_FILTER_CONDITIONS} conditions`);
    return null;
  }
  return Object.fromEntries(entries.map(([event, one]) => [event, toConditions(one, event, report)]));
}

// Not a record of zod, which would drop the key `__proto__` without an error.
export const filterSchema = z
  .unknown()
  .meta({
    type: ['object', 'null'],
    additionalProperties: {
      type: 'object',
      minProperties: 1,
      additionalProperties: {
        type: ['string', 'number', 'boolean', 'array'],
        items: { type: 'string' },
      },
    },
    examples: [{ 'invoice.*': { status: 'paid' } }],
    description:
      'Conditions that events must meet, by event or pattern: the filters of the list of the resource, and `changed` for updates. ' +
      'null: no filter.',
  })
  .transform((value, context): EndpointFilter | null =>
    toFilter(value, (path, message) => context.addIssue({ code: 'custom', path, message })),
  );

/** The shape of a filter in responses. */
export const filterShape = z
  .record(z.string(), z.record(z.string(), z.union([z.string(), z.array(z.string())])))
  .nullable()
  .meta({ description: 'Conditions that events must meet, by event or pattern. null: no filter.' });
