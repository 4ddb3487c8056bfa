import { createSocket } from 'node:dgram';
import { once } from 'node:events';

/**
 * The server's reply to a query: addresses (an empty list if the name has none of this type), an alias of a name without addresses, an error,
 * or no reply.
 */
type Answer = string[] | 'alias' | 'nxdomain' | 'servfail' | 'silence';

/**
 * A DNS server on 127.0.0.1 that replies to A and AAAA queries from a table.
 *
 * @param response returns the reply for a name and a type
 * @returns `address`: `127.0.0.1:<port>`; `questions`: the queries received, as `A name`; `close`
 */
export async function startDnsServer(response: (name: string, type: 'A' | 'AAAA') => Answer) {
  const socket = createSocket('udp4');
  const questions: string[] = [];
  socket.on('message', (query, peer) => {
    const labels: string[] = [];
    let at = 12;
    for (; query[at] !== 0; at += query[at]! + 1) labels.push(query.toString('latin1', at + 1, at + 1 + query[at]!));
    const type = query.readUInt16BE(at + 1) === 28 ? 'AAAA' : 'A';
    const name = labels.join('.').toLowerCase();
    questions.push(`${type} ${name}`);
    const answer = response(name, type);
    if (answer !== 'silence') socket.send(reply(query.subarray(0, at + 5), answer), peer.port);
  });
  socket.bind(0, '127.0.0.1');
  await once(socket, 'listening');
  return {
    address: `127.0.0.1:${socket.address().port}`,
    questions,
    close: () => new Promise<void>((resolve) => socket.close(() => resolve())),
  };
}

// RFC 1035, 4.1: the header with the response bits set, the question as received, records that point back to its name.
function reply(question: Buffer, answer: Exclude<Answer, 'silence'>): Buffer {
  const addresses = typeof answer === 'string' ? [] : answer;
  const header = Buffer.from(question.subarray(0, 12));
  header.writeUInt16BE(0x8180 + (answer === 'servfail' ? 2 : answer === 'nxdomain' ? 3 : 0), 2);
  header.writeUInt16BE(answer === 'alias' ? 1 : addresses.length, 6);
  header.fill(0, 8, 12);
  // Type CNAME, with a target `x` that has no record.
  if (answer === 'alias')
    return Buffer.concat([
      header,
      question.subarray(12),
      Buffer.from([0xc0, 12, 0, 5, 0, 1, 0, 0, 0, 0, 0, 3, 1, 120, 0]),
    ]);
  const records = addresses.map((address) => {
    const data = address.includes(':') ? ipv6Bytes(address) : Buffer.from(address.split('.').map(Number));
    const record = Buffer.from([0xc0, 12, 0, data.length === 16 ? 28 : 1, 0, 1, 0, 0, 0, 0, 0, data.length]);
    return Buffer.concat([record, data]);
  });
  return Buffer.concat([header, question.subarray(12), ...records]);
}

function ipv6Bytes(address: string): Buffer {
  const [head = '', tail = ''] = address.split('::');
  const groups = (text: string) => text.split(':').filter(Boolean);
  const zeros = Array<string>(8 - groups(head).length - groups(tail).length).fill('0');
  const all = [...groups(head), ...zeros, ...groups(tail)];
  return Buffer.from(all.map((group) => group.padStart(4, '0')).join(''), 'hex');
}
