// The public API of `@belfry/client`.
export type {
  CurrentOrganisation,
  Identity,
  IdentityMethods,
  InvitationMethods,
  InvitationPreview,
  OrganisationInvitationPreview,
  OrganisationMethods,
  SessionInfo,
  SessionMethods,
  TwoFactorEnrolment,
  TwoFactorMethods,
  TwoFactorStatus,
} from './auth/account.ts';
export {
  type CookieSession,
  type CookieSessionOptions,
  cookieSession,
  type WithHeaders,
} from './auth/cookie-session.ts';
export { cookieStorage, type PageSession } from './auth/cookie-storage.ts';
export type {
  EmailMethods,
  EmailSignInMethods,
  MailProof,
  PasswordMethods,
  VerificationResult,
  VerifiedEmail,
} from './auth/email.ts';
export type { AuthOptions, ClientAuth } from './auth/index.ts';
export type { OidcMethods, ProviderReturn, SignInProvider } from './auth/oidc.ts';
export type { Passkey, PasskeyMethods } from './auth/passkeys.ts';
export type { AuthUser, Session, SessionListener } from './auth/session.ts';
export type {
  EmailVerificationRequired,
  SecondFactorMethod,
  SecondFactorRequired,
  SignedIn,
  SignInChallenge,
  SignInResult,
} from './auth/sign-in-result.ts';
export {
  type KeyValueStorage,
  localStorageSession,
  memoryStorage,
  type SessionStorage,
  type StoredSession,
} from './auth/storage.ts';
export { type Client, type ClientMembers, type ClientOptions, createClient, type ResourceClient } from './client.ts';
export type { ClientPush, Device, DeviceDetails } from './push.ts';
export type { EventsOptions, ResetEvent } from './realtime/event-iterator.ts';
export type { SubscribeHandlers } from './realtime/index.ts';
export type { LiveListMeta, LiveListSnapshot } from './realtime/list-snapshot.ts';
export type { LiveListQuery } from './realtime/list-source.ts';
export type { LiveList } from './realtime/live-list.ts';
export type { RecordChange, RecordEvent, RecordSubscription, ResetReason } from './realtime/record-change.ts';
export type { AggregateQuery, AggregateResult } from './records/aggregate.ts';
export type { BatchFailure, BatchOperation, BatchResult, BatchSuccess } from './records/batch.ts';
export type { Condition, ListQuery, ListSelection, RecordSelection, Where } from './records/list-query.ts';
export type { Page, PageMeta } from './records/page.ts';
export type { UploadedFile, UploadOptions, UploadProgress, UploadSource } from './records/upload.ts';
export type { IfMatch } from './records/versions.ts';
export { ApiError, type ApiErrorOptions, type ClientErrorCode } from './request/errors.ts';
export type {
  ApiRequest,
  ApiResponse,
  CallOptions,
  QueryParameters,
  Requester,
  TokenSource,
} from './request/request.ts';
export type { Changing, RequestOptions } from './request/requester.ts';
export type { RouteCall } from './request/route.ts';
export type { WriteOptions } from './resource.ts';
export type { ApiOf } from './schema/infer.ts';
export type { Where as WhereOf } from './schema/query.ts';
export type { ClientRecord } from './schema/record.ts';
export type { ResourceSchema } from './schema/schema.ts';
export type { WebPushOptions } from './web-push.ts';
