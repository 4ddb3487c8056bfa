// The data of the server's responses, as far as the pages use them.

/** The signed-in user. */
export interface User {
  email: string;
  emailVerifiedAt?: string;
}

/** A response that confirms an address. */
export interface VerifiedEmail {
  email: string;
  emailVerifiedAt: string;
}

/** A response that says what has happened, for the user to read. */
export interface Message {
  message: string;
}

/** The credential was right, and a code of the second factor is missing. */
export interface CodeChallenge {
  mfaRequired: true;
  mfaToken: string;
  methods: readonly ('totp' | 'recovery')[];
  expiresAt: string;
}

/** The credential was right, and a passkey is missing. */
export interface PasskeyChallenge {
  mfaRequired: true;
  mfaToken: string;
  methods: readonly 'passkey'[];
  expiresAt: string;
  options: PublicKeyCredentialRequestOptionsJSON;
}

/** A second factor that is missing. */
export type Challenge = CodeChallenge | PasskeyChallenge;

/** The response to a sign-in: the step that is missing, or the session. */
export type SignInResponse =
  | Challenge
  | { mfaRequired?: undefined; emailVerificationRequired: true; verificationToken: string }
  | { mfaRequired?: undefined; emailVerificationRequired?: undefined; token: string };

/** An identity provider of the app. */
export interface Provider {
  provider: string;
  name: string;
  icon?: string;
}

/** An account of the user at an identity provider. */
export interface Identity {
  id: string;
  provider: string;
  email: string | null;
}

/** A passkey of the user. */
export interface Passkey {
  id: string;
  name: string;
  createdAt: string;
  lastUsedAt: string | null;
}

/** The options and the id of a sign-in with a passkey. */
export interface PasskeySignInOptions {
  challengeId: string;
  options: PublicKeyCredentialRequestOptionsJSON;
}

/** The two-factor login of the user. */
export interface TwoFactorStatus {
  enabled: boolean;
  recoveryCodesLeft: number;
}

/** A new secret for an authenticator app, in three forms. */
export interface TwoFactorEnrolment {
  secret: string;
  otpauthUrl: string;
  qrCode: string;
}

/** New recovery codes. */
export interface RecoveryCodes {
  recoveryCodes: readonly string[];
}

/** A session of the user. */
export interface Session {
  id: string;
  current: boolean;
  lastUsedAt: string;
  ip: string;
  userAgent: string;
}

/** What an invitation to the app offers. */
export interface InvitationPreview {
  email: string;
  mode: 'register' | 'claim' | 'sign-in';
}

/** An invitation to an organisation. */
export interface OrganisationInvitation {
  organisation: { name: string };
  email: string;
  role: string;
}
