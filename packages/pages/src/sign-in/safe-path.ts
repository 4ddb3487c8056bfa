/**
 * Returns a path of this origin as it is, normalized; undefined for everything else, such as `//evil.example` or `javascript:…`. Such values
 * come from links that attackers can write.
 */
export function safePath(value: unknown, origin: string): string | undefined {
  if (typeof value !== 'string' || value.length > 2048) return undefined;
  let decoded: string;
  try {
    decoded = decodeURIComponent(value);
  } catch {
    return undefined;
  }
  // Browsers read `\` as `/`, and ignore tabs and line breaks inside of URLs. The decoded form is for servers that decode paths too early.
  const hasControl = [...decoded].some((character) => character < ' ' || character === '\u007f');
  if (hasControl || /[\s\\]/.test(value) || !value.startsWith('/') || /^[/\\]{2}/.test(decoded)) return undefined;
  const url = URL.parse(value, origin);
  // `/.//evil.example` is normalized to `//evil.example`, which names another host.
  if (url === null || url.origin !== origin || url.pathname.startsWith('//')) return undefined;
  return url.pathname + url.search + url.hash;
}
