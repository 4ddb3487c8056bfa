import { z } from 'zod';
import type { Accounts } from '../../declare/accounts.ts';
import type { Authenticator } from '../../declare/authenticator.ts';
import type { Route, RouteContext } from '../../declare/route.ts';
import { ApiError } from '../../platform/helpers/errors.ts';
import { isId } from '../../platform/helpers/ids.ts';
import type { Platform } from '../../platform/platform.ts';
import { getAuthenticator } from '../../rules/credential.ts';
import { type DeviceRegistration, deviceRegistrationSchema, openedBodySchema, unregisterBodySchema } from './input.ts';
import {
  findDeviceIdOfSession,
  listDevices,
  type OwnDevice,
  registerDevice,
  removeOwnDevice,
  removeOwnDeviceByToken,
} from './store.ts';
import { maskToken, PLATFORMS, type TokenRule } from './token.ts';

const deviceRecord = z
  .object({
    id: z.string(),
    platform: z.enum(PLATFORMS),
    name: z.string().nullable(),
    appVersion: z.string().nullable(),
    locale: z.string().nullable(),
    token: z.string().meta({ description: 'Masked: leading characters, an ellipsis, trailing characters' }),
    signedIn: z.boolean().meta({ description: 'Whether the device is bound to a session' }),
    createdAt: z.iso.datetime(),
    lastSeenAt: z.iso.datetime(),
  })
  .meta({ id: 'Device' });

function withMaskedToken(device: OwnDevice): z.output<typeof deviceRecord> {
  return { ...device, token: maskToken(device.platform, device.token) };
}

/**
 * The routes of a user's own devices, below `/api/auth/devices`.
 *
 * @param bySession the authenticator whose sessions a device can be bound to; sessions of extensions are not supported
 */
export function deviceRoutes(
  { database, settings, events }: Pick<Platform, 'database' | 'settings' | 'events'>,
  rule: TokenRule,
  bySession: Authenticator,
  holdCredential: Accounts['holdCredential'],
): Route[] {
  const tags = ['devices'];
  const boundSessionIdOf = (ctx: RouteContext) => (getAuthenticator(ctx.auth) === bySession ? ctx.auth?.id : undefined);

  return [
    {
      method: 'POST',
      path: '/auth/devices',
      tags,
      summary: 'Register a device for push notifications; a registered token moves to this user and session',
      input: deviceRegistrationSchema(rule),
      output: deviceRecord,
      errors: [],
      status: 201,
      operationId: 'registerDevice',
      async handler(ctx: RouteContext<DeviceRegistration>) {
        const sessionId = settings.auth.devicesFollowSessions ? (boundSessionIdOf(ctx) ?? null) : null;
        const device = await database.transaction(async (tx) => {
          await holdCredential(ctx, tx);
          return registerDevice(tx, ctx.input, { userId: ctx.user!.id, sessionId });
        });
        return withMaskedToken(device);
      },
    },
    {
      method: 'GET',
      path: '/auth/devices',
      tags,
      summary: 'List your devices',
      output: z.array(deviceRecord),
      errors: [],
      operationId: 'listMyDevices',
      handler: async (ctx) => (await listDevices(database, ctx.user!.id)).map(withMaskedToken),
    },
    {
      method: 'DELETE',
      path: '/auth/devices/:deviceId',
      tags,
      summary: 'Remove one of your devices',
      errors: ['NOT_FOUND'],
      status: 204,
      operationId: 'removeMyDevice',
      async handler(ctx) {
        const id = ctx.params.deviceId;
        if (!isId(id) || !(await removeOwnDevice(database, id, ctx.user!.id))) throw new ApiError('NOT_FOUND');
      },
    },
    {
      method: 'POST',
      path: '/auth/devices/unregister',
      tags,
      summary: 'Remove your device with this token',
      input: unregisterBodySchema,
      errors: [],
      status: 204,
      operationId: 'unregisterDevice',
      // An unknown token and another user's token get the same response, so that a caller cannot learn which tokens exist.
      handler: (ctx: RouteContext<z.output<typeof unregisterBodySchema>>) =>
        removeOwnDeviceByToken(database, ctx.input.token, ctx.user!.id),
    },
    {
      method: 'POST',
      path: '/auth/devices/opened',
      tags,
      summary: 'Report that a notification was tapped',
      input: openedBodySchema,
      errors: [],
      status: 204,
      operationId: 'reportOpenedPush',
      async handler(ctx: RouteContext<z.output<typeof openedBodySchema>>) {
        const { pushId = null, data = {} } = ctx.input;
        const sessionId = boundSessionIdOf(ctx);
        const device = sessionId === undefined ? undefined : await findDeviceIdOfSession(database, sessionId);
        const url = typeof data.url === 'string' ? data.url : null;
        const payload = { id: pushId, user: ctx.user!.id, device: device ?? null, url, data, simulated: false };
        events.emit('push.opened', payload);
      },
    },
  ];
}
