/**
 * The order inside each large room: its sub-folders from the ground up. Each imports only those that stand before it, and none imports a file
 * at the room's own root, which is its face. import-rules.ts checks that the lists are complete.
 */
export const roomOrders: Record<string, readonly string[]> = {
  accounts: [
    'passwords',
    'import',
    'users',
    'email-proofs',
    'lockout',
    'power',
    'sessions',
    'devices',
    'reset',
    'sign-in',
    'identities',
  ],
  cli: ['project', 'terminal', 'test', 'admin', 'data', 'dev', 'doctor', 'migration', 'types'],
  client: ['request', 'auth', 'records', 'schema', 'realtime'],
  'extensions/audit': ['trail', 'recording', 'reading', 'console'],
  'extensions/console': ['access', 'jobs', 'mails', 'operations', 'push', 'data', 'accounts', 'reference'],
  'extensions/oidc': ['provider', 'simulated'],
  'extensions/organisations': ['membership', 'invitations', 'tenants'],
  'extensions/passkeys': [],
  'extensions/privacy': ['erasure', 'export'],
  'extensions/realtime': ['settings', 'events', 'fan-out', 'streams'],
  'extensions/sign-in-pages': [],
  'extensions/webhooks': [],
  files: ['store', 'serving', 'uploads'],
  jobs: ['declarations', 'queue', 'schedules'],
  platform: [],
  push: ['history', 'message', 'send', 'simulated', 'transports', 'delivery'],
  records: [],
  runtime: ['http', 'migrations', 'connections', 'openapi', 'diagnosis'],
  testing: ['factories', 'waiting', 'clock', 'servers'],
};
