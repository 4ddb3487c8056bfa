export type {
  WebhookHeaders,
  WebhookPayload,
  WebhookVerificationCode,
} from '@belfry/verify-webhook';
export { verifyWebhook, WebhookVerificationError } from '@belfry/verify-webhook';
export { defineUser } from './accounts/define-user.ts';
export { verifiedEmailFields } from './accounts/users/verified-email.ts';
export type { AggregateOptions, AggregateQuery, AggregateResult } from './declare/aggregate.ts';
export type { BinaryBody, FormFileRules, MultipartBody, MultipartContent, ReceivedFile } from './declare/body.ts';
export type {
  Constraint,
  ConstraintBuilder,
  ConstraintCondition,
  ConstraintOptions,
  FieldRange,
} from './declare/constraint.ts';
export type { Deprecation } from './declare/deprecation.ts';
export type { RecordAction, RecordEvent } from './declare/events.ts';
export type { Extension, ExtensionAdditions } from './declare/extension.ts';
export type { Field, Fields } from './declare/field.ts';
export type { FileInput, FileOptions, FilesApi, StoredFile } from './declare/file.ts';
export type { StoredRecord } from './declare/host.ts';
export type { CreateBody, CreateInput, RecordOf, UpdateBody, UpdateInput } from './declare/infer.ts';
export type { JobContext, JobOptions, ScheduleDeclaration } from './declare/job.ts';
export { defineJob } from './declare/job.ts';
export type {
  AnyJob,
  EnqueuedJob,
  EnqueueOptions,
  JobDeclaration,
  JobFilter,
  Jobs,
} from './declare/job-queue.ts';
export type { JobKind, JobOverview, JobRecord, JobStatus, ScheduleState } from './declare/job-record.ts';
export type { AnyMail, MailDeclaration, MailOptions, MailRecipient } from './declare/mail.ts';
export { defineMail } from './declare/mail.ts';
export type { Policy, PolicyArguments, PolicyFunction, Viewer } from './declare/policy.ts';
export type { PushResult, PushSender } from './declare/push.ts';
export type {
  AnyResource,
  ExtensionResourceOptions,
  FactsOf,
  HookContext,
  Hooks,
  Resource,
  ResourceOptions,
  ScopeArguments,
  ScopeFilter,
  Service,
} from './declare/resource.ts';
export { defineResource } from './declare/resource.ts';
export type { Auth, Route, RouteBuilder, RouteContext, TypedRoute } from './declare/route.ts';
export { recordShape } from './declare/route.ts';
export type { MailOutlet, PublishEvent, Senders } from './declare/senders.ts';
export type { ActAs, AnyService, Page, Services, Transaction } from './declare/service.ts';
export { defineExtension } from './extension/define-extension.ts';
export type { ApiKeyOptions, ApiKeysApi } from './extensions/api-keys/index.ts';
export { apiKeys } from './extensions/api-keys/index.ts';
export type { AuditApi, AuditOptions } from './extensions/audit/index.ts';
export { audit } from './extensions/audit/index.ts';
export { adminConsole, type ConsoleOptions, developerConsole } from './extensions/console/index.ts';
export type { EmailSignInOptions } from './extensions/email-sign-in/index.ts';
export { emailSignIn } from './extensions/email-sign-in/index.ts';
export type { EmailVerificationOptions } from './extensions/email-verification/index.ts';
export { emailVerification } from './extensions/email-verification/index.ts';
export type { InvitationOptions } from './extensions/invitations/index.ts';
export { invitations } from './extensions/invitations/index.ts';
export type { OidcApi, OidcClaims, OidcOptions, OidcProviderOptions } from './extensions/oidc/index.ts';
export { oidc } from './extensions/oidc/index.ts';
export { apple, discord, github, gitlab, google, microsoft } from './extensions/oidc/provider/presets.ts';
export { simulatedProvider } from './extensions/oidc/simulated/server.ts';
export type { OrganisationOptions, OrganisationsApi } from './extensions/organisations/index.ts';
export { organisations, tenant } from './extensions/organisations/index.ts';
export type { PasskeyOptions } from './extensions/passkeys/index.ts';
export { passkeys } from './extensions/passkeys/index.ts';
export type { PrivacyApi, PrivacyOptions } from './extensions/privacy/index.ts';
export { privacy } from './extensions/privacy/index.ts';
export type { RealtimeOptions } from './extensions/realtime/index.ts';
export { realtime } from './extensions/realtime/index.ts';
export type { SecurityMailsOptions } from './extensions/security-mails/index.ts';
export { securityMails } from './extensions/security-mails/index.ts';
export type { SignInPagesOptions } from './extensions/sign-in-pages/index.ts';
export { signInPages } from './extensions/sign-in-pages/index.ts';
export type { SoftDeleteOptions } from './extensions/soft-delete/index.ts';
export { softDelete } from './extensions/soft-delete/index.ts';
export type { TwoFactorOptions } from './extensions/two-factor/index.ts';
export { twoFactor } from './extensions/two-factor/index.ts';
export type { WebhookOperations, WebhookOptions, WebhooksApi } from './extensions/webhooks/index.ts';
export { webhooks } from './extensions/webhooks/index.ts';
export { disk } from './platform/data/storage/disk.ts';
export { s3 } from './platform/data/storage/s3/index.ts';
export type { S3Options } from './platform/data/storage/s3/settings.ts';
export type { FileStorage } from './platform/data/storage/storage.ts';
export { StorageError } from './platform/data/storage/storage.ts';
export type { ErrorCode, ErrorDetails } from './platform/helpers/errors.ts';
export { ApiError } from './platform/helpers/errors.ts';
export { newId } from './platform/helpers/ids.ts';
export type { MailMessage, PasswordResetMail } from './platform/mail/message.ts';
export type { MailSender } from './platform/mail/sender.ts';
export type { MailOverrides } from './platform/mail/texts/index.ts';
export type { MailKind, MailVariables } from './platform/mail/texts/variables.ts';
export type { LegacyPassword } from './platform/settings/accounts.ts';
export type { SettingsInput } from './platform/settings/settings.ts';
export type { PushContent } from './push/message/message.ts';
export type {
  SendContext,
  Transport,
  TransportDevice,
  TransportRequest,
  TransportResult,
} from './push/message/transport.ts';
export { f } from './records/fields/f.ts';
export type { App, AppOptions } from './runtime/create-app.ts';
export { createApp } from './runtime/create-app.ts';
