/** Whether JSON.stringify preserves a value that is no object. It writes null for Infinity, to which JSON.parse turns 1e400. */
function isPreservedByStringify(value: unknown): boolean {
  return typeof value === 'number' ? Number.isFinite(value) : typeof value !== 'object' || value === null;
}

/**
 * Returns the canonical text of a JSON value, which is the same for all equal values: fields sorted by name (their order is insignificant,
 * RFC 8259 §4), no white space. Hand-written, because JSON.stringify with a replacer is several times slower than parsing.
 */
export function toCanonicalJson(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value);
  if (typeof value !== 'object' || value === null) return String(value);
  let text = '';
  if (Array.isArray(value)) {
    if (value.every(isPreservedByStringify)) return JSON.stringify(value);
    for (const item of value) text += `${text === '' ? '' : ','}${toCanonicalJson(item)}`;
    return `[${text}]`;
  }
  const names = Object.keys(value);
  if (names.length > 1) names.sort();
  for (const name of names) {
    text += `${text === '' ? '' : ','}${JSON.stringify(name)}:${toCanonicalJson((value as Record<string, unknown>)[name])}`;
  }
  return `{${text}}`;
}
