import { showError } from '../../../kit/toasts.tsx';
import { download } from '../../api.ts';
import { hrefOf, place } from '../../router.ts';
import type { ResourceInfo } from '../app-info.ts';
import { recordsPath } from '../schema.ts';
import { requestParams } from './query.ts';

interface ExportOptions {
  /** Texts of a CSV file that a spreadsheet would calculate as formulas stay as they are. */
  isExact?: boolean;
}

/** Saves the records of the current filters as a file. */
export async function exportRecords(
  resource: ResourceInfo,
  format: 'csv' | 'ndjson',
  { isExact = false }: ExportOptions = {},
): Promise<void> {
  const params = requestParams(place.value.params);
  for (const name of ['after', 'limit']) params.delete(name);
  params.set('format', format);
  if (isExact) params.set('forSpreadsheet', 'false');
  try {
    const blob = await download(hrefOf(recordsPath(resource, 'export'), params));
    const link = document.createElement('a');
    link.href = URL.createObjectURL(blob);
    link.download = `${resource.name}.${format}`;
    link.click();
    URL.revokeObjectURL(link.href);
  } catch (error) {
    showError(error);
  }
}
