import type { IncomingMessage } from 'node:http';

// RFC 3986 §3.2.2 and §3.2.3: a name or an IPv4 address, or an IPv6 address in brackets; a port.
const HOST = /^(?:[\w.~!$&'()*+,;=%-]*|\[[\da-f:.]+\])(?::\d*)?$/i;

/** Whether a request names one host, as HTTP/1.1 asks (RFC 9112 §3.2). Two would be read differently by who stands in between. */
function hasOneHost({ rawHeaders, httpVersion, headers }: IncomingMessage): boolean {
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!;
    if (name.length === 4 && name.toLowerCase() === 'host') hosts += 1;
  }
  return hosts === 1 ? HOST.test(headers.host!) : hosts === 0 && httpVersion === '1.0';
}

/** Whether a body comes in a form that everybody on the way reads alike: as it is, or in chunks from HTTP/1.1 on (RFC 9112 §6.1). */
function hasPlainTransfer({ headers, httpVersion }: IncomingMessage): boolean {
  const coding = headers['transfer-encoding'];
  return coding === undefined || (coding.toLowerCase() === 'chunked' && httpVersion !== '1.0');
}

/** Whether a head that Node lets pass may get to the app. */
export function isSoundHead(req: IncomingMessage): boolean {
  return hasOneHost(req) && hasPlainTransfer(req);
}
