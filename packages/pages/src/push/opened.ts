/** The cache in which the service worker stores opened notifications until a page reports them, because a service worker has no session. */
export const OPENED = 'belfry-push-opened';

/** The message to the pages of the site that a notification was stored. */
export interface OpenedMessage {
  type: typeof OPENED;
}
