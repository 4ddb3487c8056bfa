import fc from 'fast-check';
import { afterEach, expect, test, vi } from 'vitest';
import { createEventParser, type ServerSentEvent } from '../../../packages/client/src/realtime/event-parser.ts';
import { watchWakeUps } from '../../../packages/client/src/realtime/hub.ts';

afterEach(() => void vi.unstubAllGlobals());

function parse(chunks: readonly Uint8Array[], maxLength?: number) {
  const events: ServerSentEvent[] = [];
  const retries: number[] = [];
  let oversized = 0;
  const push = createEventParser(
    {
      onEvent: (event) => events.push(event),
      onRetry: (ms) => retries.push(ms),
      onOversized: () => {
        oversized += 1;
      },
    },
    maxLength,
  );
  for (const chunk of chunks) push(chunk);
  return { events, retries, oversized };
}

const encode = (text: string) => new TextEncoder().encode(text);
const parseText = (text: string, maxLength?: number) => parse([encode(text)], maxLength);

/** Divides bytes at the given places. */
function divide(bytes: Uint8Array, places: readonly number[]): Uint8Array[] {
  const sorted = [0, ...places.map((place) => place % (bytes.length + 1)).sort((a, b) => a - b), bytes.length];
  return sorted.slice(1).map((end, i) => bytes.subarray(sorted[i], end));
}

const line = fc.oneof(
  fc.constantFrom(
    '',
    '',
    'data',
    'data:',
    'data: x',
    'event: a.b',
    'id: 1-0',
    'id',
    'id: \0',
    ':',
    ': comment',
    'retry: 12',
    'retry: x',
  ),
  fc.string({ unit: 'binary' }).map((text) => `data: ${text.replace(/[\r\n]/g, '')}`),
  fc.string({ unit: 'grapheme' }).map((text) => text.replace(/[\r\n]/g, '')),
);
const stream = fc
  .tuple(fc.boolean(), fc.array(fc.tuple(line, fc.constantFrom('\n', '\r', '\r\n'))))
  .map(([hasMark, lines]) => (hasMark ? '\ufeff' : '') + lines.flat().join(''));

test('events are the same however the bytes are divided into chunks', () => {
  fc.assert(
    fc.property(stream, fc.array(fc.nat()), (text, places) => {
      const bytes = encode(text);
      expect(parse(divide(bytes, places))).toEqual(parse([bytes]));
      expect(parse([...bytes].map((byte) => Uint8Array.of(byte)))).toEqual(parse([bytes]));
    }),
  );
});

test('CR, LF and CRLF end lines alike', () => {
  fc.assert(
    fc.property(fc.array(line), (lines) => {
      const [lf, cr, crlf] = ['\n', '\r', '\r\n'].map((end) => parseText(lines.map((one) => one + end).join('')));
      expect(cr).toEqual(lf);
      expect(crlf).toEqual(lf);
    }),
  );
});

test('an event has the lines of its data, its name and the newest id', () => {
  const text =
    'retry: 1500\n\nid: 1-0\nevent: post.created\ndata: {"a":\ndata:1}\n\n: nothing\n\ndata: x\n\nid\ndata\n\n';
  expect(parseText(text)).toEqual({
    events: [
      { id: '1-0', event: 'post.created', data: '{"a":\n1}' },
      { id: '1-0', event: 'message', data: 'x' },
      { id: '', event: 'message', data: '' },
    ],
    retries: [1500],
    oversized: 0,
  });
});

test('an event without data, and one that the stream ends within, is no event', () => {
  expect(parseText('event: a\nid: 7\n\ndata: unfinished').events).toEqual([]);
  expect(parseText('event: a\nid: 7\n\ndata: x\n\n').events).toEqual([{ id: '7', event: 'message', data: 'x' }]);
});

test('a byte order mark at the start is ignored', () => {
  expect(parseText('\ufeffdata: x\n\n').events).toEqual([{ id: '', event: 'message', data: 'x' }]);
});

test('an event that exceeds the limit is dropped and reported once, and the events after it are complete', () => {
  for (const large of [
    `data: ${'x'.repeat(100)}`,
    'data: x\n'.repeat(40).trimEnd(),
    'x'.repeat(100),
    `:${'x'.repeat(100)}`,
  ]) {
    const text = `data: before\n\n${large}\ndata: rest\n\ndata: after\n\n`;
    for (const parsed of [
      parseText(text, 60),
      parse(
        [...encode(text)].map((byte) => Uint8Array.of(byte)),
        60,
      ),
    ]) {
      expect(parsed.events.map(({ data }) => data)).toEqual(['before', 'after']);
      expect(parsed.oversized).toBe(1);
    }
  }
});

test('many comments and many small events do not add up to an oversized event', () => {
  expect(parseText(': heartbeat\n'.repeat(100), 60).oversized).toBe(0);
  expect(parseText('data: x\n\n'.repeat(100), 60).events).toHaveLength(100);
});

/** Stands for the window and the document of a page, which Node lacks. */
function stubPage() {
  const page = new EventTarget();
  const document = Object.assign(new EventTarget(), { visibilityState: 'visible' });
  vi.stubGlobal('addEventListener', page.addEventListener.bind(page));
  vi.stubGlobal('removeEventListener', page.removeEventListener.bind(page));
  vi.stubGlobal('document', document);
  return { page, document };
}

test('connections are checked when the device is online again, and when its user returns to the page', () => {
  const { page, document } = stubPage();
  const wake = vi.fn();
  const stop = watchWakeUps(wake);
  page.dispatchEvent(new Event('online'));
  expect(wake).toHaveBeenCalledTimes(1);
  document.visibilityState = 'hidden';
  document.dispatchEvent(new Event('visibilitychange'));
  expect(wake).toHaveBeenCalledTimes(1);
  document.visibilityState = 'visible';
  document.dispatchEvent(new Event('visibilitychange'));
  expect(wake).toHaveBeenCalledTimes(2);
  stop();
  page.dispatchEvent(new Event('online'));
  document.dispatchEvent(new Event('visibilitychange'));
  expect(wake).toHaveBeenCalledTimes(2);
});

test('outside of browsers, nothing is watched', () => {
  const wake = vi.fn();
  watchWakeUps(wake)();
  expect(wake).not.toHaveBeenCalled();
});
