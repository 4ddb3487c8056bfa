// The part of the protocol-buffer wire format that Google's push protocol needs: https://protobuf.dev/programming-guides/encoding/

/** A message: the values of its fields by number, in order. */
export type Message = Map<number, (number | Buffer)[]>;

function varint(value: number | bigint): Buffer {
  const bytes: number[] = [];
  let remaining = BigInt(value);
  do {
    bytes.push(Number(remaining & 127n) | (remaining > 127n ? 128 : 0));
    remaining >>= 7n;
  } while (remaining > 0n);
  return Buffer.from(bytes);
}

const field = (number: number, type: number, value: Buffer) => Buffer.concat([varint((number << 3) | type), value]);

/** Encodes an integer field. */
export const int = (number: number, value: number) => field(number, 0, varint(value));

/** Encodes a field of eight bytes. */
export function fixed64(number: number, value: bigint): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64LE(value);
  return field(number, 1, bytes);
}

/** Encodes a text, bytes or message field. */
export function bytes(number: number, value: string | Buffer): Buffer {
  const content = Buffer.from(value as string);
  return field(number, 2, Buffer.concat([varint(content.length), content]));
}

/** Encodes the length of data, which precedes the data in frames. */
export const lengthOf = (content: Buffer) => varint(content.length);

/** Reads an integer. Returns it and the offset of its end; undefined if bytes are missing. */
export function readVarint(from: Buffer, start: number): [value: number, end: number] | undefined {
  let value = 0n;
  for (let at = start, shift = 0n; at < from.length; at++, shift += 7n) {
    value |= BigInt(from[at]! & 127) << shift;
    if (from[at]! < 128) return [Number(value), at + 1];
  }
  return undefined;
}

/** Reads a message. Throws if the data is not one. */
export function readMessage(from: Buffer): Message {
  const message: Message = new Map();
  for (let at = 0; at < from.length; ) {
    const [key, begin] = readVarint(from, at)!;
    const [type, number] = [key & 7, key >> 3];
    let value: number | Buffer;
    if (type === 0) [value, at] = readVarint(from, begin)!;
    else {
      const [length, start] = type === 2 ? readVarint(from, begin)! : [type === 1 ? 8 : 4, begin];
      value = from.subarray(start, start + length);
      at = start + length;
    }
    message.set(number, [...(message.get(number) ?? []), value]);
  }
  return message;
}
