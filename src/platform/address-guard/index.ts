// Decides which hosts this server may call if a client chose them. No other code decides what is public.
export { checkUrl } from './check-url.ts';
export { AddressRefusedError, createGuardedAgent, type GuardedAgentOptions } from './guarded-agent.ts';
export { isPublicAddress } from './is-public-address.ts';
export { createHostCheck, isNameServer } from './resolve-host.ts';
