import { z } from 'zod';
import { MAX_DETAILS } from '../errors.ts';

const describeCount = (items: number) => `${items} ${items === 1 ? 'item' : 'items'}`;

/**
 * Returns the schema of an array that a client sends. The length is checked before any item, and validation stops after 100 errors, so
 * that rejecting a long array is cheap. (`z.array(item).max(n)` checks every item first.)
 *
 * @param item the schema of each item
 * @param limits `min` and `max` items; `error`: the message for a value that is not an array; `tooFew`, `tooMany`: other messages
 */
export function boundedArraySchema<Item extends z.ZodType>(
  item: Item,
  limits: {
    min?: number;
    max: number;
    error: string | ((issue: { input: unknown }) => string);
    tooFew?: string | undefined;
    tooMany?: string | undefined;
  },
) {
  const { min = 0, max, error } = limits;
  const { tooFew = `Must be at least ${describeCount(min)}`, tooMany = `Must be at most ${describeCount(max)}` } =
    limits;

  function findArrayError(input: unknown): string | undefined {
    if (!Array.isArray(input)) return typeof error === 'string' ? error : error({ input });
    if (input.length < min) return tooFew;
    return input.length > max ? tooMany : undefined;
  }

  const { $schema: _, ...items } = z.toJSONSchema(item, { io: 'input', unrepresentable: 'any' });
  return z
    .unknown()
    .meta({ type: 'array', items, ...(min > 0 ? { minItems: min } : {}), maxItems: max })
    .transform((input, context): z.output<Item>[] => {
      const message = findArrayError(input);
      if (message !== undefined) {
        // Omit `input`: an issue that refers to a large value keeps it alive until the next full garbage collection.
        context.issues.push({ code: 'custom', message } as z.core.$ZodRawIssue);
        return z.NEVER;
      }
      const values: z.output<Item>[] = [];
      let errorCount = 0;
      for (const [i, value] of (input as unknown[]).entries()) {
        const parsed = item.safeParse(value);
        if (parsed.success) {
          values.push(parsed.data);
          continue;
        }
        const issues = parsed.error.issues.map((issue) => ({ ...issue, path: [i, ...issue.path] }));
        context.issues.push(...(issues as z.core.$ZodRawIssue[]));
        errorCount += issues.length;
        if (errorCount >= MAX_DETAILS) break;
      }
      return values;
    });
}
