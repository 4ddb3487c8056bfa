/** Writes values as code. Nothing here depends on a browser. */

const IDENTIFIER = /^[A-Za-z_$][\w$]*$/;

export const isIdentifier = (name: string): boolean => IDENTIFIER.test(name);

/** Writes a text in single quotes. */
export const quoteText = (value: string): string =>
  `'${JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;

/** Writes the name of a member, in quotes if it needs them. */
export const memberName = (name: string): string => (isIdentifier(name) ? name : quoteText(name));

/** Writes a value as code. */
export function literal(value: unknown, indent = ''): string {
  if (typeof value === 'string') return quoteText(value);
  if (typeof value !== 'object' || value === null) return String(value);
  const inner = `${indent}  `;
  const isList = Array.isArray(value);
  const items = isList
    ? value.map((item) => literal(item, inner))
    : Object.entries(value)
        .filter(([, item]) => item !== undefined)
        .map(([name, item]) => `${memberName(name)}: ${literal(item, inner)}`);
  const [open, close] = isList ? ['[', ']'] : ['{', '}'];
  if (items.length === 0) return open + close;
  const short = isList ? `[${items.join(', ')}]` : `{ ${items.join(', ')} }`;
  if (short.length + indent.length <= 72 && !short.includes('\n')) return short;
  return `${open}\n${items.map((item) => `${inner}${item},\n`).join('')}${indent}${close}`;
}

/** Returns the value of a JSON text; an empty object if the text is not JSON yet. */
export function parseJson(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return {};
  }
}
