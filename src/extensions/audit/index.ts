import { z } from 'zod';
import { defineExtension, durationSetting, type Extension, wholeNumberSettingSchema } from '../../extension/index.ts';
import { createAuditPanel } from './console/account-panel.ts';
import { createAuditTab } from './console/tab.ts';
import { createAuditTrail } from './reading/audit-trail.ts';
import { auditRoutes } from './reading/routes.ts';
import { createAuditListeners } from './recording/audited-events.ts';
import { createAuditConsumer } from './recording/consumer.ts';
import { createEventWriter } from './recording/event-writer.ts';
import { appendOnlyStatements, auditAnchors, auditEntries, auditValues } from './tables.ts';
import { createTrailRetentionSweep } from './trail/retention.ts';
import { createTrailVerifier, type Verify } from './trail/verify.ts';
import { auditUserData } from './user-data.ts';

/** The settings of the extension. */
export const auditSettings = z.strictObject({
  /** Days for which a row is kept, and can be neither changed nor removed. */
  keepDays: durationSetting('d', wholeNumberSettingSchema(36_500)).default(365),
});

/** The settings of the extension as a project writes them. All are optional. */
export type AuditOptions = z.input<typeof auditSettings>;

declare module '../../declare/resource.ts' {
  interface ExtensionResourceOptions {
    /** Writes every change of a record to the audit trail. */
    audit?: boolean;
  }
}

/** `app.audit`, used by `npx belfry audit`. */
export interface AuditApi {
  verify: Verify;
}

/**
 * Audit: records changes of resources with `audit: true`, sign-ins, and changes of API keys and webhook endpoints, in append-only
 * rows that are chained by hashes.
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
    statements: ({ keepDays }) => appendOnlyStatements(keepDays),
    setup(host, { keepDays }) {
      const writer = createEventWriter(host);
      // Every process emits events, so every process must write its waiting events before it stops.
      const workers = {
        web: () => writer,
        relay: () => writer,
        'webhook-worker': () => writer,
        'push-worker': () => writer,
      };
      return {
        consumers: [createAuditConsumer(host)],
        sweeps: [createTrailRetentionSweep(host, keepDays)],
        listeners: createAuditListeners(writer),
        routes: auditRoutes(host),
        auditTrail: createAuditTrail(host),
        consoleTabs: [createAuditTab(host, keepDays)],
        ...(host.users !== undefined && { accountPanels: [createAuditPanel(host, host.users)] }),
        userData: [auditUserData(host, keepDays)],
        api: { verify: createTrailVerifier(host.database) },
        workers,
      };
    },
  });
}
