// A room is a folder of src or of src/extensions, or one of its large sub-folders, or the sources of a package. src/app, src/index.ts and src/web.ts stand above all of them.

/** What each folder of packages/pages/src may import from, besides itself. A tab never imports another one. */
export const pagesMayImport: Record<string, readonly string[]> = {
  kit: [],
  push: [],
  portal: ['kit'],
  'sign-in': ['kit'],
  reference: ['kit'],
  console: ['kit'],
  tabs: ['kit', 'console', 'reference'],
};

/** What each folder of src/ may import from, besides itself. Type imports count as well. */
export const mayImport: Record<string, readonly string[]> = {
  platform: [],
  declare: ['platform'],
  rules: ['declare', 'platform'],
  records: ['rules', 'declare', 'platform'],
  files: ['records', 'rules', 'declare', 'platform'],
  accounts: ['records', 'rules', 'declare', 'platform'],
  jobs: ['records', 'rules', 'declare', 'platform'],
  push: ['accounts', 'records', 'rules', 'declare', 'platform'],
  extension: ['accounts', 'push', 'records', 'rules', 'declare', 'platform'],
  extensions: ['extension', 'accounts', 'push', 'records', 'rules', 'declare', 'platform'],
  runtime: ['accounts', 'jobs', 'push', 'files', 'records', 'rules', 'declare', 'platform'],
  'dev-servers': [],
  cli: ['runtime', 'extensions', 'dev-servers', 'accounts', 'jobs', 'push', 'records', 'rules', 'declare', 'platform'],
  testing: [
    'runtime',
    'extensions',
    'dev-servers',
    'accounts',
    'jobs',
    'push',
    'records',
    'rules',
    'declare',
    'platform',
  ],
};

/** The folder of a room. */
export const folderOf = (room: string) => (room.startsWith('packages/') ? room : `src/${room}`);

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
    'invitations',
  ],
  cli: ['project', 'terminal', 'codemod', 'test', 'admin', 'data', 'dev', 'doctor', 'status', 'migration', 'types'],
  'extensions/audit': ['trail', 'recording', 'reading', 'console'],
  'extensions/console': ['access', 'mails', 'operations', 'push', 'data', 'jobs', 'overview', 'accounts', 'reference'],
  'extensions/oidc': ['provider', 'simulated'],
  'extensions/organisations': ['membership', 'invitations', 'tenants'],
  'extensions/privacy': ['erasure', 'export'],
  'extensions/realtime': ['settings', 'events', 'fan-out', 'streams'],
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
  files: ['store', 'serving', 'uploads'],
  jobs: ['declarations', 'queue', 'schedules'],
  platform: ['helpers', 'languages', 'observability', 'data', 'http', 'work', 'mail', 'settings'],
  'platform/data': ['postgres', 'crypto', 'redis', 'replica', 'storage'],
  'platform/work': ['processes', 'limits', 'queues', 'outbox', 'leased-work'],
  'packages/client/src': ['request', 'auth', 'schema', 'records', 'realtime'],
  push: ['history', 'message', 'send', 'simulated', 'transports', 'delivery'],
  records: [
    'fields',
    'schema',
    'ranges',
    'query',
    'aggregate',
    'configuration',
    'store',
    'access',
    'serialize',
    'writes',
    'references',
    'operations',
    'bulk',
    'service',
  ],
  runtime: ['http', 'migrations', 'connections', 'openapi', 'diagnosis'],
  testing: ['factories', 'waiting', 'clock', 'servers'],
};

/** Folders above the face of their room: they import it, and nothing else in the room imports them. */
export const aboveTheFace: Record<string, readonly string[]> = { 'packages/client/src': ['react'] };

/**
 * What extensions import besides `src/extension/index.ts` and their own files: internals that the entry does not offer,
 * because one extension uses them, or two at most. Add a name to the entry instead if another extension could use it.
 */
export const internalsOfExtensions: Record<string, readonly string[]> = {
  audit: [
    'platform/helpers/json/canonical-json.ts',
    'records/query/sql/within-bytes.ts',
    'records/serialize/response-bytes.ts',
  ],
  console: [
    'accounts/devices/index.ts',
    'accounts/passwords/password-hash.ts',
    'accounts/users/user-state.ts',
    'declare/policy.ts',
    'declare/push.ts',
    'declare/service.ts',
    'declare/title.ts',
    'platform/data/crypto/keyring.ts',
    'platform/data/postgres/errors.ts',
    'platform/data/postgres/problems.ts',
    'platform/data/redis/connections.ts',
    'platform/data/redis/problems.ts',
    'platform/helpers/json-schema.ts',
    'platform/http/built-pages.ts',
    'platform/mail/message.ts',
    'platform/mail/store.ts',
    'platform/work/limits/index.ts',
    'platform/work/outbox/state.ts',
    'platform/work/processes/facts.ts',
    'platform/work/processes/list.ts',
    'platform/work/processes/registry.ts',
    'platform/work/processes/slow-log.ts',
    'platform/work/processes/statement-text.ts',
    'platform/work/queues/state.ts',
    'push/history/list-pushes.ts',
    'push/history/push-devices.ts',
    'push/history/read-push.ts',
    'records/bulk/format-rows.ts',
    'records/bulk/read-rows.ts',
    'records/bulk/write-rows.ts',
    'records/configuration/roles.ts',
    'records/fields/field-type.ts',
    'records/fields/text-rules.ts',
    'records/schema/compile.ts',
    'records/schema/rule-errors.ts',
    'records/store/versions.ts',
    'rules/acting.ts',
  ],
  organisations: [
    'declare/field.ts',
    'declare/policy.ts',
    'records/query/comparison.ts',
    'records/schema/references.ts',
  ],
  privacy: ['platform/data/postgres/connection.ts', 'platform/platform.ts'],
  realtime: [
    'declare/actor.ts',
    'platform/data/postgres/write-in-batches.ts',
    'platform/http/stalled-connections.ts',
    'platform/observability/limited-warning.ts',
    'rules/credential-scopes.ts',
    'rules/credential.ts',
  ],
  'sign-in-pages': ['platform/http/built-pages.ts'],
  webhooks: [
    'platform/data/postgres/cost-limit.ts',
    'platform/data/postgres/settled.ts',
    'platform/helpers/language.ts',
    'platform/http/built-pages.ts',
    'platform/http/response.ts',
    'platform/work/outbox/table.ts',
    'records/schema/rule-errors.ts',
  ],
};
