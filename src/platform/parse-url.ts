// The WHATWG parser skips any number of slashes and backslashes before the authority of an http or https URL.
const AUTHORITY = /^[^:]*:[/\\\t\n\r]*([^/\\?#]*)/;
const MAX_AUTHORITY_LENGTH = 8192;
// Converting a label from or to punycode takes the square of its length. No longer names exist (RFC 1035 §2.3.4).
const MAX_HOST_AND_PORT_LENGTH = 260;
const MAX_LABEL_LENGTH = 63;
// biome-ignore lint/suspicious/noControlCharactersInRegex: ASCII without the percent sign
const CONVERTED = /[^\u0000-\u0024\u0026-\u007f]|xn--/i;

/** Returns the user name, password, host and port of an http or https URL, as they stand in the text. */
export function authorityOf(text: string): string {
  return AUTHORITY.exec(text)?.[1] ?? '';
}

function isCheap(authority: string): boolean {
  if (authority.length > MAX_AUTHORITY_LENGTH) return false;
  if (!CONVERTED.test(authority)) return true;
  const host = authority.slice(authority.lastIndexOf('@') + 1);
  // These full stops separate labels, too (UTS #46).
  const isLong = (label: string) => label.length > MAX_LABEL_LENGTH;
  return host.length <= MAX_HOST_AND_PORT_LENGTH && !host.split(/[.\u3002\uff0e\uff61]/).some(isLong);
}

/**
 * Parses a URL that a client sent, as `URL.parse()` does, in a time that the client cannot stretch: null also for user name,
 * password, host and port of more than 8,192 characters together, and for international host names that are longer than DNS allows.
 */
export function parseUrl(text: string): URL | null {
  return isCheap(authorityOf(text)) ? URL.parse(text) : null;
}
