import type { ResourceGateway } from '../../../declare/host.ts';
import type { MailComposer } from '../../../platform/mail/worker.ts';
import { type Links, mayFetch } from './links.ts';
import type { Exports } from './store.ts';

/** The kind of the e-mail that contains a link. */
export const EXPORT_MAIL = 'privacy-export';

/** Composes the e-mail when it is sent. None is sent if the export was deleted, or its requester may not download it any more. */
export function createExportComposer(exports: Exports, users: ResourceGateway, links: Links): MailComposer {
  return async ({ data }) => {
    const one = await exports.readById(String(data.export));
    if (one?.status !== 'ready') return undefined;
    const found = await mayFetch(one, users);
    if (found === undefined || typeof found.email !== 'string') return undefined;
    const isOwn = one.userId === one.requestedBy;
    const what = isOwn ? 'your personal data' : `the personal data of the user ${one.userId}`;
    return {
      to: found.email,
      subject: isOwn ? 'Your data is ready' : 'The data of a user is ready',
      text: [
        `The export of ${what} at ${links.host} is ready.`,
        `Whoever has this link can fetch it, until ${one.expiresAt!.slice(0, 16).replace('T', ' ')} UTC:`,
        links.of(one),
        isOwn ? 'If you did not ask for it, change your password: somebody else is signed in as you.' : '',
      ]
        .filter((part) => part !== '')
        .join('\n\n'),
    };
  };
}
