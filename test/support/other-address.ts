import { networkInterfaces } from 'node:os';

/** An IPv4 address of this machine that is not a loopback one: connections to it come from it. Undefined where there is none. */
export const otherAddress: string | undefined = Object.values(networkInterfaces())
  .flatMap((addresses) => addresses ?? [])
  .find(({ internal, family }) => !internal && family === 'IPv4')?.address;
