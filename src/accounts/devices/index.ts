export { devicesOfDeletedUsers, revokeDevices } from './deleted-users.ts';
export { type EndpointRule, endpointFault, endpointRule } from './push-endpoint.ts';
export { deviceRoutes } from './routes.ts';
export { createFindDevices, type FindDevices, type GoneDevice, registerDevice, removeDevices } from './store.ts';
export { devices } from './tables.ts';
export { boundedText, dataFault } from './text.ts';
export {
  type DevicePlatform,
  isExpoToken,
  maskToken,
  PLATFORMS,
  readSubscription,
  SIMULATED_PREFIX,
  TOKEN_MAX,
  type TokenRule,
  tokenFault,
  tokenHash,
} from './token.ts';
export { deviceData } from './user-data.ts';
