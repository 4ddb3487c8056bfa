export { deviceRoutes } from './routes.ts';
export { findDevices, type PushDevice, removeDevices, removeDevicesOfUsers } from './store.ts';
export { devices } from './tables.ts';
export { boundedText, dataFault, textFault } from './text.ts';
export {
  type DevicePlatform,
  maskToken,
  PLATFORMS,
  SIMULATED_PREFIX,
  TOKEN_MAX,
  tokenFault,
  tokenHash,
} from './token.ts';
