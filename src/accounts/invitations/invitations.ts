import type { Accounts } from '../../declare/accounts.ts';
import { isEmailVerified } from '../../declare/actor.ts';
import type { Host } from '../../declare/host.ts';
import type { RouteContext } from '../../declare/route.ts';
import type { Services } from '../../declare/service.ts';
import { generateToken, isWellFormedToken } from '../../platform/data/crypto/token.ts';
import type { Executor } from '../../platform/data/postgres/database.ts';
import { DAY_MS } from '../../platform/helpers/duration.ts';
import { ApiError } from '../../platform/helpers/errors.ts';
import { isId } from '../../platform/helpers/ids.ts';
import { localeOfUser } from '../../platform/helpers/locale.ts';
import { addressOf } from '../../platform/http/client-address.ts';
import type { MailComposer } from '../../platform/mail/worker.ts';
import { createProofLink } from '../email-proofs/link.ts';
import type { Invitation, InvitationContent, InvitationStore, InvitationTable } from './store.ts';

/** The dependencies of one kind of invitations, and what distinguishes it from the others. */
export interface Invitations<Content extends InvitationContent> {
  host: Host;
  accounts: Accounts;
  table: InvitationTable<Content>;
  store: InvitationStore<Content>;
  /** `ttl`: how long an invitation works, in ms. `maxPending`: the maximum of pending invitations in a scope. */
  settings: { ttl: number; url?: string | undefined; maxPending: number };
  /** The kind of the e-mail with the link, whose page is below `APP_URL` by default. Its data: `{ invitation, locale? }`. */
  mail: 'invitation' | 'organisation-invitation';
  /** The start of the names of events. */
  events: 'auth.invitation' | 'organisation.invitation';
  /** The text of the error for a scope with too many pending invitations. */
  limitText: string;
  /** Counts an e-mail against the limits. @throws ApiError RATE_LIMITED */
  countMail(content: Content): Promise<void>;
  /** Makes the invitations of a scope that are created count one after the other, until the transaction ends. */
  lock(scope: string, tx: Executor): Promise<void>;
  /** Whether the inviter could still send the invitation: it must not give more than its inviter could give now. */
  isInviterEntitled(invitation: Invitation<Content>, service: Services): Promise<boolean>;
}

/** A pending or expired invitation; undefined `scope`: of any. */
export interface InvitationTarget {
  id: string;
  scope: string | undefined;
}

function alreadyInvitedError(): ApiError {
  return new ApiError('CONFLICT', 'This address is already invited', { details: { email: 'Is already invited' } });
}

/** The error for a link that does not work, whatever the reason. */
export function invalidInvitationError(): ApiError {
  return new ApiError('INVALID_TOKEN', 'This invitation is invalid or has expired');
}

/** @throws ApiError LIMIT_REACHED if the scope has the maximum of pending invitations */
async function assertMayHaveOneMore<Content extends InvitationContent>(
  { store, settings, limitText }: Invitations<Content>,
  scope: string,
  on: Executor,
): Promise<void> {
  if ((await store.countPending(scope, on)) >= settings.maxPending) throw new ApiError('LIMIT_REACHED', limitText);
}

function emitInvitationEvent<Content extends InvitationContent>(
  { host, events, table }: Invitations<Content>,
  action: 'sent' | 'revoked',
  invitation: Invitation<Content>,
  ctx: RouteContext,
): void {
  const content = Object.fromEntries(table.content.map((name) => [name, invitation[name]]));
  const userId = ctx.user?.id ?? null;
  host.events.emit(`${events}_${action}`, { userId, invitationId: invitation.id, ...content, ip: addressOf(ctx.req) });
}

/**
 * Creates an invitation and sends its link. The caller, if there is one, has been checked.
 *
 * @throws ApiError LIMIT_REACHED, CONFLICT or RATE_LIMITED
 */
export async function sendInvitation<Content extends InvitationContent>(
  invitations: Invitations<Content>,
  { scope, invitedBy, content }: { scope: string; invitedBy: string; content: Content },
  ctx: RouteContext,
): Promise<Invitation<Content>> {
  const { host, accounts, store, settings, mail } = invitations;
  // Requests that send nothing do not use up the limits of e-mails. The transaction checks again, and must not wait for the counts.
  await assertMayHaveOneMore(invitations, scope, host.database);
  if (await store.isPending(content)) throw alreadyInvitedError();
  await invitations.countMail(content);
  return host.transaction(async (tx) => {
    if (ctx.user !== undefined) await accounts.holdCredential(ctx, tx.database);
    await invitations.lock(scope, tx.database);
    await assertMayHaveOneMore(invitations, scope, tx.database);
    const created = await store.create(content, { invitedBy, days: settings.ttl / DAY_MS }, tx.database);
    if (created === undefined) throw alreadyInvitedError();
    await host.mail.sendComposed(mail, { invitation: created.id }, tx);
    tx.afterCommit(() => emitInvitationEvent(invitations, 'sent', created, ctx));
    return created;
  });
}

