import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { Response } from 'express';
import { expect, onTestFinished, test, vi } from 'vitest';
import { openStream, type Stream } from '../../../../src/extensions/realtime/fan-out/stream.ts';

// More than the buffers of the kernel hold, so that reading as much always lets the server send more.
const PART = 16 * 2 ** 20;
const BEAT = Buffer.from(':\n\n');

/** Opens a stream to a client. */
async function openStreamToClient(onCutOff: () => void): Promise<{ stream: Stream; socket: Socket }> {
  const opened = Promise.withResolvers<Stream>();
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
  return { stream: await opened.promise, socket };
}

test('a client that is still reading a large event at several heartbeats stays connected', async () => {
  const onCutOff = vi.fn();
  const { stream, socket } = await openStreamToClient(onCutOff);
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

test('waiting events are sent before a heartbeat, any other event and the end', async () => {
  const { stream, socket } = await openStreamToClient(vi.fn());
  stream.queue(Buffer.from('event: 1\n\n'));
  stream.queue(Buffer.from('event: 2\n\n'));
  stream.sendHeartbeatOrDisconnect(Buffer.from('event: beat\n\n'));
  stream.queue(Buffer.from('event: 3\n\n'));
  stream.write(Buffer.from('event: reset\n\n'));
  stream.queue(Buffer.from('event: 4\n\n'));
  stream.disconnectIfUnsent();
  stream.queue(Buffer.from('event: 5\n\n'));
  stream.end('shutdown');
  let text = '';
  for await (const bytes of socket) text += bytes;
  expect(text.match(/(?<=^event: ).*/gm)).toEqual(['1', '2', 'beat', '3', 'reset', '4', '5', 'end']);
});
