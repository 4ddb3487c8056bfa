import type { Platform } from '../../platform/platform.ts';
import { getAppUrl } from '../../platform/settings/environment.ts';

/**
 * Returns the link of an e-mail with a token. The token is in the fragment, which browsers send to no server, so it reaches no access log
 * and no `Referer`. The link never depends on the request, whose headers an attacker could choose.
 *
 * @param url the page as a setting names it; undefined: `path` below `APP_URL`
 */
export function createProofLink(
  { env }: Pick<Platform, 'env'>,
  url: string | undefined,
  path: string,
  token: string,
): string {
  const link = new URL(url ?? getAppUrl(env) + path);
  link.hash = `token=${token}`;
  return link.href;
}
