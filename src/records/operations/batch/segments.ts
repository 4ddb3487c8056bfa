import type { CompiledResource } from '../../schema/compiled.ts';
import type { BatchAccess } from './access.ts';
import type { BatchItem } from './item.ts';
import { findOwnReferences } from './references.ts';

/** Consecutive items of a batch that are independent of each other. They can be prepared and written together. */
export interface Segment {
  items: BatchItem[];
  /** Whether the segment is a single item that runs by itself. */
  isAlone: boolean;
}

function getUpsertKey({ id, by }: BatchItem): string | undefined {
  return by === undefined ? id : JSON.stringify(by.value ?? null);
}

/**
 * Splits a batch into segments. A new segment begins where an item depends on the result of an earlier one: it names the same record or
 * refers to it, or one is an upsert, whose record is known only when it runs.
 *
 * @param maxItems the maximum number of items in a segment
 */
export async function splitIntoSegments(
  resource: CompiledResource,
  items: readonly BatchItem[],
  access: BatchAccess,
  maxItems: number,
): Promise<Segment[]> {
  const segments: Segment[] = [];
  const keys = new Set<string>();
  for (const item of items) {
    const isAlone = !(await access.canWriteTogether(item));
    const key = getUpsertKey(item);
    const references = findOwnReferences(resource, item);
    const current = segments.at(-1);
    const continues =
      current !== undefined &&
      !isAlone &&
      !current.isAlone &&
      current.items.length < maxItems &&
      current.items[0]!.by?.field === item.by?.field &&
      !(key !== undefined && keys.has(key)) &&
      !references.some((id) => current.items[0]!.by !== undefined || keys.has(id));
    if (!continues) keys.clear();
    if (key !== undefined) keys.add(key);
    if (continues) current.items.push(item);
    else segments.push({ items: [item], isAlone });
  }
  return segments;
}
