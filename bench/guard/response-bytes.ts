import { Agent, request } from 'node:http';
import type { LoadRequest } from '../measure/load.ts';

function send(agent: Agent, url: string, { method, path, token, body, status }: LoadRequest): Promise<number> {
  const headers: Record<string, string> = {};
  if (token !== undefined) headers.authorization = `Bearer ${token}`;
  if (body !== undefined) headers['content-type'] = 'application/json';
  return new Promise((resolve, reject) => {
    const sent = request(url + path, { agent, method, headers }, (response) => {
      const { socket } = response;
      response.resume().on('end', () => {
        if (response.statusCode === status) resolve(socket.bytesRead);
        else reject(new Error(`${method} ${path} returned ${response.statusCode} instead of ${status}`));
      });
    });
    sent.on('error', reject).end(body);
  });
}

/** Sends requests over one connection, each after the previous response. Returns the bytes of the responses, headers included. */
export async function countResponseBytes(
  url: string,
  requests: number,
  createRequest: () => LoadRequest,
): Promise<number> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  let bytes = 0;
  for (let i = 0; i < requests; i++) bytes = await send(agent, url, createRequest());
  agent.destroy();
  return bytes;
}
