import { z } from 'zod';
import {
  isTransient,
  type PreparedFilter,
  type ResourceGateway,
  type StoredRecord,
  type ViewContext,
} from '../../../extension/index.ts';
import type { Conditions, EndpointFilter } from '../endpoints/filter-schema.ts';

/** A change of a record that a filter decides on. */
export interface FilteredEvent {
  /** `invoice.updated`. */
  name: string;
  gateway: ResourceGateway;
  record: StoredRecord;
  /** Whether the update changed a field. */
  hasChanged(field: string): boolean;
}

/** The condition of a filter that an event does not meet. */
export interface FailedCondition {
  /** The event or pattern in the filter. */
  event: string;
  /** The condition: `total[gte]`, `changed`. */
  condition: string;
  /** Why the filter cannot be used; null if it can. */
  error: string | null;
}

/** Returns a failed condition with its error in the language of the caller. */
export const translateFailed = ({ error, ...failed }: FailedCondition, translate: (text: string) => string) => ({
  ...failed,
  error: error === null ? null : translate(error),
});

/** The shape of a failed condition in responses. */
export const failedConditionShape = z
  .strictObject({
    event: z.string(),
    condition: z.string().meta({ description: 'The condition of this event in the filter: `total[gte]`, `changed`.' }),
    error: z.string().nullable().meta({ description: 'Why the filter cannot be used any more. null: it can.' }),
  })
  .meta({ description: 'The first condition of the filter that the event does not meet.' });

/** The error of a filter whose evaluation needs a rule of the app that threw. */
export const RULE_ERROR = 'The filter cannot be evaluated now, because a rule of the app threw an error';

/** Divides conditions into filters of a list and changed fields. */
export function toFilterRequest(conditions: Conditions): {
  filters: Record<string, string>;
  changed: readonly string[];
} {
  const filters: [string, string][] = [];
  let changed: readonly string[] = [];
  for (const [name, wanted] of Object.entries(conditions)) {
    if (typeof wanted === 'string') filters.push([name, wanted]);
    else changed = wanted;
  }
  return { filters: Object.fromEntries(filters), changed };
}

/** Evaluates filters for one viewer. */
export interface FilterEvaluator {
  /** Whether an event meets all conditions of a filter. */
  meets(filter: EndpointFilter, event: FilteredEvent): Promise<boolean>;
  /** Returns the first condition that an event does not meet; undefined if it meets all. A rule of the app that throws is an error of the filter. */
  findFailed(filter: EndpointFilter, event: FilteredEvent): Promise<FailedCondition | undefined>;
}

/**
 * Creates the evaluator of filters for a viewer. Each filter is prepared once, and each scope is evaluated once.
 *
 * @param gateways the resources by name, with their former names: a filter still applies after its resource was renamed
 */
export function createFilterEvaluator(
  gateways: ReadonlyMap<string, ResourceGateway>,
  viewContext: ViewContext,
): FilterEvaluator {
  const known = new Map<Conditions, Promise<PreparedFilter>>();

  function prepare(gateway: ResourceGateway, conditions: Conditions): Promise<PreparedFilter> {
    let prepared = known.get(conditions);
    if (prepared === undefined) {
      prepared = gateway.prepareFilter(toFilterRequest(conditions), viewContext);
      known.set(conditions, prepared);
    }
    return prepared;
  }

  /** Whether an event or pattern of a filter matches an event. */
  function matches(pattern: string, { name, gateway }: FilteredEvent): boolean {
    const dot = pattern.indexOf('.');
    const action = pattern.slice(dot + 1);
    if (action !== '*' && action !== name.slice(gateway.name.length + 1)) return false;
    return gateways.get(pattern.slice(0, dot)) === gateway;
  }

  async function findUnmet(
    pattern: string,
    conditions: Conditions,
    event: FilteredEvent,
  ): Promise<FailedCondition | undefined> {
    try {
      const prepared = await prepare(event.gateway, conditions);
      const condition = await prepared.findUnmet(event.record, event.hasChanged);
      return condition === undefined
        ? undefined
        : { event: pattern, condition, error: prepared.errors[condition] ?? null };
    } catch (error) {
      if (isTransient(error)) throw error;
      return { event: pattern, condition: Object.keys(conditions)[0]!, error: RULE_ERROR };
    }
  }

  return {
    async meets(filter, event) {
      for (const [pattern, conditions] of Object.entries(filter)) {
        if (!matches(pattern, event)) continue;
        const prepared = await prepare(event.gateway, conditions);
        if (!(await prepared.includes(event.record, event.hasChanged))) return false;
      }
      return true;
    },
    async findFailed(filter, event) {
      for (const [pattern, conditions] of Object.entries(filter)) {
        const failed = matches(pattern, event) ? await findUnmet(pattern, conditions, event) : undefined;
        if (failed !== undefined) return failed;
      }
      return undefined;
    },
  };
}
