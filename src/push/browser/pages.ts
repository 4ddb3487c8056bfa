import { readFile } from 'node:fs/promises';
import type { Route } from '../../declare/route.ts';
import { onDemand, sendBytes, servedBytes } from '../../platform/http/served-bytes.ts';

// A new version must reach browsers soon; a worker may serve the whole site, whichever scope a page registers it with.
const HEADERS = { 'Cache-Control': 'no-cache', 'Service-Worker-Allowed': '/' };
const JAVASCRIPT = 'text/javascript; charset=utf-8';

function script(name: string, content: () => Promise<Buffer>): Route {
  const ready = onDemand(async () => servedBytes(JAVASCRIPT, await content(), HEADERS));
  return {
    method: 'GET',
    path: `/push/${name}`,
    policy: 'public',
    async handler({ req, res }) {
      sendBytes(req, res, await ready());
    },
  };
}

/**
 * What pages subscribe with: `/push/client.js`, and the service worker `/push/sw.js`.
 *
 * @param vapidPublicKey base64url
 */
export function browserPages(vapidPublicKey: string): Route[] {
  const file = (name: string) => script(name, () => readFile(new URL(`./page/${name}`, import.meta.url)));
  const key = `export const vapidPublicKey = ${JSON.stringify(vapidPublicKey)};\n`;
  return [file('client.js'), file('sw.js'), script('key.js', async () => Buffer.from(key))];
}
