import type { DevicePlatform } from '../../accounts/devices/index.ts';
import { validationError } from '../../platform/errors.ts';
import type { PushContent } from '../message.ts';
import type { Transport } from '../transport.ts';
import { errorWithoutTokens } from '../transport.ts';
import type { Chunk } from './insert-push.ts';

/** The error of a message that is too large for a transport and platform, or undefined. */
export function sizeError(transport: Transport, message: PushContent, platform: DevicePlatform): string | undefined {
  const { name, limitBytes } = transport;
  if (transport.sizeOf === undefined || limitBytes === undefined) return undefined;
  try {
    const bytes = transport.sizeOf(message, platform);
    if (bytes <= limitBytes) return undefined;
    return `MessageTooBig: it has ${bytes} bytes as ${name} sends it to ${platform}; the limit is ${limitBytes}`;
  } catch (error) {
    return `The transport failed: ${errorWithoutTokens(error, []).message}`;
  }
}

/**
 * Refuses a message that is too large for all of its devices. If some devices can receive it, it is sent to those.
 *
 * @throws ApiError VALIDATION_ERROR with the sizes
 */
export function refuseTooLarge(message: PushContent, chunks: readonly Chunk[], transports: readonly Transport[]): void {
  const errors = new Set<string>();
  for (const { transport: name, targets } of chunks) {
    const transport = transports.find((one) => one.name === name);
    for (const platform of new Set(targets.map((target) => target.platform))) {
      const error = transport && sizeError(transport, message, platform);
      if (error === undefined) return;
      errors.add(error);
    }
  }
  if (errors.size === 0) return;
  throw validationError({
    [message.data === undefined ? 'body' : 'data']: `Must be smaller: ${[...errors].join('. ')}`,
  });
}
