// D-Bus messages, as far as the fake desktop needs them: https://dbus.freedesktop.org/doc/dbus-specification.html#message-protocol

/** A message with the header fields that the fake desktop reads. */
export interface DbusMessage {
  type: 'call' | 'return' | 'error' | 'signal';
  serial: number;
  path?: string | undefined;
  interface?: string | undefined;
  member?: string | undefined;
  errorName?: string | undefined;
  replySerial?: number | undefined;
  destination?: string | undefined;
  sender?: string | undefined;
  /** The types of the body: `s` text, `u` number, `b` boolean, `as` list of texts. Other types are not read. */
  signature?: string | undefined;
  body: (string | number | boolean | string[])[];
}

const TYPES = ['call', 'return', 'error', 'signal'] as const;
/** The header fields: number, name and type. */
const FIELDS = [
  [1, 'path', 'o'],
  [2, 'interface', 's'],
  [3, 'member', 's'],
  [4, 'errorName', 's'],
  [5, 'replySerial', 'u'],
  [6, 'destination', 's'],
  [7, 'sender', 's'],
  [8, 'signature', 'g'],
] as const;

const align = (at: number, to: number) => Math.ceil(at / to) * to;

/** Reads consecutive values, each at its alignment. */
function reader(data: Buffer, start: number) {
  let at = start;
  const number = () => {
    at = align(at, 4) + 4;
    return data.readUInt32LE(at - 4);
  };
  const text = () => {
    const length = number();
    at += length + 1;
    return data.toString('utf8', at - length - 1, at - 1);
  };
  const signature = () => {
    const length = data[at]!;
    at += length + 2;
    return data.toString('utf8', at - length - 1, at - 1);
  };
  const texts = () => {
    const end = number() + at;
    const list: string[] = [];
    while (at < end) list.push(text());
    return list;
  };
  const pad = (to: number) => {
    at = align(at, to);
  };
  return { number, text, signature, texts, pad, byte: () => data[at++]!, at: () => at };
}

function bodyOf(data: Buffer, start: number, signature: string): DbusMessage['body'] {
  const from = reader(data, start);
  const body: DbusMessage['body'] = [];
  for (const type of signature.match(/as|./g) ?? []) {
    if (type === 's') body.push(from.text());
    else if (type === 'u') body.push(from.number());
    else if (type === 'as') body.push(from.texts());
    else break;
  }
  return body;
}

/** The first message in `data` and its length in bytes; undefined if it is still incomplete. */
export function readDbusMessage(data: Buffer): { message: DbusMessage; length: number } | undefined {
  if (data.length < 16) return undefined;
  if (data[0] !== 'l'.charCodeAt(0)) throw new Error('only little-endian messages are read');
  const fieldsEnd = 16 + data.readUInt32LE(12);
  const bodyStart = align(fieldsEnd, 8);
  const length = bodyStart + data.readUInt32LE(4);
  if (data.length < length) return undefined;
  const message: DbusMessage = { type: TYPES[data[1]! - 1]!, serial: data.readUInt32LE(8), body: [] };
  const from = reader(data, 16);
  while (from.at() < fieldsEnd) {
    from.pad(8);
    const which = from.byte();
    const field = FIELDS.find(([number]) => number === which);
    const type = from.signature();
    const value = type === 'u' ? from.number() : type === 'g' ? from.signature() : from.text();
    if (field !== undefined) Object.assign(message, { [field[1]]: value });
  }
  message.body = bodyOf(data, bodyStart, message.signature ?? '');
  return { message, length };
}

/** Writes consecutive values, each at its alignment. */
function writer() {
  let data = Buffer.alloc(0);
  const add = (more: Buffer) => {
    data = Buffer.concat([data, more]);
  };
  const pad = (to: number) => add(Buffer.alloc(align(data.length, to) - data.length));
  const number = (value: number) => {
    pad(4);
    const bytes = Buffer.alloc(4);
    bytes.writeUInt32LE(value);
    add(bytes);
  };
  const text = (value: string) => {
    number(Buffer.byteLength(value));
    add(Buffer.from(`${value}\0`));
  };
  const signature = (value: string) => add(Buffer.from([value.length, ...Buffer.from(`${value}\0`)]));
  return { add, pad, number, text, signature, data: () => data };
}

function bodyBytes(body: DbusMessage['body']): Buffer {
  const to = writer();
  for (const value of body) {
    if (typeof value === 'string') to.text(value);
    else if (Array.isArray(value)) {
      const list = writer();
      for (const item of value) list.text(item);
      to.number(list.data().length);
      to.add(list.data());
    } else to.number(Number(value));
  }
  return to.data();
}

const typeOf = (value: DbusMessage['body'][number]) =>
  typeof value === 'string' ? 's' : typeof value === 'boolean' ? 'b' : Array.isArray(value) ? 'as' : 'u';

/** Encodes a message; its signature is derived from its body. */
export function writeDbusMessage(message: Omit<DbusMessage, 'signature'>): Buffer {
  const body = bodyBytes(message.body);
  const values = { ...message, signature: message.body.map(typeOf).join('') || undefined };
  const fields = writer();
  for (const [number, name, type] of FIELDS) {
    const value = values[name];
    if (value === undefined) continue;
    fields.pad(8);
    fields.add(Buffer.from([number]));
    fields.signature(type);
    if (typeof value === 'number') fields.number(value);
    else if (type === 'g') fields.signature(value);
    else fields.text(value);
  }
  const to = writer();
  to.add(Buffer.from(['l'.charCodeAt(0), TYPES.indexOf(message.type) + 1, 0, 1]));
  to.number(body.length);
  to.number(message.serial);
  to.number(fields.data().length);
  to.add(fields.data());
  to.pad(8);
  to.add(body);
  return to.data();
}
