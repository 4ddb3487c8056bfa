import type { ExtensionHost, FieldSpec, Fields, ResourceGateway } from '../../extension/index.ts';

/** The features of an app for which there are pages, each with the route that offers it. */
const FEATURE_ROUTES = {
  password: 'POST /auth/login',
  register: 'POST /auth/register',
  reset: 'POST /auth/password/reset',
  emailSignIn: 'POST /auth/email-sign-in',
  emailVerification: 'POST /auth/email/verify',
  emailChange: 'POST /auth/email',
  providers: 'GET /auth/oidc',
  passkeys: 'POST /auth/passkeys/sign-in',
  passkeySecondFactor: 'POST /auth/passkeys/second-factor',
  twoFactor: 'POST /auth/2fa/verify',
  invitations: 'POST /auth/invitations/accept',
  organisationInvitations: 'POST /organisation-invitations/accept',
} as const;

/** The name of a feature. */
export type Feature = keyof typeof FEATURE_ROUTES;

/** Returns the features that the app offers. Only once all features are set up. */
function findFeatures(host: Pick<ExtensionHost, 'routes' | 'settings'>): Set<Feature> {
  const offered = new Set(host.routes().map(({ method, path }) => `${method} ${path}`));
  const names = (Object.keys(FEATURE_ROUTES) as Feature[]).filter((name) => offered.has(FEATURE_ROUTES[name]));
  return new Set(names.filter((name) => name !== 'register' || host.settings.auth.register));
}

/** A field of the registration form. */
interface RegistrationField {
  name: string;
  type: 'text' | 'number' | 'checkbox' | 'date' | 'select';
  required: boolean;
  /** The choices of a `select`. */
  values?: readonly string[];
}

const INPUT_TYPES: Readonly<Record<string, RegistrationField['type']>> = {
  string: 'text',
  text: 'text',
  url: 'text',
  number: 'number',
  integer: 'number',
  boolean: 'checkbox',
  date: 'date',
  enum: 'select',
};

/** Whether a registration must contain the field, apart from e-mail and password. */
const isNeeded = (name: string, { required, writableBy, readOnly, owner, ...spec }: FieldSpec) =>
  required === true &&
  spec.default === undefined &&
  writableBy === undefined &&
  readOnly !== true &&
  owner !== true &&
  name !== 'email' &&
  name !== 'password';

/** Returns the fields that the user resource requires of a registration, except those of types that a form cannot ask for. */
function findRegistrationFields({ declaration }: Pick<ResourceGateway, 'declaration'>): RegistrationField[] {
  return Object.entries(declaration.fields as Fields).flatMap(([name, { spec }]) => {
    const type = INPUT_TYPES[spec.type.kind];
    if (type === undefined || !isNeeded(name, spec)) return [];
    // A checkbox is never empty: unchecked is `false`.
    const field = { name, type, required: type !== 'checkbox' };
    return [type === 'select' ? { ...field, values: spec.values ?? [] } : field];
  });
}

/** What the scripts of the pages know about the app. It contains nothing secret. */
export interface PageConfig {
  title: string;
  afterSignIn: string;
  features: readonly Feature[];
  registration: { fields: readonly RegistrationField[]; passwordRequired: boolean };
}

/** Creates the configuration of the pages. Only once all features are set up. */
export function createPageConfig(
  host: ExtensionHost,
  users: ResourceGateway,
  { title, afterSignIn }: { title: string; afterSignIn: string },
): PageConfig {
  return {
    title,
    afterSignIn,
    features: [...findFeatures(host)],
    registration: {
      fields: findRegistrationFields(users),
      passwordRequired: (users.declaration.fields as Fields).password?.spec.required === true,
    },
  };
}
