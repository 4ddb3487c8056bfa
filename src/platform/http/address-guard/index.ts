// Decides which hosts chosen by clients this server may call. No other code decides which addresses are public.
export { checkUrl } from './check-url.ts';
export { AddressRefusedError, createGuardedAgent, type GuardedAgentOptions } from './guarded-agent.ts';
export { isPublicAddress } from './is-public-address.ts';
export { createHostCheck, isNameServer } from './resolve-host.ts';
