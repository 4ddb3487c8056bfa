import { isActive } from '../../../declare/actor.ts';
import type { ResourceGateway, StoredRecord } from '../../../declare/host.ts';
import type { MailComposer } from '../../../platform/mail/worker.ts';
import type { Platform } from '../../../platform/platform.ts';
import type { Export, ExportStore } from './store.ts';

/** Builds the download links of exports. */
export interface Links {
  /** The host of the links, to show to people. */
  host: string;
  urlOf(dataExport: Pick<Export, 'seal'>): string;
}

/** Creates the links. They never use the host of a request, because any client can forge its headers. */
export function createLinks({ env }: Pick<Platform, 'env'>): Links {
  const base = new URL(env.appUrl ?? `http://localhost:${env.port}`);
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
  const found = await users.load([...new Set([userId, requestedBy])]);
  const user = found.find(({ id }) => id === userId);
  const requester = found.find(({ id }) => id === requestedBy);
  if (user === undefined || requester === undefined || user.status === 'deleting' || !isActive(requester))
    return undefined;
  const isAdmin = Array.isArray(requester.roles) && requester.roles.includes('admin');
  return userId === requestedBy || isAdmin ? requester : undefined;
}

/** The kind of the e-mail that contains a link. */
export const EXPORT_MAIL = 'privacy-export';

/** Composes the e-mail when it is sent. None is sent if the export was deleted, or its requester may not download it any more. */
export function createExportMailComposer(exports: ExportStore, users: ResourceGateway, links: Links): MailComposer {
  return async ({ data }) => {
    const dataExport = await exports.readById(String(data.export));
    if (dataExport?.status !== 'ready') return undefined;
    const found = await findAllowedRequester(dataExport, users);
    if (found === undefined || typeof found.email !== 'string') return undefined;
    const isOwn = dataExport.userId === dataExport.requestedBy;
    const what = isOwn ? 'your personal data' : `the personal data of the user ${dataExport.userId}`;
    return {
      to: found.email,
      subject: isOwn ? 'Your data is ready' : 'The data of a user is ready',
      text: [
        `The export of ${what} at ${links.host} is ready.`,
        `Anyone with this link can download it until ${dataExport.expiresAt!.slice(0, 16).replace('T', ' ')} UTC:`,
        links.urlOf(dataExport),
        isOwn ? 'If you did not request it, change your password: someone else is signed in as you.' : '',
      ]
        .filter((part) => part !== '')
        .join('\n\n'),
    };
  };
}
