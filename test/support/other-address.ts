import { networkInterfaces } from 'node:os';

/** A non-loopback IPv4 address of this machine; connections to it also come from it. Undefined if the machine has none. */
export const otherAddress: string | undefined = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(({ internal, family }) => !internal && family === 'IPv4')?.address;
