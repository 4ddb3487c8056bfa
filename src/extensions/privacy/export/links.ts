import {
  getAppUrl,
  type Host,
  isAccountActive,
  localeOfUser,
  type MailComposer,
  type ResourceGateway,
  type StoredRecord,
} from '../../../extension/index.ts';
import type { Platform } from '../../../platform/platform.ts';
import type { Export, ExportStore } from './store.ts';

/** Builds the download links of exports. */
export interface ExportLinks {
  /** The host name of the links, for the text of e-mails. */
  host: string;
  urlOf(dataExport: Pick<Export, 'seal'>): string;
}

/** Creates the builder of links. Links contain APP_URL or localhost, never the host of a request, which any client can forge. */
export function createExportLinks({ env }: Pick<Platform, 'env'>): ExportLinks {
  const base = new URL(getAppUrl(env));
  return { host: base.host, urlOf: ({ seal }) => new URL(`/api/auth/exports/${seal.token}`, base).href };
}

/**
 * Returns the requester of an export if the link still works for them: both accounts exist, the requester is active, the exported user
 * is not being erased, and a requester of another user's data is still an admin.
 */
export async function findAllowedRequester(
  { userId, requestedBy }: Pick<Export, 'userId' | 'requestedBy'>,
  users: ResourceGateway,
): Promise<StoredRecord | undefined> {
  const accounts = await users.load([...new Set([userId, requestedBy])]);
  const user = accounts.find(({ id }) => id === userId);
  const requester = accounts.find(({ id }) => id === requestedBy);
  if (user === undefined || requester === undefined || user.status === 'deleting' || !isAccountActive(requester))
    return undefined;
  const isAdmin = Array.isArray(requester.roles) && requester.roles.includes('admin');
  return userId === requestedBy || isAdmin ? requester : undefined;
}

/** The kind of the e-mail that contains a link. */
export const EXPORT_MAIL = 'privacy-export';

/**
 * Creates the composer of the e-mail with the link. It composes the e-mail when it is sent, and returns undefined (nothing is sent) if
 * the export was deleted or its requester may no longer download it.
 */
export function createExportMailComposer(
  { mailTexts }: Pick<Host, 'mailTexts'>,
  exports: ExportStore,
  users: ResourceGateway,
  links: ExportLinks,
): MailComposer {
  return async ({ data }) => {
    const dataExport = await exports.readById(String(data.export));
    if (dataExport?.status !== 'ready') return undefined;
    const requester = await findAllowedRequester(dataExport, users);
    if (requester === undefined || typeof requester.email !== 'string') return undefined;
    const isOwn = dataExport.userId === dataExport.requestedBy;
    const about = {
      link: links.urlOf(dataExport),
      appHost: links.host,
      expiresAt: dataExport.expiresAt!,
      userId: isOwn ? undefined : dataExport.userId,
    };
    return { to: requester.email, ...(await mailTexts.render('data-export', about, localeOfUser(requester))) };
  };
}
