/** The order of members in `jsonb`: by the length of their names, then by their bytes. */
function inOrder([a]: [string, unknown], [b]: [string, unknown]): number {
  return Buffer.byteLength(a) - Buffer.byteLength(b) || Buffer.compare(Buffer.from(a), Buffer.from(b));
}

/** A JSON value in the same text form in which Postgres prints `jsonb`. */
export function jsonbText(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(jsonbText).join(', ')}]`;
  const members = Object.entries(value).sort(inOrder);
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}: ${jsonbText(member)}`).join(', ')}}`;
}
