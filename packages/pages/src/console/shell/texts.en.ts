/** The texts of the frame of the console. */
export const en = {
  skip: 'Skip to the content',
  loading: 'Loading…',
  failed: 'This page cannot be shown',
  updated: 'This console has been updated',
  reloadToContinue: 'Reload the page to continue.',
  reload: 'Reload',
  notFound: 'This page does not exist',
  toOverview: 'Go to the overview',
  missingFile: 'A file of this tab cannot be loaded.',
  unreachable: 'The server cannot be reached.',
  unexpected: 'The server did not respond as expected.',
  unreachableSince: (part: string, time: string) => `${part} cannot be reached since ${time}.`,
  unreachableAtLeastSince: (part: string, time: string) => `${part} cannot be reached, at least since ${time}.`,
  isBack: (part: string) => `${part} is back`,
  /** What is said about a part that cannot be reached: on the page that is shown instead of the console, and in the banner within it. */
  outages: {
    server: {
      name: 'The server',
      page: 'This page tries again every few seconds. It opens by itself when the server is back.',
      banner:
        'This page tries again every few seconds. What you have typed stays here; save it when the server is back.',
    },
    postgres: {
      name: 'The database',
      page: 'Belfry tries again every few seconds. This page opens by itself when the database is back. Nothing that was saved is lost; webhooks, e-mails and jobs continue then.',
      banner:
        'Belfry tries again every few seconds. What you have typed stays here; save it when the database is back.',
    },
    redis: {
      name: 'Redis',
      page: 'Belfry tries again every few seconds.',
      banner:
        'Belfry tries again every few seconds. Records, sign-ins and the API work. Webhooks, pushes, e-mails and jobs wait in the database; none of them is lost. Numbers that only Redis knows appear when it is back.',
    },
  },
  live: { live: 'Live', lost: 'No connection; trying again…' },
  themes: { system: 'system', light: 'light', dark: 'dark' },
  theme: (current: string, next: string) => `Colours: ${current}. Change to ${next}`,
  signOut: 'Sign out',
  signOutUser: (name: string) => `Sign out ${name}`,
  production: 'production',
  productionHint: 'Changes take effect in production',
  console: 'Console',
  consoleOf: (app: string) => `${app} console`,
  /** The tabs that Belfry has, by id. Others have the labels that their extensions give them. */
  tabs: {
    overview: 'Overview',
    data: 'Data',
    accounts: 'Accounts',
    webhooks: 'Webhooks',
    push: 'Push',
    jobs: 'Jobs',
    audit: 'Audit',
    mails: 'E-mails',
    operations: 'Operations',
    reference: 'API',
  },
  signIn: {
    password: 'Password',
    code: 'Code of your authenticator app, or a recovery code',
    verifyFirst: 'Verify your e-mail address first, then sign in again.',
    confirm: 'Confirm',
    submit: 'Sign in',
    email: 'E-mail address',
    forbidden: 'You may not use the console',
    forbiddenHint: 'Your account does not meet the policy of the console. Sign in with another account.',
    useAnother: 'Use another account',
    heading: 'Sign in to the console',
    hint: 'You need an account that may use the console.',
    confirmHeading: 'Confirm that it is you',
    confirmHint: 'The console needs a recent sign-in. Enter your password to continue.',
    continue: 'Continue',
    noPassword: 'No password?',
    again: 'Sign in again',
  },
  viewAs: {
    title: 'View as…',
    intro: 'See exactly what a viewer gets from the API. This view is read-only.',
    everything: 'Everything',
    everythingHint: 'All records and fields, as the system sees them',
    visitor: 'A visitor',
    visitorHint: 'A client that is not signed in',
    user: 'A user',
    aVisitor: 'a visitor',
    as: (viewer: string) => `As ${viewer}`,
    /** Before and after the name of the viewer. */
    banner: { before: 'You see exactly what', after: 'gets from the API. Read-only.' },
    showEverything: 'Show everything',
  },
};

export type Texts = typeof en;
