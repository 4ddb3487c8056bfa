import { isIP } from 'node:net';
import { z } from 'zod';
import {
  type Accounts,
  getAppUrl,
  type Host,
  lifetimeSetting,
  type ResourceGateway,
  wholeNumberSettingSchema,
} from '../../extension/index.ts';

/** The address of an Android app: the SHA-256 of its signing certificate in base64url. */
const ANDROID_ORIGIN = /^android:apk-key-hash:[\w-]{43}$/;
const DOMAIN_LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const MAX_ORIGINS = 20;
/** A user's passkeys are returned as one list. */
const MAX_PASSKEYS = 100;

/** Whether a text is a domain as browsers compare it: lower case, and Punycode for other characters. */
function isDomain(text: string): boolean {
  return text.length <= 253 && isIP(text) === 0 && text.split('.').every((label) => DOMAIN_LABEL.test(label));
}

/** Whether a text is an origin as browsers and Android report it. */
function isOrigin(text: string): boolean {
  if (ANDROID_ORIGIN.test(text)) return true;
  return /^https?:/.test(text) && URL.canParse(text) && new URL(text).origin === text;
}

const ORIGIN_ERROR =
  'must be an origin such as https://app.example.com, or android:apk-key-hash:… with the 43 characters of a base64url SHA-256';

/** The settings of the extension. */
export const passkeySettings = z.strictObject({
  /** The domain that passkeys belong to. Default: the host of APP_URL, else `localhost`. */
  rpId: z.string().refine(isDomain, { error: 'must be a domain in lower case, such as example.com' }).optional(),
  /** The name that browsers show for the app. Default: the host of APP_URL, else the setting `openapi.title`. */
  rpName: z.string().trim().min(1).max(64).optional(),
  /** The origins of the pages and apps that may use passkeys. Default: the origin of APP_URL, else `http://localhost:<PORT>`. */
  origins: z
    .array(z.string().refine(isOrigin, { error: ORIGIN_ERROR }))
    .min(1)
    .max(MAX_ORIGINS)
    .optional(),
  /** Maximum number of passkeys of a user. */
  maxPasskeysPerUser: wholeNumberSettingSchema(MAX_PASSKEYS).default(20),
  /** Minutes for which a challenge can be answered. */
  challengeTtl: lifetimeSetting('1h').prefault('5m'),
  /** Whether users who have passkeys need one after their password, or after any other sign-in that is not two factors. */
  secondFactor: z.boolean().default(false),
});

/** The settings of the extension as a project writes them. All are optional. */
export type PasskeyOptions = z.input<typeof passkeySettings> & {
  /** @deprecated Use `maxPasskeysPerUser`. */
  maxPerUser?: number;
  /** @deprecated Use `challengeTtl`. */
  challengeMinutes?: number;
};

/** The settings with all defaults filled. */
export type PasskeySettings = Required<z.output<typeof passkeySettings>>;

/** The dependencies of the extension's operations. */
export interface PasskeyContext {
  host: Pick<Host, 'database' | 'transaction' | 'events' | 'settings'>;
  accounts: Accounts;
  users: ResourceGateway;
  settings: PasskeySettings;
}

/** Whether browsers treat a host as secure without TLS. */
function isLocalhost(host: string): boolean {
  return host === 'localhost' || host.endsWith('.localhost');
}

/** Returns the error of an origin whose pages cannot use passkeys of the domain; undefined if there is none. */
function findOriginError(origin: string, rpId: string): string | undefined {
  if (ANDROID_ORIGIN.test(origin)) return undefined;
  const { protocol, hostname } = new URL(origin);
  if (hostname !== rpId && !hostname.endsWith(`.${rpId}`))
    return `the origin ${origin} does not belong to the domain ${rpId}; set origins and rpId so that they fit`;
  if (protocol !== 'https:' && !isLocalhost(hostname))
    return `browsers allow passkeys only with https, except on localhost; change the origin ${origin}`;
  return undefined;
}

/**
 * Fills the defaults that depend on the environment.
 *
 * @returns the errors of settings that do not fit together or to the environment; empty if there are none
 */
export function completePasskeySettings(
  given: z.output<typeof passkeySettings>,
  { env, settings: { openapi } }: Pick<Host, 'env' | 'settings'>,
): { settings: PasskeySettings; errors: readonly string[] } {
  const app = new URL(getAppUrl(env));
  const { rpId = app.hostname, origins = [app.origin] } = given;
  const rpName = given.rpName ?? (env.appUrl === undefined ? openapi.title : app.host);
  const settings = { ...given, rpId, rpName, origins };
  if (!isDomain(rpId))
    return { settings, errors: [`passkeys need a domain, and the host of APP_URL is ${rpId}; set rpId and origins`] };
  return { settings, errors: origins.flatMap((origin) => findOriginError(origin, rpId) ?? []) };
}
