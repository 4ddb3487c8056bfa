export { deviceRoutes } from './routes.ts';
export {
  createFindDevices,
  deviceData,
  devices,
  devicesOfDeletedUsers,
  type FindDevices,
  type GoneDevice,
  registerDevice,
  removeDevices,
  revokeDevices,
} from './store.ts';
export { boundedText, dataError } from './text.ts';
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
