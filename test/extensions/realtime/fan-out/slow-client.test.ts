import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import type { Response } from 'express';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openStream, type Stream } from '../../../../src/extensions/realtime/fan-out/stream.ts';

// More than the buffers of the kernel hold, so that reading as much always lets the server send more.
const PART = 16 * 2 ** 20;
const BEAT = Buffer.from(':\n\n');

test('a client that is still reading a large event at several heartbeats stays connected', async () => {
  const opened = Promise.withResolvers<Stream>();
  const onCutOff = vi.fn();
  const server = createServer((_, response) =>
    opened.resolve(openStream(response as unknown as Response, 4 * PART, onCutOff)),
  ).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  onTestFinished(() => {
    socket.destroy();
    server.close();
  });
  socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
  const stream = await opened.promise;
  stream.write(Buffer.alloc(3 * PART));

  let received = 0;
  socket.on('data', (bytes) => {
    received += bytes.length;
    // Whole parts, with a heartbeat after each of them.
    if (Math.floor(received / PART) > Math.floor((received - bytes.length) / PART))
      stream.sendHeartbeatOrDisconnect(BEAT);
  });
  await vi.waitUntil(() => received >= 3 * PART);
  expect(onCutOff).not.toHaveBeenCalled();
  expect(stream.isOpen).toBe(true);
});
