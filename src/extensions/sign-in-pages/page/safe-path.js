/**
 * Returns a path of this origin as it is, normalized; undefined for everything else, such as `//evil.example` or `javascript:…`. Such values
 * come from links that attackers can write.
 *
 * @param {unknown} value
 * @param {string} origin
 * @returns {string | undefined}
 */
export function safePath(value, origin) {
  if (typeof value !== 'string' || value.length > 2048) return undefined;
  let decoded;
  try {
    decoded = decodeURIComponent(value);
  } catch {
    return undefined;
  }
  // Browsers read `\` as `/`, and ignore tabs and line breaks inside of URLs. The decoded form is for servers that decode paths too early.
  for (const text of [value, decoded]) {
    const hasControl = [...text].some((character) => character <= ' ' || character === '\u007f');
    if (hasControl || text.includes('\\') || !text.startsWith('/') || text.startsWith('//')) return undefined;
  }
  const url = URL.parse(value, origin);
  // `/.//evil.example` is normalized to `//evil.example`, which names another host.
  if (url === null || url.origin !== origin || url.pathname.startsWith('//')) return undefined;
  return url.pathname + url.search + url.hash;
}
