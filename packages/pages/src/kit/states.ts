import type { StatusKind } from './parts.tsx';

/** The colours of the states of webhook endpoints, on every page. */
export const ENDPOINT_KINDS = {
  active: 'good',
  retrying: 'warn',
  failing: 'warn',
  disabled: 'bad',
} as const satisfies Record<string, StatusKind>;

/** The colours of the states of deliveries, on every page. */
export const DELIVERY_KINDS = {
  succeeded: 'good',
  failed: 'bad',
  pending: 'warn',
  sending: 'neutral',
} as const satisfies Record<string, StatusKind>;
