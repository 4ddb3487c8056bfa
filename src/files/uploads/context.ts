import type { RouteContext } from '../../declare/route.ts';
import type { createKeyedHashes } from '../../platform/data/crypto/keyring.ts';
import type { FileStorage } from '../../platform/data/storage/storage.ts';
import { ApiError } from '../../platform/helpers/errors.ts';
import type { Platform } from '../../platform/platform.ts';
import type { FileUrls } from '../serving/urls.ts';
import type { FileRow, FileStore } from '../store/store.ts';
import type { Targets } from './targets.ts';
import { ownsUpload } from './upload-rows.ts';
import { presentedTokenHash } from './uploader.ts';
import type { Uploads } from './uploads.ts';

/** What the parts of the feature share. */
export interface FilesContext extends Pick<Platform, 'settings' | 'log' | 'database'> {
  storage: FileStorage;
  store: FileStore;
  uploads: Uploads;
  targets: Targets;
  urls: FileUrls;
  hashes: ReturnType<typeof createKeyedHashes>;
}

/** Finds the upload that a request names. @throws ApiError NOT_FOUND unless it belongs to the caller */
export async function findOwnUpload(
  { store, targets }: FilesContext,
  { user, params, query }: RouteContext,
): Promise<FileRow> {
  const [row] = await store.find([params.id!]);
  const isOwn = row !== undefined && ownsUpload(row, user, presentedTokenHash(query.token));
  if (!isOwn || !targets.isReachable(row.resource, user)) throw new ApiError('NOT_FOUND');
  return row;
}