/**
 * Sends a new link with the full lifetime. The earlier link stops working. An expired invitation then counts as a new one.
 *
 * @param options `check` throws if the caller must not send this invitation again. `lock` runs in the transaction before the
 *   invitation is locked. `invitedBy`: the new inviter; undefined: the inviter stays
 * @throws ApiError NOT_FOUND, LIMIT_REACHED or RATE_LIMITED
 */
export async function resendInvitation<Content extends InvitationContent>(
  invitations: Invitations<Content>,
  { id, scope }: InvitationTarget,
  options: {
    check(invitation: Invitation<Content>): void | Promise<void>;
    lock?(tx: Executor): Promise<void>;
    invitedBy?: string;
  },
  ctx: RouteContext,
): Promise<Invitation<Content>> {
  const { host, accounts, table, store, settings, mail } = invitations;
  const invitation = isId(id) ? await store.find(id, scope) : undefined;
  if (invitation === undefined) throw new ApiError('NOT_FOUND');
  await options.check(invitation);
  const limited = String(table.scope === 'invited_by' ? invitation.invitedBy : invitation[table.scope]);
  if (invitation.status === 'expired') await assertMayHaveOneMore(invitations, limited, host.database);
  // Before the former link ends, and outside the transaction, which must not wait for the counts.
  await invitations.countMail(invitation);
  return host.transaction(async (tx) => {
    if (ctx.user !== undefined) await accounts.holdCredential(ctx, tx.database);
    await options.lock?.(tx.database);
    // Before the invitation, as those who accept it do: a different order could deadlock.
    await invitations.lock(limited, tx.database);
    if (invitation.status === 'expired') await assertMayHaveOneMore(invitations, limited, tx.database);
    const renewed = await store.renew({ id, scope, invitedBy: options.invitedBy }, settings.ttl / DAY_MS, tx.database);
    if (renewed === undefined) throw new ApiError('NOT_FOUND');
    await host.mail.sendComposed(mail, { invitation: id }, tx);
    return renewed;
  });
}

/** Removes an invitation that has not been accepted; its link stops working. @throws ApiError NOT_FOUND */
export async function revokeInvitation<Content extends InvitationContent>(
  invitations: Invitations<Content>,
  { id, scope }: InvitationTarget,
  ctx: RouteContext,
): Promise<void> {
  const removed = isId(id) ? await invitations.store.remove(id, scope) : undefined;
  if (removed === undefined) throw new ApiError('NOT_FOUND');
  emitInvitationEvent(invitations, 'revoked', removed, ctx);
}

/** Returns the invitation of a link, if its inviter could still send it. @throws ApiError INVALID_TOKEN */
export async function findInvitationByToken<Content extends InvitationContent>(
  { host, store, isInviterEntitled }: Invitations<Content>,
  token: string,
): Promise<Invitation<Content>> {
  const invitation = isWellFormedToken(token) ? await store.findByToken(token) : undefined;
  if (invitation === undefined || !(await isInviterEntitled(invitation, host.service))) throw invalidInvitationError();
  return invitation;
}

/**
 * Creates the composer of the e-mail with the link. It creates the token while composing, so that only its hash is stored. A former link
 * ends only once the e-mail with the new one is complete.
 */
export function createInvitationComposer<Content extends InvitationContent>({
  host,
  accounts,
  store,
  settings: { url, ttl },
  mail,
  isInviterEntitled,
}: Invitations<Content>): MailComposer {
  return async ({ data }) => {
    const id = String(data.invitation);
    const invitation = await store.find(id);
    if (invitation?.status !== 'pending' || !(await isInviterEntitled(invitation, host.service))) return undefined;
    const { email } = invitation;
    const token = generateToken();
    const user = await accounts.findUserByEmail(email);
    const about = {
      link: createProofLink(host, url, `/${mail}`, token),
      minutes: ttl / 60_000,
      isNewAccount: user === undefined || !isEmailVerified(user),
    };
    const text = await host.mailTexts.render(mail, about, localeOfUser(user ?? {}, data.locale));
    return (await store.issue(id, token)) ? { to: email, ...text } : undefined;
  };
}
