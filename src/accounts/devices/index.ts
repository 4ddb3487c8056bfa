export {
  findRegisteredDevices,
  listAllDevices,
  readDevice,
  removeDevice,
} from './all-devices.ts';
export { deviceRoutes } from './routes.ts';
export {
  createFindDevices,
  deleteGoneDevices,
  devices,
  deviceUserData,
  type FindDevices,
  type GoneDevice,
  ownedDevices,
  registerDevice,
  removeAllDevices,
} from './store.ts';
export { boundedTextSchema, notificationDataError } from './text.ts';
export {
  type DevicePlatform,
  type EndpointRule,
  endpointError,
  getEndpointRule,
  hashDeviceToken,
  isExpoToken,
  MAX_TOKEN_LENGTH,
  maskToken,
  PLATFORMS,
  parsePushSubscription,
  SIMULATED_PREFIX,
  type TokenRule,
  tokenError,
} from './token.ts';
