import {
  ApiError,
  appHostOf,
  type ExtensionHost,
  isAccountActive,
  localeOfUser,
  type MailComposer,
  type ResourceGateway,
  type RouteContext,
  type StoredRecord,
} from '../../../extension/index.ts';
import { ENDPOINT_COLUMNS, type EndpointRow, getOwnerKey, serializeEndpoint } from './endpoint.ts';
import type { EndpointOwners } from './owners.ts';

/** Maximum managers of an organisation that get an e-mail about its endpoint. */
const MAX_MANAGERS = 10;

/** The user who gets an e-mail about an endpoint: its owner, or a manager of the organisation that owns it. */
export interface Recipient {
  /** The id of the user. */
  owner: string;
  organisation?: string;
  /** The role that the manager needs. */
  role?: string;
}

/** Returns who gets an e-mail about an endpoint. */
export async function findRecipients(
  { organisationAccess }: Pick<ExtensionHost, 'organisationAccess'>,
  row: EndpointRow,
): Promise<Recipient[]> {
  const { owner, organisationRole } = getOwnerKey(row);
  if (typeof organisationRole !== 'string') return [{ owner }];
  const access = organisationAccess();
  if (access === undefined) return [];
  // Members with less power than the endpoint do not manage it.
  const role = access.includes(organisationRole, access.manageRole) ? organisationRole : access.manageRole;
  const managers = await access.membersWith(role, owner, MAX_MANAGERS);
  return managers.map((manager) => ({ owner: manager, organisation: owner, role }));
}

/** Returns an endpoint as e-mails describe it: the slug of its organisation is the only text that a user wrote, and holds only letters and digits. */
export async function describeForMail<W extends { id: string }>(
  { organisations }: Pick<EndpointOwners, 'organisations'>,
  webhook: W,
  organisation: string | undefined,
): Promise<Omit<W, 'organisation'> & { organisation?: string }> {
  const { organisation: _, ...described } = webhook as W & { organisation?: string };
  if (organisation === undefined || organisations === undefined) return described;
  const [found] = await organisations.load([organisation]);
  return { ...described, ...(found !== undefined && { organisation: String(found.slug) }) };
}

/** Returns the user who gets an e-mail; undefined if they are deleted, inactive, or manage the organisation no more. */
export async function loadRecipient(
  { organisationAccess, service }: Pick<ExtensionHost, 'organisationAccess' | 'service'>,
  users: ResourceGateway,
  { owner, organisation, role: needed }: Recipient,
): Promise<(StoredRecord & { email: string }) | undefined> {
  const [user] = await users.load([owner]);
  if (typeof user?.email !== 'string' || !isAccountActive(user)) return undefined;
  if (organisation !== undefined) {
    const access = organisationAccess();
    const isManager = async () => {
      const { role } = await access!.find({ user, service }, organisation);
      return access!.includes(role, needed ?? access!.manageRole);
    };
    if (access === undefined || !(await isManager().catch(falseIfNotFound))) return undefined;
  }
  return user as StoredRecord & { email: string };
}

function falseIfNotFound(error: unknown): false {
  if (error instanceof ApiError && error.code === 'NOT_FOUND') return false;
  throw error;
}

/** The kind of the e-mail about disabled endpoints of one owner. Its data: `{ webhooks, owner, organisation?, locale? }`, ids. */
export const DISABLED_MAIL = 'webhook-disabled';

/** Maximum e-mails to one owner per day. An endpoint that is repeatedly disabled and enabled must not fill a mailbox. */
const MAX_DISABLED_MAILS = { limit: 10, windowMs: 86_400_000 };

/** Reads several endpoints of an owner. $1 ids, $2 owner. */
const READ_ENDPOINTS = `
  select ${ENDPOINT_COLUMNS.join(', ')} from webhook_endpoints where id = any($1) and owner_id = $2 and removed_at is null order by id`;

/**
 * Creates the composer of the e-mail about disabled endpoints. It composes no e-mail if the endpoints were enabled or deleted meanwhile,
 * or if their owner is not active.
 */
