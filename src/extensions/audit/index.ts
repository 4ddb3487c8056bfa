import { z } from 'zod';
import { defineExtension, type Extension } from '../../declare/extension.ts';
import { appendOnly } from './append-only.ts';
import { createConsumer } from './consumer.ts';
import { createEventWriter } from './event-writer.ts';
import { createListeners } from './listeners.ts';
import { createRetention } from './retention.ts';
import { auditRoutes } from './routes.ts';
import { type AuditOptions, auditSettings } from './settings.ts';
import { auditAnchors, auditEntries, auditValues } from './tables.ts';
import { auditData } from './user-data.ts';
import { createVerify, type Verify } from './verify.ts';

export type { AuditOptions } from './settings.ts';

declare module '../../declare/resource.ts' {
  interface ExtensionResourceOptions {
    /** Writes every change of a record to the audit trail. */
    audit?: boolean;
  }
}

/** What `app.audit` offers: `npm run audit` is made of it. */
export interface AuditApi {
  verify: Verify;
}

/**
 * Audit: who did what to records of resources with `audit: true`, who signed in, and what became of keys and endpoints, in rows that
 * cannot be changed and that are chained by hashes.
 *
 * @example createApp({ resources, extensions: [audit({ keepDays: 730 })] }, process.env)
 */
export function audit(options: AuditOptions = {}): Extension<'audit', AuditApi> {
  return defineExtension({
    name: 'audit',
    resourceOptions: { audit: z.boolean({ error: 'must be true or false' }) },
    tables: { audit_entries: auditEntries, audit_anchors: auditAnchors, audit_values: auditValues },
    settings: auditSettings,
    options,
    statements: ({ keepDays }) => appendOnly(keepDays),
    setup(host, { keepDays }) {
      const writer = createEventWriter(host);
      // Events come in every process: each writes what it holds before it ends.
      const workers = {
        web: () => writer,
        relay: () => writer,
        'webhook-worker': () => writer,
        'push-worker': () => writer,
      };
      return {
        consumers: [createConsumer(host)],
        sweeps: [createRetention(host, keepDays)],
        listeners: createListeners(writer),
        routes: auditRoutes(host),
        userData: [auditData(host, keepDays)],
        api: { verify: createVerify(host.database) },
        workers,
      };
    },
  });
}
