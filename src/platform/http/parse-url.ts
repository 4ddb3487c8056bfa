// The WHATWG parser skips any number of slashes and backslashes before the authority of an http or https URL.
const AUTHORITY = /^[^:]*:[/\\\t\n\r]*([^/\\?#]*)/;
const MAX_AUTHORITY_LENGTH = 8192;
// Converting a label from or to punycode takes time quadratic in its length. Longer names cannot exist (RFC 1035 §2.3.4).
const MAX_HOST_AND_PORT_LENGTH = 260;
const MAX_LABEL_LENGTH = 63;
// biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII without the percent sign
const NEEDS_PUNYCODE = /[^\u0000-\u0024\u0026-\u007f]|xn--/i;

/** Returns the user name, password, host and port of an http or https URL, exactly as written. */
export function authorityOf(text: string): string {
  return AUTHORITY.exec(text)?.[1] ?? '';
}

function isCheapToParse(authority: string): boolean {
  if (authority.length > MAX_AUTHORITY_LENGTH) return false;
  if (!NEEDS_PUNYCODE.test(authority)) return true;
  const host = authority.slice(authority.lastIndexOf('@') + 1);
  // The URL parser treats ideographic, fullwidth and halfwidth full stops as label separators too (UTS #46).
  const isLong = (label: string) => label.length > MAX_LABEL_LENGTH;
  return host.length <= MAX_HOST_AND_PORT_LENGTH && !host.split(/[.\u3002\uff0e\uff61]/).some(isLong);
}

/**
 * Parses a URL that a client sent like `URL.parse()`, but in bounded time. It also returns null if user name, password, host and port
 * together exceed 8,192 characters, or if an international host name is longer than DNS allows.
 */
export function parseUrl(text: string): URL | null {
  return isCheapToParse(authorityOf(text)) ? URL.parse(text) : null;
}
