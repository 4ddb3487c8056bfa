/** The meaning of a setting in Markdown, and its default if the schema does not have it. */
export type SettingText = string | readonly [text: string, defaultValue: string];

/**
 * The texts of docs/operate/settings.md, by section and setting. A setting that is an object has a text, or one for each of its members, or both:
 * `auth.lockout.maxAttempts`. Links name a page, whatever its folder in docs/.
 */
export const settingTexts: Record<string, Record<string, SettingText>> = {
  settings: {
    'auth.enabled': '`false`: no accounts',
    'auth.register': '`false`: registration responds with 403',
    'auth.sessionTtlDays': 'Lifetime of a session',
    'auth.recentSignIn': 'How long a sign-in counts as [recent](sign-in.md#require-a-recent-sign-in)',
    'auth.devicesFollowSessions': 'Whether devices end with their session',
    'auth.password': 'Cost of scrypt',
    'auth.resetUrl': ['The page that reset links lead to', '`<APP_URL>/reset-password`'],
    'auth.resetTokenTtlMinutes': 'Lifetime of a reset link',
    'auth.legacyPassword': ['Checks [hashes of another system](moving-in.md)', 'none'],
    'files.storage': [
      'Where the bytes are kept: [File storage](file-storage.md)',
      "`disk({ directory: '.data/files' })`; required in production",
    ],
    'files.urlTtl': 'How long a URL is valid at most',
    'files.maxPendingPerUser': 'Uploads of one user, or of one address, that no record uses yet',
    'files.maxPendingBytesPerUser': 'Bytes of these uploads',
    'files.pendingTtl': 'How long such an upload is kept',
    'files.uploadLimit': 'Uploads of one client',
    'http.pageBytes':
      'The records in one page of a list: see [queries.md](queries.md#pages-of-large-records); the entries in one page of the [audit trail](audit.md)',
    'http.pendingBytesPerClient': 'Memory that the unread responses of one client may use',
    'http.pendingBytes': 'Memory that the unread responses of all clients of a process may use',
    'http.stallMs': 'How long a client may stop reading before its connection is closed',
    'http.readyWithoutRedis':
      'Whether [`/readyz`](deployment.md#check-health) of `web` stays 200 while Redis is not usable',
    'openapi.enabled': '`false`: neither the document nor the reference is served',
    'openapi.docs': '`false`: the reference is not served',
    'openapi.title': 'The title of the document',
    'openapi.version': 'The version of your API',
    'openapi.description': ['Markdown, shown at the top of the reference', 'none'],
    'auth.lockout.maxAttempts':
      'Failed sign-ins of an address within the window that lock it; 0: no [lockout](accounts.md#lockout)',
    'auth.lockout.windowMinutes': 'How long a failed sign-in counts',
    'auth.lockout.lockMinutes': 'How long an address is locked',
    unknownFields: 'What happens to fields of a body that the resource does not declare',
    'pagination.defaultLimit': 'Records in a page of a list without `limit`',
    'pagination.maxLimit': 'The highest `limit` of a request',
    'pagination.count':
      '[How lists count their total](queries.md#choose-how-to-count-the-total) if neither the request nor the resource says',
    'http.bodyLimit': 'Maximum size of a request body, after decompression',
    'http.batchBytes':
      'Maximum size of the body of a batch, after decompression, and of the stored records that the batch changes',
    'http.bodyKeys': 'Maximum number of fields in one object of a request body',
    'rateLimit.enabled': ['Whether [rate limits](rate-limits.md) apply', '`true`, except in test mode'],
    'rateLimit.global': 'The limit of each client over all routes; `false`: no limit',
    'rateLimit.auth': "The limit of each client and route with `rateLimit: 'auth'`; `false`: no limit",
    'mail.locale': [
      'The locale of [e-mails](mail.md#choose-the-language) to recipients whose locale is not known or has no text',
      'the first of `languages`',
    ],
    'mail.templates.passwordReset': [
      'Replaces the text of the e-mail for a password reset in every locale: see [mail.md](mail.md)',
      'none',
    ],
    'relay.pollMs': 'Interval at which the relay looks for outbox rows if no wake-up arrives',
    'relay.sweepMs': 'Interval between sweeps for overdue work',
    'relay.batch': 'Maximum number of outbox rows that the relay claims in one batch',
    'relay.streams': 'Batches that a relay processes at the same time',
    'push.waitMs': 'How long [`push.send`](push.md) waits for results before it returns `queued`',
    'push.endpointHosts':
      'More [hosts of push services](push-setup.md#web-push) that browsers may name: `push.example.com`, `*.example.com`, or `*` for any',
    'jobs.keepDays': 'How long [jobs](jobs.md) that succeeded or were cancelled are kept',
    'jobs.keepFailedDays': 'How long failed jobs are kept',
    'log.sampleRate':
      'The share of successful units of work that are [logged](deployment.md#read-the-logs); failures are always logged',
    'slowLog.requestMs':
      'From how long a request is listed as slow in the [console](console-in-production.md#watch-the-running-app); 0: every request',
    'slowLog.statementMs': 'From how long a statement is listed as slow; 0: every statement',
    graceMs: 'How long a [stopping process](deployment.md#stop-and-restart) waits for work in progress',
  },
  apiKeys: {
    policy: 'Required to create keys',
    recentSignIn: 'Whether creating a key requires a [recent sign-in](sign-in.md#require-a-recent-sign-in)',
    maxKeysPerUser: 'Active keys per user',
    maxKeysPerOrganisation: 'Active keys that belong to an [organisation](api-keys.md#give-an-organisation-a-key)',
    defaultExpiryDays: 'Lifetime of a key that is created without `expiresInDays`',
    maxLifetimeDays: 'The maximum of `expiresInDays`',
    allowNoExpiry: '`true`: `expiresInDays: null` creates a key that never expires',
    defaultScopes: 'Scopes of a key that is created without `scopes`',
    routeScopes:
      'Scopes for routes that you did not write: see [Require a scope](api-keys.md#require-a-scope-on-a-route)',
    revokeOnPasswordReset: 'Whether a password reset revokes all keys of the user',
  },
  audit: {
    keepDays: 'How long an entry is kept',
  },
  adminConsole: {
    production:
      'Whether the console is available in production. `policy`: the users that may use it, [by roles](console.md#settings)',
    title: ['The name in the header and in the titles of pages', '`Console`; in titles, the name of the app'],
    logo: ['An image before the title: a path of this server, such as `/brand/logo.svg`', 'a bell'],
    colors: [
      '`accent`, `background`, `surface` and `text` in hex, and the same in `dark` for dark pages. Without `dark.accent`, `accent` applies to both',
      'blue',
    ],
  },
  emailSignIn: {
    url: [
      'Your page that finishes the sign-in. The e-mail links to it with `#token=…`, so it must have no fragment of its own',
      '`<APP_URL>/sign-in`',
    ],
    ttl: 'How long a link and its code work',
    register:
      'Whether an address without an account gets one. If [`auth.register`](accounts.md#registration) is `false`, it never does',
    createUser: 'A function that returns [additional fields of a new user](sign-in.md#create-accounts)',
    mailLimit:
      'E-mails to one address, whichever clients request them; `false`: no limit. Not applied while [rate limits](rate-limits.md) are off',
  },
  emailVerification: {
    required: '`true`: a user gets no session before the address is verified',
    ttl: 'How long a link and a code work',
    verifyUrl: [
      'Your page that verifies an address. No page URL may have a fragment of its own',
      '`<APP_URL>/verify-email`',
    ],
    changeUrl: ['Your page that confirms a new address', '`<APP_URL>/change-email`'],
    undoUrl: ['Your page that undoes a change', '`<APP_URL>/undo-email-change`'],
    undoTtl: 'How long a change can be undone',
    mailLimit:
      'E-mails to one account; `false`: no limit. Above it, a login of an unverified user gets 429 and the newest link keeps working; other requests send no e-mail',
  },
  invitations: {
    policy: 'The users that can invite',
    ttl: 'How long an invitation works',
    url: ['Your page for invited users, without a fragment', '`<APP_URL>/invitation`'],
    maxPending: 'Pending invitations of one user',
    mailLimit: 'E-mails to one address, whichever users invite it; further requests get 429. `false`: no limit',
  },
  oidc: {
    providers: ['The providers by name', 'required'],
    redirectUrls: [
      'The pages to which users may return. A page is accepted only if it is in the list, character by character',
      '`<APP_URL>/auth/callback`',
    ],
    createUser:
      '`(claims, provider) => fields`: additional fields of a new user. It runs at every sign-in, so it must have no effects',
    storeTokens:
      "`true` stores the tokens of the provider, encrypted: see [Call the provider's API](oidc.md#call-the-providers-api)",
  },
  organisations: {
    roles: 'The roles of members, from the most to the least powerful. A role includes all later ones',
    manageRole: [
      'The least powerful role that manages members, invitations and the organisation',
      '`admin`, or the first role',
    ],
    createPolicy: 'The users that can create organisations',
    globalPolicy: "The app's roles, such as `support`, whose users reach every organisation without being a member",
    maxOrganisationsPerUser: 'Maximum organisations that a user can be a member of',
    maxMembers: 'Members of an organisation',
    reservedSlugs: 'Slugs that no organisation can have, in addition to `admin`, `api`, `www` and others',
    audit: 'Record changes of organisations and memberships; needs [`audit()`](audit.md)',
    fields: "Further fields of organisations: `{ plan: f.enum(['free', 'paid']).readOnly() }`",
    'invitations.ttl': 'How long an [invitation](organisations.md#invite-members) works',
    'invitations.url': ['The page of the link', '`<APP_URL>/organisation-invitation`'],
    'invitations.maxPending': 'Pending invitations of an organisation',
    'invitations.perDay': 'Invitations of an organisation in a day',
  },
  passkeys: {
    rpId: [
      'The domain that passkeys belong to. It can be used on the domain and its subdomains. **Changing it makes all existing passkeys unusable.**',
      'the host of `APP_URL`, otherwise `localhost`',
    ],
    rpName: ['The name that browsers show', 'the host of `APP_URL`, otherwise `openapi.title`'],
    origins: [
      'The origins of the pages and apps that may use passkeys; an Android app is `android:apk-key-hash:` and the base64url SHA-256 of its signing certificate',
      'the origin of `APP_URL`, otherwise `http://localhost:<PORT>`',
    ],
    maxPasskeysPerUser: 'Passkeys per user',
    challengeTtl: 'How long a challenge can be answered',
    secondFactor:
      'Whether users who have a passkey need it after their password: see [below](passkeys.md#require-a-passkey-after-the-password)',
  },
  privacy: {
    exportTtl: 'How long an export is kept and its link works',
    exportsPerDay: 'Exports of a user that one caller may start in 24 hours',
  },
  realtime: {
    policy: 'Required to open a stream',
    windowSeconds: 'How long events are kept for clients that reconnect',
    windowEvents: 'How many events of that time are kept for them, at least',
    heartbeatSeconds: 'Interval of heartbeats',
    maxStreams: 'Open streams in one process; one more gets 503',
    maxStreamsPerUser: 'Open streams of one user in one process; one more gets 429',
    maxStreamsPerAddress: 'The same for signed-out clients of one address',
    maxSubscriptions: 'Subscriptions in one stream',
    maxBufferedBytes:
      'Unsent bytes for a client that reads slowly. With more, or if it reads nothing between two heartbeats, it is disconnected and may reconnect with its last id',
    ticketTtl: 'How long a [ticket](realtime.md#authenticate) is valid',
  },
  securityMails: {
    newDevice: 'E-mail about a sign-in from a [new device](security-mails.md#which-devices-are-new)',
    passwordChanged: 'E-mail about a changed or reset password',
    twoFactor: 'E-mail about [two-factor login](two-factor.md) being turned on or off',
    recoveryCode: 'E-mail about a used recovery code',
    identities: 'E-mail about an account at a provider being linked, or the link being removed',
    passkeys: 'E-mail about a passkey being added or removed',
    maxPerDay: 'E-mails of one kind that a user gets in a day',
  },
  signInPages: {
    title: ['The name at the top of each page', 'the host of `APP_URL`, otherwise `openapi.title`'],
    afterSignIn: 'The path that opens after a sign-in',
    theme: '[colours and corners](sign-in-pages.md#change-the-look)',
    stylesheet: 'The path of a stylesheet of yours, which is loaded last',
    logo: 'The path of an image, which replaces the title at the top',
  },
  softDelete: {
    keepDays: 'When a deleted record is removed permanently',
  },
  twoFactor: {
    issuer: [
      'The name that authenticator apps show next to the e-mail. Colons become spaces, because apps do not accept them',
      'the host of `APP_URL`, otherwise `openapi.title`',
    ],
    challengeTtl: 'How long a login waits for its code',
    challengeAttempts: 'Wrong codes after which a login is void',
    recoveryCodes: 'Recovery codes per user',
    'lockout.maxAttempts': "Wrong codes in a row after which a user's codes are locked",
    'lockout.lockMinutes': 'How long the codes are locked',
  },
  webhooks: {
    'portal.frameAncestors': 'Origins whose pages may show the portal in a frame, such as `https://app.example.com`',
    'portal.title': ['A name at the top of the page', 'none'],
    'portal.logo': ['An image before the title: a path of this server, such as `/brand/logo.svg`', 'none'],
    'portal.colors':
      '`accent`, `background`, `surface` and `text` in hex, and the same in `dark` for dark pages. Without `dark.accent`, `accent` applies to both',
    'portal.stylesheet': ['A stylesheet that is loaded last: a path of this server', 'none'],
    'portal.url': [
      'The origin with which links begin. Outside production, without `APP_URL`, it is `http://localhost:<PORT>`',
      'the origin of `APP_URL`',
    ],
    policy: 'Required to have endpoints',
    globalPolicy: 'Required to have endpoints of [scope `global`](webhooks.md#choose-events-and-a-scope)',
    organisationPolicy:
      'The role in an organisation, such as `org:owner`, that manages its endpoints. Left out: the role that manages the organisation',
    maxEndpointsPerUser: 'Endpoints of one user',
    maxEndpointsPerOrganisation: 'Endpoints of one organisation',
    maxEventsPerEndpoint: 'Entries in `events` of one endpoint',
    maxUrlLength: 'Characters in a URL',
    allowPrivate: [
      'Whether [private addresses](webhooks.md#which-urls-are-allowed) may receive webhooks',
      '`false` in production, else `true`',
    ],
    requireHttps: ['Whether URLs must start with `https://`', '`true` in production, else `false`'],
    nameServers: [
      'Name servers that resolve the hosts of receivers, as `address` or `address:port`',
      'those of the system',
    ],
    retrySchedule: [
      "Waits between attempts: milliseconds, or text such as `'30s'`, `'5m'`, `'2h'`, `'1d'`",
      '`5s` `30s` `2m` `10m` `30m` `2h` `6h`',
    ],
    timeoutMs: 'Time for a whole attempt: DNS, connection, TLS, request and response',
    concurrency: [
      'Maximum number of requests in flight in one worker: [how a worker adapts, and how endpoints and users share it](webhook-design.md#share-workers-between-users)',
      '256, or fewer in a small heap',
    ],
    disableAfterFailures: 'Failed deliveries in a row that disable an endpoint; 0: never',
    notifyOwner: 'E-mail the owner when an endpoint is created, and when endpoints are disabled automatically',
    secretGraceHours: 'How long a rotated secret still signs; 0: not at all',
    keepDeliveriesDays:
      'How long finished deliveries stay in the log; above 90, [Postgres needs more locks](webhook-operations.md#keep-the-delivery-log-healthy)',
    keepEventsDays:
      'How long outgoing events are kept for [backfills](webhooks.md#send-events-that-an-endpoint-has-missed), at most `keepDeliveriesDays`; 0: not at all',
    events: '[Events of your app](webhooks.md#publish-your-own-events), by name: `{ schema, description? }`',
    maxPolls:
      'Polls of one process that [wait for messages](receive-webhooks.md#fetch-messages-without-a-public-address)',
    maxPollsPerUser: 'Those of one user',
    portal: ['A [page on which users manage their webhooks](webhook-portal.md): `true`, or its settings', '`false`'],
    pollMs: 'Interval at which the relay looks for overdue deliveries',
    cleanMs: 'Interval at which the relay removes old rows',
  },
};
