import type { Host, ResourceView } from '../../../declare/host.ts';
import type { UserData } from '../../../declare/user-data.ts';
import type { Viewer } from '../../../declare/viewer.ts';
import type { ExportFile } from './export-file.ts';
import { namingRecords, ownRecords } from './resource-files.ts';

const ROWS_AT_ONCE = 20;

async function* inBatches(rows: AsyncIterable<Record<string, unknown>>): AsyncGenerator<Record<string, unknown>[]> {
  let batch: Record<string, unknown>[] = [];
  for await (const row of rows) {
    batch.push(row);
    if (batch.length < ROWS_AT_ONCE) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}

/** `apiKeys` → `api-keys`. */
const fileName = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** The files of every export of an app: of each resource, and of what features hold about users. */
export function exportFiles(
  parts: Pick<Host, 'database' | 'service' | 'resources'>,
  users: ResourceView,
  userData: readonly UserData[],
): ExportFile[] {
  return [
    ...parts.resources.flatMap((view) => ownRecords(parts, view, users) ?? []),
    ...parts.resources.flatMap((view) => namingRecords(parts, view, users) ?? []),
    ...userData.map((data) => ({
      path: `account/${fileName(data.name)}.ndjson`,
      holds: data.name,
      description: data.description,
      rows: (user: Viewer) => inBatches(data.rows(user.id)),
    })),
  ];
}
