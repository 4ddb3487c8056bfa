import type { PushContent } from '../message.ts';
import type { SendContext } from '../transport.ts';

/** 28 days, what FCM and web push services keep at most, and what they take when nothing is said. */
export const LONGEST_TTL_SECONDS = 2_419_200;

/** Whole seconds that a provider may still keep a notification, 0 for one try only; undefined when the message sets none. */
export function secondsLeft({ ttl }: PushContent, { expiresAt }: Pick<SendContext, 'expiresAt'>): number | undefined {
  if (ttl === undefined) return undefined;
  const left = expiresAt === undefined ? ttl : Math.ceil((expiresAt - Date.now()) / 1000);
  return Math.max(0, Math.min(left, ttl, LONGEST_TTL_SECONDS));
}
