// Users: ways to sign in, credentials, e-mail, data about users, and what the console shows of accounts.
export { createProofLink } from '../accounts/email-proofs/link.ts';
export type { EmailProof, EmailProofs, IssuedProof } from '../accounts/email-proofs/store.ts';
export { createEmailProofs } from '../accounts/email-proofs/store.ts';
export { suggestName } from '../accounts/identities/suggested-name.ts';
export type { Invitations, InvitationTarget } from '../accounts/invitations/invitations.ts';
export {
  createInvitationComposer,
  findInvitationByToken,
  invalidInvitationError,
  resendInvitation,
  revokeInvitation,
  sendInvitation,
} from '../accounts/invitations/invitations.ts';
export {
  createInvitationShape,
  invitationRouteParts,
  listInvitations,
} from '../accounts/invitations/route-parts.ts';
export {
  createInvitationMailCounter,
  INVITATION_MAIL_LIMIT,
  invitationTtlSetting,
  invitationUrlSetting,
} from '../accounts/invitations/settings.ts';
export type { Invitation, InvitationContent, InvitationStore, InvitationTable } from '../accounts/invitations/store.ts';
export {
  createInvitationStore,
  INVITATION_RETENTION,
  invitationColumns,
  invitationIndexes,
  isAddressedToUserSql,
} from '../accounts/invitations/store.ts';
export { namePasswordIfNothingIsSent, passwordToCheck } from '../accounts/passwords/password-input.ts';
export { RESET_MAIL } from '../accounts/reset/request.ts';
export { emitLoginFailed } from '../accounts/sign-in/attempt.ts';
export { newSessionShape } from '../accounts/sign-in/finish-login.ts';
export type { OwnedTable } from '../accounts/users/owned-table.ts';
export { defineOwnedTable } from '../accounts/users/owned-table.ts';
export { createDeletedUsersConsumer, lockStillDeletedUsers } from '../accounts/users/user-state.ts';
export type { VerifiedEmailFields } from '../accounts/users/verified-email.ts';
export { verifiedEmailFields } from '../accounts/users/verified-email.ts';
export type {
  AccountPanel,
  AccountSection,
  AccountTarget,
  PanelAction,
  SectionForm,
  SectionQuery,
} from '../declare/account-panel.ts';
export type { AccountChange, EmailChangeStep, SecondFactor } from '../declare/account-power.ts';
export type {
  Accounts,
  CheckedLogin,
  ConfirmStep,
  Identity,
  IdentitySignIn,
  LockedUser,
  SignIn,
  SignInMethod,
  SignInStep,
} from '../declare/accounts.ts';
export type { AuditTrail, AuditTrailEntry } from '../declare/audit-trail.ts';
export type { UserData } from '../declare/host.ts';
export type {
  PanelColumn,
  PanelContent,
  PanelFact,
  PanelRow,
  PanelValue,
  PanelValueKind,
  SectionField,
} from '../declare/panel-content.ts';
export type { Revocation, RevocationStep } from '../declare/revocation.ts';
export { emailInput, emailSchema, emailShape, isEmailAddress } from '../platform/helpers/email-address.ts';
export { invalidSessionError, ownLockoutError } from '../platform/helpers/errors.ts';
export { canonicalLocale, findPreferredLocale, localeOfUser } from '../platform/helpers/locale.ts';
export type { MailTransaction } from '../platform/mail/sender.ts';
export type { MailVariables, SecurityNotice } from '../platform/mail/texts/variables.ts';
export type { MailComposer } from '../platform/mail/worker.ts';
export type { EmptiedField, ErasurePlan, ErasureTarget } from '../records/schema/erasure-plan.ts';
export { createErasurePlan, findErasureTargets } from '../records/schema/erasure-plan.ts';
