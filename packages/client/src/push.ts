import { createClientError } from './auth/context.ts';
import type { ApiRequest, CallOptions, Requester } from './request/request.ts';
import type { WebPushOptions } from './web-push.ts';

/** A device of the user that receives push messages. */
export interface Device {
  id: string;
  platform: 'ios' | 'android' | 'web';
  name: string | null;
  appVersion: string | null;
  locale: string | null;
  /** Masked. */
  token: string;
  /** Whether the device ends with the session that registered it. */
  signedIn: boolean;
  createdAt: string;
  lastSeenAt: string;
}

/** What the user sees in the list of their devices. */
export interface DeviceDetails {
  name?: string | undefined;
  appVersion?: string | undefined;
  /** Default in browsers: their language. */
  locale?: string | undefined;
}

/** `client.push`: the devices of the user. */
export interface ClientPush {
  /**
   * Subscribes this browser to push messages for the signed-in user. Asks for permission, so call it on a click. Call it again after every
   * sign-in, and once per visit if permission is granted: it renews what has changed, such as the key.
   *
   * @throws ApiError `PUSH_DENIED`: the user does not allow notifications. `PUSH_UNSUPPORTED`, `PUSH_NO_WORKER`, `PUSH_FAILED`
   * @example await client.push.registerWebPush({ name: 'My laptop' });
   */
  registerWebPush(options?: WebPushOptions & DeviceDetails): Promise<Device>;
  /** Ends the subscription of this browser. Call it before a sign-out. Does nothing without a subscription. */
  unregisterWebPush(options?: Pick<WebPushOptions, 'serviceWorker'> & CallOptions): Promise<void>;
  /**
   * Reports the notifications that the user has opened, before this page and from now on. Call it once on each page of a signed-in user.
   * Returns an unsubscribe function.
   */
  reportOpened(options?: CallOptions): Promise<() => void>;
  /** Registers the device of a native app by its token. */
  register(
    device: DeviceDetails & { platform: 'ios' | 'android'; token: string },
    options?: CallOptions,
  ): Promise<Device>;
  /** Removes the device with a token. */
  unregister(device: { token: string }, options?: CallOptions): Promise<void>;
  /** Lists the devices of the user. */
  devices(options?: CallOptions): Promise<Device[]>;
  /** Removes a device of the user. */
  delete(id: string, options?: CallOptions): Promise<void>;
}

/** The parts of a browser's `window` that ask for permission. */
interface PermissionWindow {
  Notification?: { requestPermission(): Promise<'granted' | 'denied' | 'default'> };
  PushManager?: unknown;
  navigator?: { serviceWorker?: unknown };
}

const page = globalThis as unknown as PermissionWindow;

/** Asks for permission. @throws ApiError `PUSH_UNSUPPORTED` or `PUSH_DENIED` */
async function requestPermission(): Promise<void> {
  if (page.Notification === undefined || page.PushManager === undefined || page.navigator?.serviceWorker === undefined)
    throw createClientError(
      'PUSH_UNSUPPORTED',
      'This browser has no push notifications, or the page is not served over https',
    );
  if ((await page.Notification.requestPermission()) !== 'granted')
    throw createClientError('PUSH_DENIED', 'Notifications are not allowed for this site');
}

/** Creates `client.push`. */
export function createPush(requester: Requester): ClientPush {
  const loadWebPush = () => import('./web-push.ts');
  const call = async <Data>(method: ApiRequest['method'], below: string, json?: object, options?: CallOptions) =>
    (await requester.send<Data>({ ...options, method, path: `/auth/devices${below}`, json })).data;
  const register = (json: object, options?: CallOptions) => call<Device>('POST', '', json, options);
  const unregister = ({ token }: { token: string }, options?: CallOptions) =>
    call<void>('POST', '/unregister', { token }, options);

  return {
    async registerWebPush({ name, appVersion, locale, serviceWorker, vapidPublicKey, ...options } = {}) {
      // Permission first, before anything is loaded: browsers ask the user only within their click.
      const [, { subscribe }] = await Promise.all([requestPermission(), loadWebPush()]);
      const subscription = await subscribe(requester.url, { ...options, serviceWorker, vapidPublicKey });
      const language = (globalThis as { navigator?: { language?: string } }).navigator?.language;
      const device = { name, appVersion, locale: locale ?? language, platform: 'web' };
      return register({ ...device, token: JSON.stringify(subscription) }, options);
    },
    async unregisterWebPush({ serviceWorker, ...options } = {}) {
      const { findSubscription } = await loadWebPush();
      const subscription = await findSubscription(requester.url, serviceWorker);
      if (subscription === undefined) return;
      await unregister({ token: JSON.stringify(subscription) }, options);
      await subscription.unsubscribe();
    },
    reportOpened: async (options) => (await loadWebPush()).reportOpened(requester, options),
    register,
    unregister,
    devices: (options) => call('GET', '', undefined, options),
    delete: (id, options) => call('DELETE', `/${encodeURIComponent(id)}`, undefined, options),
  };
}