export function createEndpointDisabledComposer(
  host: Pick<
    ExtensionHost,
    'database' | 'limits' | 'settings' | 'env' | 'mailTexts' | 'organisationAccess' | 'service'
  >,
  owners: Pick<EndpointOwners, 'users' | 'organisations'>,
): MailComposer {
  const { users } = owners;
  const { enabled = host.env.nodeEnv !== 'test' } = host.settings.rateLimit;
  const limiter = enabled ? host.limits.limiter('webhook mails', MAX_DISABLED_MAILS) : undefined;
  return async ({ data, attempt }) => {
    // E-mails that an earlier version stored have `webhook` instead.
    const {
      webhook,
      webhooks: ids = [webhook],
      owner,
      organisation,
      role,
    } = data as unknown as Recipient & { webhook?: string; webhooks?: string[] };
    const values = [ids, organisation ?? owner];
    const [rows, user] = await Promise.all([
      host.database.read<EndpointRow>({ name: 'webhook_read_some', text: READ_ENDPOINTS, values }),
      loadRecipient(host, users, { owner, ...(organisation !== undefined && { organisation, role }) }),
    ]);
    const disabled = rows.map(serializeEndpoint).filter((one) => !one.enabled);
    const [first] = disabled;
    if (first === undefined || user === undefined) return undefined;
    if (attempt === 1 && limiter !== undefined && !(await limiter.consume(owner)).allowed) return undefined;
    const appHost = appHostOf(host.env);
    const locale = localeOfUser(user, data.locale);
    const content =
      first.disabledReason === 'password_reset'
        ? await host.mailTexts.render('webhooks-revoked', { webhooks: disabled, appHost }, locale)
        : await host.mailTexts.render(
            'webhook-disabled',
            { webhook: await describeForMail(owners, first, organisation), appHost },
            locale,
          );
    return { ...content, to: user.email };
  };
}

/** The kind of the e-mail about a new endpoint. Its data: `CreatedMail`. */
export const CREATED_MAIL = 'webhook-created';

/** Maximum e-mails to one owner per day. Repeatedly creating and deleting endpoints must not fill a mailbox. */
const MAX_CREATED_MAILS = { limit: 10, windowMs: 86_400_000 };

/** The stored data of the e-mail about a new endpoint, so that an attacker cannot prevent the e-mail by deleting the endpoint at once. */
interface CreatedMail extends Recipient {
  webhook: Pick<ReturnType<typeof serializeEndpoint>, 'id' | 'events' | 'scope' | 'createdAt'>;
  /** Whether an API key created the endpoint. */
  byKey: boolean;
}

/** Returns the data of the e-mail about an endpoint that this request has created; for an organisation, without the recipient. */
export function createdMailData(row: EndpointRow, { auth }: Pick<RouteContext, 'auth'>): Record<string, unknown> {
  const { id, events, scope, createdAt } = serializeEndpoint(row);
  const data: CreatedMail = {
    owner: row[1],
    webhook: { id, events, scope, createdAt },
    byKey: auth?.via === 'api-key',
  };
  return { ...data };
}

/** Creates the composer of the e-mail about a new endpoint. It composes none if the owner is deleted or inactive when it is sent. */
export function createEndpointCreatedComposer(
  host: Pick<ExtensionHost, 'limits' | 'settings' | 'env' | 'mailTexts' | 'organisationAccess' | 'service'>,
  owners: Pick<EndpointOwners, 'users' | 'organisations'>,
): MailComposer {
  const { users } = owners;
  const { enabled = host.env.nodeEnv !== 'test' } = host.settings.rateLimit;
  const limiter = enabled ? host.limits.limiter('webhook creation mails', MAX_CREATED_MAILS) : undefined;
  return async ({ data, attempt }) => {
    const created = data as unknown as CreatedMail;
    const user = await loadRecipient(host, users, created);
    if (user === undefined) return undefined;
    if (attempt === 1 && limiter !== undefined && !(await limiter.consume(user.id)).allowed) return undefined;
    const webhook = await describeForMail(owners, created.webhook, created.organisation);
    const about = { webhook, byKey: created.byKey, appHost: appHostOf(host.env) };
    return {
      ...(await host.mailTexts.render('webhook-created', about, localeOfUser(user, data.locale))),
      to: user.email,
    };
  };
}
