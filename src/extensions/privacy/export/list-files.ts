import type { ConfigErrors, Host, ResourceGateway, UserData, Viewer } from '../../../extension/index.ts';
import type { ExportFile } from './export-file.ts';
import { createOwnRecordsFile, createReferencesFile } from './resource-files.ts';

const BATCH_ROWS = 20;
const USER_DATA_NAME = /^[a-z][a-zA-Z0-9]{0,60}$/;

async function* groupIntoBatches(
  rows: AsyncIterable<Record<string, unknown>>,
): AsyncGenerator<Record<string, unknown>[]> {
  let batch: Record<string, unknown>[] = [];
  for await (const row of rows) {
    batch.push(row);
    if (batch.length < BATCH_ROWS) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/** Converts a name to a file name: `apiKeys` → `api-keys`. */
const toFileName = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** Makes the paths unique: two resources may have the same plural, such as `datum` and `data`. */
function withUniquePaths(files: readonly ExportFile[]): ExportFile[] {
  const taken = new Set<string>();
  return files.map((file) => {
    let { path } = file;
    for (let n = 2; taken.has(path); n++) path = file.path.replace(/\.ndjson$/, `-${n}.ndjson`);
    taken.add(path);
    return { ...file, path };
  });
}

/** Checks the names of user data, because they become names of export files. */
export function checkUserDataNames(userData: readonly UserData[], errors: ConfigErrors): void {
  const names = userData.map(({ name }) => name);
  for (const [i, name] of names.entries()) {
    const at = errors.at(`user data "${name}"`);
    if (!USER_DATA_NAME.test(name)) at.report('the name must be letters and digits in camelCase, such as "apiKeys"');
    if (names.indexOf(name) !== i) at.report('two features use this name');
  }
}

/** Returns the files of every export of an app: one for each resource, and one for each kind of user data that features store. */
export function listExportFiles(
  { resources }: Pick<Host, 'resources'>,
  users: ResourceGateway,
  userData: readonly UserData[],
): ExportFile[] {
  return withUniquePaths([
    ...resources.flatMap((gateway) => createOwnRecordsFile(gateway, users, resources) ?? []),
    ...resources.flatMap((gateway) => createReferencesFile(gateway, users, resources) ?? []),
    ...userData.map((data) => ({
      path: `account/${toFileName(data.name)}.ndjson`,
      holds: data.name,
      description: data.description,
      rows: (user: Viewer) => groupIntoBatches(data.rows(user.id)),
    })),
  ]);
}
