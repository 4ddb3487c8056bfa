import type { Socket } from 'node:net';
import { AbstractConnector } from 'ioredis';

const streams = new WeakMap<AbstractConnector, Socket>();
const ignore = () => undefined;

/**
 * Makes sure that no error of a socket of ioredis ends the process. ioredis listens only to the first error of a socket. A connection with TLS
 * that is closed during its handshake can have two: that the server is not trusted, and the alert with which it answers. All connectors of the
 * process change, because ioredis itself creates those to Sentinels. The first error is reported as before.
 */
export function ignoreFurtherStreamErrors(): void {
  if (Object.hasOwn(AbstractConnector.prototype, 'stream')) return;
  Object.defineProperty(AbstractConnector.prototype, 'stream', {
    get(this: AbstractConnector) {
      return streams.get(this);
    },
    set(this: AbstractConnector, stream: Socket) {
      stream.on('error', ignore);
      streams.set(this, stream);
    },
  });
}
