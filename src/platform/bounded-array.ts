import { z } from 'zod';
import { MOST_DETAILS } from './errors.ts';

/**
 * The schema of an array from a client. Refusing a long one costs no more than reading it: the items are counted before any is
 * checked, and checking ends after 100 errors. (`z.array(item).max(n)` checks every item first.)
 *
 * @param item the schema of each item
 * @param bounds the fewest and most items, and messages for fewer, for more, and for a value that is no array
 */
export function boundedArray<Item extends z.ZodType>(
  item: Item,
  bounds: {
    min?: number;
    max: number;
    tooFew?: string;
    tooMany: string;
    error: string | ((issue: { input: unknown }) => string);
  },
) {
  const { min = 0, max, tooFew = 'Must be at least 1 item', tooMany, error } = bounds;

  function faultOf(input: unknown): string | undefined {
    if (!Array.isArray(input)) return typeof error === 'string' ? error : error({ input });
    if (input.length < min) return tooFew;
    return input.length > max ? tooMany : undefined;
  }

  const { $schema: _, ...items } = z.toJSONSchema(item, { io: 'input', unrepresentable: 'any' });
  return z
    .unknown()
    .meta({ type: 'array', items, ...(min > 0 ? { minItems: min } : {}), maxItems: max })
    .transform((input, context): z.output<Item>[] => {
      const message = faultOf(input);
      if (message !== undefined) {
        context.issues.push({ code: 'custom', message } as z.core.$ZodRawIssue);
        return z.NEVER;
      }
      const values: z.output<Item>[] = [];
      let faults = 0;
      for (const [i, one] of (input as unknown[]).entries()) {
        const parsed = item.safeParse(one);
        if (parsed.success) {
          values.push(parsed.data);
          continue;
        }
        const placed = parsed.error.issues.map((issue) => ({ ...issue, path: [i, ...issue.path] }));
        context.issues.push(...(placed as z.core.$ZodRawIssue[]));
        faults += parsed.error.issues.length;
        if (faults >= MOST_DETAILS) break;
      }
      return values;
    });
}
