export { deviceRoutes } from './routes.ts';
export {
  createFindDevices,
  deleteGoneDevices as removeDevices,
  deviceRemovalConsumer as devicesOfDeletedUsers,
  devices,
  deviceUserData as deviceData,
  type FindDevices,
  type GoneDevice,
  registerDevice,
  revokeDevices,
} from './store.ts';
export { boundedTextSchema as boundedText, notificationDataError as dataError } from './text.ts';
export {
  type DevicePlatform,
  type EndpointRule,
  endpointError,
  endpointRule,
  isExpoToken,
  maskToken,
  PLATFORMS,
  readSubscription,
  SIMULATED_PREFIX,
  TOKEN_MAX,
  type TokenRule,
  tokenError,
  tokenHash,
} from './token.ts';
