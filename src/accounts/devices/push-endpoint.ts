import { checkUrl } from '../../platform/address-guard/index.ts';
import type { Platform } from '../../platform/platform.ts';

/** Which endpoints of browsers are sent to: clients name them, and this server calls them. */
export interface EndpointRule {
  /** Addresses that are not public, and any host: for development, where a push service may run on the same machine. */
  allowPrivate: boolean;
  /** Hosts beside those of the browsers' makers; `*.example.com` for all below, `*` for any public host. */
  hosts: readonly string[];
}

// What the makers of browsers run: Chrome and those built on it (official builds, others), Firefox, Safari, Edge.
const KNOWN = [
  'fcm.googleapis.com',
  'jmt17.google.com',
  '*.push.services.mozilla.com',
  '*.push.apple.com',
  '*.notify.windows.com',
];

function isOneOf(host: string, patterns: readonly string[]): boolean {
  return patterns.some((pattern) =>
    pattern.startsWith('*') ? pattern === '*' || host.endsWith(pattern.slice(1)) : host === pattern,
  );
}

/** The rule of an app. */
export function endpointRule({ env, settings }: Pick<Platform, 'env' | 'settings'>): EndpointRule {
  return { allowPrivate: env.nodeEnv !== 'production', hosts: settings.push.endpointHosts };
}

/** What is wrong with an endpoint, or undefined. What its host resolves to is checked when it is called. */
export function endpointFault(endpoint: string, { allowPrivate, hosts }: EndpointRule): string | undefined {
  const checked = checkUrl(endpoint, { allowPrivate, requireHttps: true });
  if (!checked.ok) return 'Must be a PushSubscription with an https endpoint of a public host';
  if (allowPrivate || isOneOf(checked.url.hostname, KNOWN) || isOneOf(checked.url.hostname, hosts)) return undefined;
  return 'Must be a PushSubscription with an endpoint of a known push service';
}
