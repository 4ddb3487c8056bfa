import { AGGREGATE_FUNCTIONS, DATE_UNITS } from '../../declare/aggregate.ts';
import { canAggregate, computeMinGroupSize, listAggregatableFields } from '../../records/aggregate/fields.ts';
import {
  DEFAULT_GROUPS,
  DEFAULT_TIME_ZONE,
  isAggregateParameter,
  MAX_AGGREGATES,
  MAX_GROUP_TERMS,
  MAX_GROUPS,
} from '../../records/aggregate/parse.ts';
import type { CompiledResource } from '../../records/schema/compiled.ts';
import {
  createCommaListParameter,
  createQueryParameter,
  createSelectionParameters,
  describeDeprecatedNames,
  MAX_LISTED,
} from './parameters.ts';
import type { Json } from './schema.ts';

const FUNCTION_TEXT: Record<(typeof AGGREGATE_FUNCTIONS)[number], string> = {
  sum: 'The sums of these fields.',
  avg: 'The averages of these fields.',
  min: 'The least values of these fields.',
  max: 'The greatest values of these fields.',
  countDistinct: 'The numbers of different values of these fields.',
};

/** Creates the query parameters of a resource's aggregates. */
export function createAggregateParameters(resource: CompiledResource): Json[] {
  const fields = [...listAggregatableFields(resource, 'any client').values()];
  const minGroupSize = computeMinGroupSize(resource, 'any client');
  const groups = fields.flatMap(({ name, aggregations }) =>
    aggregations.group === 'bucket' ? DATE_UNITS.map((unit) => `${unit}(${name})`) : [name],
  );
  const functions = AGGREGATE_FUNCTIONS.map((fn) => ({
    fn,
    names: fields.filter((field) => canAggregate(field, fn, minGroupSize)).map(({ name }) => name),
  })).filter(({ names }) => names.length > 0);
  const sorted = ['count', ...groups, ...functions.flatMap(({ fn, names }) => names.map((name) => `${fn}(${name})`))];
  const sortValues = sorted.flatMap((key) => [key, `-${key}`]);
  const small =
    minGroupSize === 1
      ? ''
      : ` Groups of fewer than ${minGroupSize} records, and sums and averages of fewer values, are left out.`;
  const hidden = fields.some(({ compiled }) => compiled?.visibleTo !== undefined)
    ? ' Records in which you may not see one of these fields are left out.'
    : '';
  const deprecated = (names: readonly string[]) => describeDeprecatedNames(names, resource);
  const groupText = `The fields whose values form the groups; without it, all records are one group.${hidden}${small}${deprecated(fields.map(({ name }) => name))}`;
  const zoneText = 'The IANA time zone of the date buckets.';
  return [
    ...(groups.length === 0
      ? []
      : [
          createCommaListParameter(
            'group',
            groupText,
            { type: 'string', enum: groups },
            { maxItems: MAX_GROUP_TERMS, uniqueItems: true },
          ),
        ]),
    createQueryParameter('count', 'Counts the records of each group. Counted in any case without another aggregate.', {
      type: 'boolean',
      const: true,
    }),
    ...functions.map(({ fn, names }) =>
      createCommaListParameter(
        fn,
        FUNCTION_TEXT[fn] + deprecated(names),
        { type: 'string', enum: names },
        { maxItems: MAX_AGGREGATES, uniqueItems: true },
      ),
    ),
    createCommaListParameter(
      'sort',
      'The order of the groups, by terms that the query requests; `-` sorts in descending order. Default: by `group`.',
      { type: 'string', ...(sortValues.length > MAX_LISTED ? { examples: ['-count'] } : { enum: sortValues }) },
      { maxItems: MAX_GROUP_TERMS + MAX_AGGREGATES, uniqueItems: true },
    ),
    createQueryParameter('limit', 'The maximum number of groups.', {
      type: 'integer',
      minimum: 1,
      maximum: MAX_GROUPS,
      default: DEFAULT_GROUPS,
    }),
    createQueryParameter('timeZone', zoneText, {
      type: 'string',
      default: DEFAULT_TIME_ZONE,
      examples: ['Europe/Berlin'],
    }),
    ...createSelectionParameters(resource).filter(({ name }) => !isAggregateParameter(name as string)),
  ];
}
