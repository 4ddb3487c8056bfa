import type { createKeyedHashes } from '../../platform/data/crypto/keyring.ts';
import type { FileStorage } from '../../platform/data/storage/storage.ts';
import type { Platform } from '../../platform/platform.ts';
import type { FileUrls } from '../serving/urls.ts';
import type { FileStore } from '../store/store.ts';
import type { Targets } from './targets.ts';
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
