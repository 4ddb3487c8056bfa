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
  removeDevicesOfDeletedUsers as revokeDevices,
} from './store.ts';
export { boundedTextSchema as boundedText, notificationDataError as dataError } from './text.ts';
export {
  type DevicePlatform,
  type EndpointRule,
  endpointError,
  getEndpointRule as endpointRule,
  hashDeviceToken as tokenHash,
  isExpoToken,
  maskToken,
  PLATFORMS,
  parsePushSubscription as readSubscription,
  SIMULATED_PREFIX,
  TOKEN_MAX,
  type TokenRule,
  tokenError,
} from './token.ts';
