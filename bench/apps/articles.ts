import {
  audit,
  createApp,
  defineJob,
  defineResource,
  defineUser,
  emailSignIn,
  f,
  oidc,
  passkeys,
  realtime,
  webhooks,
} from '../../src/index.ts';

const article = defineResource('article', {
  description: 'What is measured: a record of common size, owned by a user',
  fields: {
    title: f.string().required().max(200).sortable(),
    body: f.text().max(20_000),
    category: f.string().max(40).filterable().aggregatable(),
    status: f.enum(['draft', 'published']).default('draft').filterable(),
    tags: f.array(f.string().max(40)).max(10),
    views: f.integer().min(0).default(0).aggregatable(),
    author: f.ref('user').owner(),
  },
  policies: {
    list: 'authenticated',
    read: 'authenticated',
    create: 'authenticated',
    update: 'owner | admin',
    delete: 'owner | admin',
  },
  indexes: [{ fields: ['category', '-createdAt'] }],
});

const memo = defineResource('memo', {
  description: 'What only its owner may read: for the fan-out of events that hardly anybody gets',
  fields: { text: f.text().max(20_000), size: f.integer().filterable(), owner: f.ref('user').owner() },
  policies: { read: 'owner' },
});

/** A job that does nothing, and a transport that accepts every notification at once. */
const WORK = {
  jobs: [defineJob('noop', { concurrency: 50, run: () => undefined })],
  transports: [
    {
      name: 'instant',
      send: (_message: unknown, devices: readonly unknown[]) => devices.map(() => ({ ok: true, id: 'accepted' })),
    },
  ],
};

/** Creates the extensions with which users sign in by link, identity provider and passkey. */
const createSignInExtensions = (issuer: string) => [
  emailSignIn({ url: 'http://127.0.0.1/sign-in' }),
  oidc({ providers: { bench: { issuer, clientId: 'bench', clientSecret: 'a secret of the bench' } } }),
  passkeys({ rpId: 'localhost', origins: ['http://localhost:5001'] }),
];

/**
 * Creates the app that is measured: a typical resource, and the defaults of a project for everything else.
 *
 * @param environment settings of the process, as in `process.env`. `BENCH_CONCURRENCY`: webhook requests in flight.
 *   `BENCH_LIMITS`: `on` for rate limits, which the baselines do not have. `BENCH_AUDIT`: `on` for audited articles.
 *   `BENCH_REALTIME`: `on` for streams, without a limit on their number. `BENCH_SIGN_IN_ISSUER`: the issuer of an identity provider, to add every
 *   way to sign in. `BENCH_WORK`: `on` for a job and a push transport. `BENCH_KEEP_EVENTS`: `on` for a log of outgoing events.
 */
export function createBenchApp(environment: Record<string, string | undefined>) {
  const {
    BENCH_CONCURRENCY: concurrency,
    BENCH_LIMITS: limitsSetting,
    BENCH_AUDIT: auditSetting,
    BENCH_REALTIME: realtimeSetting,
    BENCH_SIGN_IN_ISSUER: issuer,
    BENCH_WORK: workSetting,
    BENCH_KEEP_EVENTS: keepEventsSetting,
  } = environment;
  // The receivers of a benchmark run on this machine. No mail server does, so e-mails would only be retried.
  const localReceivers = {
    allowPrivate: true,
    requireHttps: false,
    notifyOwner: false,
    keepEventsDays: keepEventsSetting === 'on' ? 7 : 0,
  };
  const webhooksExtension = webhooks(
    concurrency === undefined ? localReceivers : { ...localReceivers, concurrency: Number(concurrency) },
  );
  const isAudited = auditSetting === 'on';
  const articles = isAudited ? { ...article, audit: true } : article;
  // A load from one address must not reach the limit, since the benchmark measures the cost of counting.
  const rateLimit = { enabled: limitsSetting === 'on', global: { limit: 1_000_000_000, windowMs: 60_000 } };
  const options = { resources: [defineUser(), articles, memo], settings: { rateLimit } };
  const extensions = [
    webhooksExtension,
    ...(isAudited ? [audit()] : []),
    ...(issuer === undefined ? [] : createSignInExtensions(issuer)),
    ...(realtimeSetting === 'on' ? [realtime({ maxStreamsPerUser: 1_000_000 })] : []),
  ];
  return createApp({ ...options, ...(workSetting === 'on' ? WORK : {}), extensions }, environment);
}
