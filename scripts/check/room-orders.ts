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
  'extensions/webhooks': [
    'settings',
    'endpoints',
    'deliveries',
    'engine',
    'monitoring',
    'api',
    'user-data',
    'portal',
    'console',
  ],
  'extensions/webhooks/engine': ['readability', 'fanout', 'delivery', 'recovery'],
  files: [],
  jobs: [],
  platform: [],
  push: [],
  records: [],
  runtime: [],
  testing: [],
};
