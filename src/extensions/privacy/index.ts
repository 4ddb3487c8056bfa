import type { PgTable } from 'drizzle-orm/pg-core';
import { z } from 'zod';
import { defineExtension, type Extension, mergeParts, StartupError } from '../../extension/index.ts';
import { createErasureParts, erasures } from './erasure/index.ts';
import {
  createExportParts,
  type ExportOptions,
  exportSettings,
  privacyExportChunks,
  privacyExports,
} from './export/index.ts';
import { createPrivacyReport, type PrivacyReport } from './report.ts';

export type { PrivacyReport, ReportedData, ReportedField } from './report.ts';

declare module '../../declare/resource.ts' {
  interface ExtensionResourceOptions {
    /** What happens to the records of a user whose account is erased. Default: delete. */
    onOwnerDelete?: (typeof ON_OWNER_DELETE)[number];
    /** Fields that hold personal data, in addition to those marked `pii()` and those whose names suggest it. */
    personalFields?: readonly string[];
  }
}

const ON_OWNER_DELETE = ['delete', 'anonymize', 'keep'] as const;

/** `app.privacy`, used by `npx belfry privacy`. */
export interface PrivacyApi {
  /** @param tables `app.tables` */
  report(tables: Readonly<Record<string, PgTable>>): PrivacyReport;
}

/** Settings of the privacy extension. */
export type PrivacyOptions = ExportOptions;

/**
 * Privacy: users can download all their data and erase their account with everything that belongs to it, as declared by
 * `onOwnerDelete`, `personalFields` and `pii()`.
 *
 * @example createApp({ resources, extensions: [privacy({ exportTtl: '24h' })] }, process.env)
 */
export function privacy(options: PrivacyOptions = {}): Extension<'privacy', PrivacyApi> {
  return defineExtension({
    name: 'privacy',
    resourceOptions: {
      onOwnerDelete: z.enum(ON_OWNER_DELETE, { error: `must be one of: ${ON_OWNER_DELETE.join(', ')}` }),
      personalFields: z.array(z.string({ error: 'must be the name of a field' }), {
        error: 'must be a list of fields',
      }),
    },
    tables: { privacy_exports: privacyExports, privacy_export_chunks: privacyExportChunks, privacy_erasures: erasures },
    settings: exportSettings,
    options,
    setup(host, settings) {
      const { accounts, users } = host;
      if (accounts === undefined || users === undefined) {
        throw new StartupError('privacy() cannot work:', [
          'it needs accounts; declare a user resource with defineUser()',
        ]);
      }
      return {
        ...mergeParts(createExportParts(host, accounts, users, settings), createErasureParts(host, accounts, users)),
        api: { report: (tables) => createPrivacyReport(host.resources, users, host.userData(), tables) },
      };
    },
  });
}
