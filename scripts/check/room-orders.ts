/**
 * The order inside each large room: its sub-folders from the ground up. Each imports only those that stand before it, and none imports a file
 * at the room's own root, which is its face. import-rules.ts checks that the lists are complete.
 */
export const roomOrders: Record<string, readonly string[]> = {
  accounts: [],
  cli: [],
  client: [],
  'extensions/audit': [],
  'extensions/console': [],
  'extensions/oidc': [],
  'extensions/organisations': [],
  'extensions/passkeys': [],
  'extensions/privacy': [],
  'extensions/realtime': [],
  'extensions/sign-in-pages': [],
  'extensions/webhooks': [],
  files: [],
  jobs: [],
  platform: ['helpers', 'observability', 'data', 'http', 'work', 'mail', 'settings'],
  'platform/data': ['postgres', 'crypto', 'redis', 'replica', 'storage'],
  'platform/work': ['processes', 'limits', 'queues', 'outbox', 'leased-work'],
  push: [],
  records: [],
  runtime: [],
  testing: [],
};
