// What may be called when somebody else chose the host. Nothing else in the project decides what is public.
export { AddressRefusedError } from './address-guard/address-refused-error.ts';
export { createHostCheck } from './address-guard/check-host.ts';
export { checkUrl } from './address-guard/check-url.ts';
export { createGuardedAgent, type GuardedAgentOptions } from './address-guard/guarded-agent.ts';
export { isPublicAddress } from './address-guard/is-public-address.ts';
export { isNameServer } from './address-guard/resolve-host.ts';
