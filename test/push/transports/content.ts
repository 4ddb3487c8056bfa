import type { PushContent } from '../../../src/push/message/message.ts';
import type { TransportDevice } from '../../../src/push/message/transport.ts';

/** Id of a push. */
export const PUSH_ID = '0123456789abcdef01234567';

/** A message with its defaults, as transports receive it. */
export const content = (fields: Partial<PushContent> = {}): PushContent => ({
  title: 'Hi',
  sound: 'default',
  priority: 'high',
  ...fields,
});

/** A message with every field that a visible message may have. */
export const FULL = content({
  title: 'Titel',
  subtitle: 'Untertitel',
  body: 'Grüße',
  image: 'https://example.com/image.png',
  icon: 'https://example.com/icon.png',
  url: '/orders/1',
  badge: 3,
  sound: 'chime.caf',
  channel: 'orders',
  category: 'ORDER',
  group: 'orders-1',
  collapseId: 'order 1',
  ttl: 3600,
  data: { url: '/orders/1', count: 2, open: true, items: ['a', { b: null }], text: 'plain' },
});

/** A device. */
export const device = (
  platform: TransportDevice['platform'],
  token: string,
  id: string | null = null,
): TransportDevice => ({ id, platform, token, user: null, locale: null });
