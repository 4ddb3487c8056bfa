import type { CallOptions } from '../request/request.ts';
import type { AuthContext } from './context.ts';
import type { AuthUser } from './session.ts';
import type { SignInResult } from './sign-in-result.ts';

/** A session of the user, on this or another device. */
export interface SessionInfo {
  id: string;
  /** Whether it is the session of this client. */
  current: boolean;
  createdAt: string;
  lastUsedAt: string;
  expiresAt: string;
  ip: string;
  userAgent: string;
  /** How the user signed in: `password`, `email_link`, `passkey`, `oidc:google` and others. */
  method: string;
  /** When the user last proved who they are. */
  authenticatedAt: string;
}

/** `client.auth.sessions`: where the user is signed in. */
export interface SessionMethods {
  /** Lists the sessions of the user: the current one first, then the newest. */
  list(options?: CallOptions): Promise<SessionInfo[]>;
  /** Ends a session. To end that of this client, use `signOut`. */
  end(id: string, options?: CallOptions): Promise<void>;
}

/** An account of the user at an identity provider. */
export interface Identity {
  id: string;
  provider: string;
  /** The address of the account there. */
  email: string | null;
  createdAt: string;
  lastUsedAt: string;
}

/** `client.auth.identities`: accounts at identity providers. Link another one with `client.auth.oidc.link`. */
export interface IdentityMethods {
  list(options?: CallOptions): Promise<Identity[]>;
  /** Removes an identity. Needs a recent sign-in. @throws ApiError `CONFLICT` for the last way to sign in */
  delete(id: string, options?: CallOptions): Promise<void>;
}

/** The two-factor login of the user. */
export interface TwoFactorStatus {
  enabled: boolean;
  methods: ('totp' | 'recovery')[];
  recoveryCodesLeft: number;
  enabledAt: string | null;
}

/** A new secret for an authenticator app, in three forms. */
export interface TwoFactorEnrolment {
  secret: string;
  /** Opens an authenticator app on this device. */
  otpauthUrl: string;
  /** A data URL for an image. */
  qrCode: string;
}

/** `client.auth.twoFactor`: two-factor login with an authenticator app. */
export interface TwoFactorMethods {
  status(options?: CallOptions): Promise<TwoFactorStatus>;
  /** Creates a secret. Two-factor login is off until `confirm`. @param input no password for a user who has none */
  enrol(input?: { password?: string }, options?: CallOptions): Promise<TwoFactorEnrolment>;
  /** Turns two-factor login on, with a code of the app. The recovery codes are never returned again. */
  confirm(input: { code: string }, options?: CallOptions): Promise<{ recoveryCodes: string[] }>;
  disable(input: { password?: string; code: string }, options?: CallOptions): Promise<void>;
  /** Replaces the recovery codes. */
  renewRecoveryCodes(
    input: { code: string; password?: string },
    options?: CallOptions,
  ): Promise<{ recoveryCodes: string[] }>;
}

/** What the page of an invitation shows. */
export interface InvitationPreview {
  email: string;
  hasAccount: boolean;
  /**
   * How to accept. `register`: with the fields of a registration. `claim`: optionally with fields that users can change, without a password.
   * `sign-in`: with a session of the account, and no fields.
   */
  mode: 'register' | 'claim' | 'sign-in';
  expiresAt: string;
}

/** `client.auth.invitations`: for the page that the link of an invitation leads to. */
export interface InvitationMethods<User = AuthUser> {
  preview(input: { token: string }, options?: CallOptions): Promise<InvitationPreview>;
  /** Accepts an invitation and signs in. @param input the token, and the fields that the `mode` of the preview allows */
  accept(input: { token: string; [field: string]: unknown }, options?: CallOptions): Promise<SignInResult<User>>;
}

/** The organisation in which a session works. */
export interface CurrentOrganisation {
  /** The id; null if the session works in all organisations of the user. */
  organisation: string | null;
  /** The role of the user in it. */
  role: string | null;
}

/** What the page of an invitation to an organisation shows. */
export interface OrganisationInvitationPreview {
  organisation: { name: string; slug: string };
  /** Only a user with this address can accept. */
  email: string;
  role: string;
  expiresAt: string;
}

/** `client.auth.organisation`: the organisation in which the session works. */
export interface OrganisationMethods {
  current(options?: CallOptions): Promise<CurrentOrganisation>;
  /** Chooses the organisation of the session by its id or slug; null: all organisations of the user. */
  choose(organisation: string | null, options?: CallOptions): Promise<CurrentOrganisation>;
  previewInvitation(input: { token: string }, options?: CallOptions): Promise<OrganisationInvitationPreview>;
  /** Joins an organisation. The signed-in user must have the invited address. Returns the membership. */
  acceptInvitation(input: { token: string }, options?: CallOptions): Promise<{ id: string; [field: string]: unknown }>;
}

/** The groups of methods about the account of the signed-in user. */
interface AccountMethods<User> {
  sessions: SessionMethods;
  identities: IdentityMethods;
  twoFactor: TwoFactorMethods;
  invitations: InvitationMethods<User>;
  organisation: OrganisationMethods;
}

/** Creates `client.auth.sessions`, `.identities`, `.twoFactor`, `.invitations` and `.organisation`. */
export function createAccountMethods<User extends AuthUser>(context: AuthContext<User>): AccountMethods<User> {
  const { call, callAnonymously, callAsAnyone, finishSignIn } = context;
  const id = encodeURIComponent;
  return {
    sessions: {
      list: (options) => call('GET', '/auth/sessions', undefined, options),
      end: (session, options) => call('DELETE', `/auth/sessions/${id(session)}`, undefined, options),
    },
    identities: {
      list: (options) => call('GET', '/auth/identities', undefined, options),
      delete: (identity, options) => call('DELETE', `/auth/identities/${id(identity)}`, undefined, options),
    },
    twoFactor: {
      status: (options) => call('GET', '/auth/2fa', undefined, options),
      enrol: (input = {}, options) => call('POST', '/auth/2fa/enrol', input, options),
      confirm: (input, options) => call('POST', '/auth/2fa/confirm', input, options),
      disable: (input, options) => call('POST', '/auth/2fa/disable', input, options),
      renewRecoveryCodes: (input, options) => call('POST', '/auth/2fa/recovery-codes', input, options),
    },
    invitations: {
      preview: (input, options) => callAsAnyone('/auth/invitations/preview', input, options),
      accept: async (input, options) =>
        finishSignIn(await callAsAnyone<object>('/auth/invitations/accept', input, options)),
    },
    organisation: {
      current: (options) => call('GET', '/auth/organisation', undefined, options),
      choose: (organisation, options) => call('POST', '/auth/organisation', { organisation }, options),
      previewInvitation: (input, options) => callAnonymously('/organisation-invitations/preview', input, options),
      acceptInvitation: (input, options) => call('POST', '/organisation-invitations/accept', input, options),
    },
  };
}
