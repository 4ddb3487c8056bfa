const KEY = 4;
const SMALL = 8;

/** About how many bytes a value has as JSON: its letters are counted, not what UTF-8 and escapes make of them. */
export function weightOf(value: unknown): number {
  if (typeof value === 'string') return value.length + 2;
  if (typeof value !== 'object' || value === null) return SMALL;
  let weight = 2;
  if (Array.isArray(value)) for (const item of value) weight += 1 + weightOf(item);
  else for (const [key, item] of Object.entries(value)) weight += KEY + key.length + weightOf(item);
  return weight;
}
