import { isIP } from 'node:net';
import { authorityOf, parseUrl } from '../parse-url.ts';
import { isPublicAddress } from './is-public-address.ts';

/**
 * Why a URL was refused: it cannot be parsed; it is neither http nor https; it is not https although https is required; it contains a
 * user name or password; its host name is percent-encoded; its host is not a public name; its host is an address that is not
 * public; its port is 0, on which no server can listen.
 */
type UrlRefusal = 'invalid' | 'scheme' | 'https' | 'userinfo' | 'encoded' | 'host' | 'address' | 'port';

// Names that mean this machine or this network (RFC 6761, RFC 6762 appendix G, RFC 8375, and .internal by ICANN).
const LOCAL_DOMAINS = /(^|\.)(localhost|localdomain|local|internal|intranet|private|corp|home|lan|home\.arpa)$/;
const LABEL = /^[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?$/;

/**
 * Checks a URL that a client chose and that this server is to call. A name that passes is not safe yet: its addresses are
 * checked by `createHostCheck` when the URL is stored, and by the guarded agent whenever it is called.
 *
 * @param text the URL as sent
 * @param options `allowPrivate`: accept local names and private addresses; `requireHttps`: refuse http
 * @returns the parsed URL, or the first reason to refuse it
 */
export function checkUrl(
  text: string,
  { allowPrivate, requireHttps }: { allowPrivate: boolean; requireHttps: boolean },
): { ok: true; url: URL } | { ok: false; reason: UrlRefusal } {
  const url = parseUrl(text);
  const reason = url ? findRefusalReason(url, text, allowPrivate, requireHttps) : 'invalid';
  return url && !reason ? { ok: true, url } : { ok: false, reason: reason ?? 'invalid' };
}

function findRefusalReason(url: URL, text: string, allowPrivate: boolean, requireHttps: boolean): UrlRefusal | null {
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return 'scheme';
  if (requireHttps && url.protocol !== 'https:') return 'https';
  if (url.username || url.password) return 'userinfo';
  // The parser decodes the host, so the called host would differ from the stored one.
  if (authorityOf(text).includes('%')) return 'encoded';
  const host = url.hostname.replace(/^\[|\]$/g, '');
  if (isIP(host)) {
    if (!allowPrivate && !isPublicAddress(host)) return 'address';
  } else if (!isHostName(host) || (!allowPrivate && isLocalName(host))) {
    return 'host';
  }
  if (url.port === '0') return 'port';
  // The parser drops tabs and newlines, so the stored URL would differ from the one that was sent.
  return hasControlCharacter(text) ? 'invalid' : null;
}

function isHostName(host: string): boolean {
  const name = stripTrailingDot(host);
  return name.length <= 253 && name.split('.').every((label) => LABEL.test(label));
}

function isLocalName(host: string): boolean {
  const name = stripTrailingDot(host);
  return !name.includes('.') || LOCAL_DOMAINS.test(name);
}

function stripTrailingDot(host: string): string {
  return host.endsWith('.') ? host.slice(0, -1) : host;
}

function hasControlCharacter(text: string): boolean {
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code < 0x20 || code === 0x7f) return true;
  }
  return false;
}
