import { devices } from '../../accounts/devices/index.ts';
import { index, jsonb, pgTable, text, timestamptz } from '../../platform/postgres/drizzle.ts';

const deviceId = () =>
  text('device_id')
    .notNull()
    .references(() => devices.id, { onDelete: 'cascade' });

/** Devices that are simulated. Empty in production. */
const simulatedDevices = pgTable('push_simulated_devices', {
  deviceId: deviceId().primaryKey(),
  behavior: text('behavior').notNull(),
});

/** Notifications that simulated devices received. */
const simulatedNotifications = pgTable(
  'push_simulated_notifications',
  {
    id: text('id').primaryKey(),
    deviceId: deviceId(),
    pushId: text('push_id').notNull(),
    /** `shown`, `held` or `hidden`. */
    state: text('state').notNull(),
    message: jsonb('message').notNull(),
    /** When a held notification expires. */
    expiresAt: timestamptz('expires_at'),
    createdAt: timestamptz('created_at').notNull().defaultNow(),
    tappedAt: timestamptz('tapped_at'),
  },
  (table) => [index('push_simulated_notifications_device_index').on(table.deviceId, table.id)],
);

/** The tables of simulated devices, by name. */
export const simulatedTables = {
  push_simulated_devices: simulatedDevices,
  push_simulated_notifications: simulatedNotifications,
};
