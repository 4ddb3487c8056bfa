import type { FeatureParts } from '../declare/extension.ts';
import type { FilesApi } from '../declare/file.ts';
import { createKeyedHashes } from '../platform/data/crypto/keyring.ts';
import { disk } from '../platform/data/storage/disk.ts';
import { HOUR_MS } from '../platform/helpers/duration.ts';
import { ApiError } from '../platform/helpers/errors.ts';
import type { Platform } from '../platform/platform.ts';
import type { SerializeFile } from '../records/schema/compile.ts';
import type { CompiledResource } from '../records/schema/compiled.ts';
import type { RecordFiles } from '../records/writes/files.ts';
import { createFileReferences } from './attach.ts';
import { createForms } from './form.ts';
import { createFileSweep, describeUploadUserData } from './retention.ts';
import { createServingRoutes } from './serving/routes.ts';
import { createFileUrls } from './serving/urls.ts';
import { createFileStore, isRemoved, toStoredFile } from './store/store.ts';
import type { FilesContext } from './uploads/context.ts';
import { createResumableRoutes } from './uploads/resumable.ts';
import { createUploadRoutes } from './uploads/routes.ts';
import { createTargets } from './uploads/targets.ts';
import { SYSTEM_UPLOADER } from './uploads/uploader.ts';
import { createUploads } from './uploads/uploads.ts';

export { checkFiles } from './config-errors.ts';
export { fileTables } from './store/table.ts';
export { createTrackingStatements } from './store/tracking.ts';

/** Where files are kept in development and tests, below the directory of the project. */
const DEVELOPMENT_DIRECTORY = '.data/files';

/** The files of an app. */
export interface Files {
  api: FilesApi;
  /** Undefined if no resource has a file field. */
  records: RecordFiles | undefined;
  /** The routes, sweeps and user data; only user data if no resource has a file field. */
  parts: FeatureParts;
  /** The kind of storage; undefined if no resource has a file field. */
  storageName: string | undefined;
  /** Checks that the storage can be used. @throws StorageError */
  check(): Promise<void>;
}

/** Creates the function that adds URLs to the files in responses. */
export function createFileSerializer(platform: Pick<Platform, 'env' | 'settings'>): SerializeFile {
  return createFileUrls(platform).serialize;
}

/** Creates the files of an app. Does no I/O. */
export function createFiles(platform: Platform, resources: readonly CompiledResource[]): Files {
  const { settings, log, database, env } = platform;
  const holdsFiles = resources.some((resource) => resource.holdsFiles);
  const storage = settings.files.storage ?? disk({ directory: DEVELOPMENT_DIRECTORY });
  const store = createFileStore(database);
  const { maxPendingPerUser: count, maxPendingBytesPerUser: bytes, pendingTtl } = settings.files;
  const uploads = createUploads({ storage, store, log, limits: { count, bytes, hours: pendingTtl / HOUR_MS } });
  const urls = createFileUrls(platform);
  const hashes = createKeyedHashes(env.encryptionKeys);
  const targets = createTargets(resources);
  const context: FilesContext = { settings, log, database, storage, store, uploads, targets, urls, hashes };

  const api: FilesApi = {
    async store(body, { name, type = 'application/octet-stream', field }) {
      if (!holdsFiles) throw new Error('no resource has a file field, so files are never removed; declare an f.file()');
      const target = field === undefined ? undefined : targets.find(field);
      if (field !== undefined && target === undefined) throw new Error(`there is no file field "${field}"`);
      return toStoredFile(await uploads.receive(target, SYSTEM_UPLOADER, { name, type, bytes: undefined }, body));
    },
    async read({ id }) {
      const [row] = await store.find([id]);
      if (row === undefined || row.state === 'receiving' || isRemoved(row)) throw new ApiError('NOT_FOUND');
      return storage.read(row.storageKey);
    },
    urlOf: urls.urlOf,
  };

  // Also without file fields: uploads may be left from the time when there was one.
  const userData = describeUploadUserData(context);
  if (!holdsFiles)
    return {
      api,
      records: undefined,
      parts: { userData: [userData] },
      storageName: undefined,
      check: async () => undefined,
    };
  return {
    api,
    records: { ...createFileReferences(store), ...createForms(context) },
    parts: {
      routes: [...createUploadRoutes(context), ...createResumableRoutes(context), ...createServingRoutes(context)],
      sweeps: [createFileSweep(context)],
      userData: [userData],
    },
    storageName: storage.name,
    check: async () => storage.check?.(),
  };
}
