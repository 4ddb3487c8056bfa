import { createClient, type UploadedFile } from '@belfry/client';
import { useSyncExternalStore } from 'react';
import type { app } from '../../helpdesk/src/app.ts';

const url = document.querySelector<HTMLMetaElement>('meta[name=api]')?.content;

/** The client of the helpdesk, at the address in index.html. */
export const client = createClient<typeof app>({ url });

function subscribeToHash(listener: () => void): () => void {
  addEventListener('hashchange', listener);
  return () => removeEventListener('hashchange', listener);
}

/** The address of a page, after the `#`. */
export const useHash = (): string => useSyncExternalStore(subscribeToHash, () => location.hash.slice(1));

/**
 * Uploads the attachments that were chosen in a form.
 *
 * @param report is called with the sent part of each file, from 0 to 1
 */
export async function uploadAttachments(values: FormData, report: (part: number) => void): Promise<UploadedFile[]> {
  const onProgress = ({ sentBytes = 0, totalBytes = 0 }) => report(sentBytes / totalBytes);
  const uploaded: UploadedFile[] = [];
  // Without a chosen file, the form contains an empty one.
  for (const file of values.getAll('attachments') as File[])
    if (file.size > 0) uploaded.push(await client.tickets.upload('attachments', file, { onProgress }));
  return uploaded;
}
