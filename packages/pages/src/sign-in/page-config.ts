/** What the server says about the app, as `src/extensions/sign-in-pages/page-config.ts` creates it. */
export interface PageConfig {
  title: string;
  /** The page that opens after a sign-in. */
  afterSignIn: string;
  features: readonly Feature[];
  registration: { fields: readonly RegistrationField[]; passwordRequired: boolean };
}

/** A feature of the app for which there are pages. */
export type Feature =
  | 'password'
  | 'register'
  | 'reset'
  | 'emailSignIn'
  | 'emailVerification'
  | 'emailChange'
  | 'providers'
  | 'passkeys'
  | 'passkeySecondFactor'
  | 'twoFactor'
  | 'invitations'
  | 'organisationInvitations';

/** A field of the registration form. */
export interface RegistrationField {
  name: string;
  type: 'text' | 'number' | 'checkbox' | 'date' | 'select';
  required: boolean;
  /** The choices of a `select`. */
  values?: readonly string[];
}
