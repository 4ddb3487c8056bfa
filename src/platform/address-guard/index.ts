// Which hosts this server may call when a client chose them. Nothing else in the project decides what is public.
export { checkUrl } from './check-url.ts';
export { AddressRefusedError, createGuardedAgent, type GuardedAgentOptions } from './guarded-agent.ts';
export { isPublicAddress } from './is-public-address.ts';
export { createHostCheck, isNameServer } from './resolve-host.ts';
