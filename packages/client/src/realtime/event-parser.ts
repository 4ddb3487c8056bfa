/** A server-sent event. */
export interface ServerSentEvent {
  /** The newest id of the stream at this event; empty before the first id. */
  id: string;
  /** The name; `message` if the event has none. */
  event: string;
  data: string;
}

/** Receives what a parser finds. */
export interface EventSink {
  onEvent(event: ServerSentEvent): void;
  /** An event was larger than the limit and was dropped. */
  onOversized(): void;
  /** The server asks clients to wait this long before they reconnect, in ms. */
  onRetry(ms: number): void;
}

// In UTF-16 units. A record has at most a few megabytes, and an update contains two of them.
const MAX_EVENT_LENGTH = 16_777_216;
const LINE_END = /\r\n|\r|\n/g;

/**
 * Creates a parser of server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html). Chunks may end anywhere, also
 * within a character or between CR and LF.
 *
 * @param maxLength maximum length of an event in UTF-16 units. A longer event is dropped, so that a broken server cannot exhaust the memory.
 * @returns a function that takes the next chunk of the response
 */
export function createEventParser(sink: EventSink, maxLength = MAX_EVENT_LENGTH): (chunk: Uint8Array) => void {
  // Drops a byte order mark at the start.
  const decoder = new TextDecoder();
  /** The parts of the unfinished line. They are joined once, because joining after each chunk takes quadratic time. */
  let line: string[] = [];
  let length = 0;
  let isOversized = false;
  let endsWithCr = false;
  let [id, event] = ['', ''];
  let data: string[] = [];

  function dispatch(): void {
    if (isOversized) sink.onOversized();
    else if (data.length > 0) sink.onEvent({ id, event: event || 'message', data: data.join('\n') });
    [event, data, length, isOversized] = ['', [], 0, false];
  }

  function parseLine(text: string): void {
    const colon = text.indexOf(':');
    if (colon === 0 || isOversized) return;
    const name = colon === -1 ? text : text.slice(0, colon);
    const value = colon === -1 ? '' : text.slice(text[colon + 1] === ' ' ? colon + 2 : colon + 1);
    if (name === 'data') data.push(value);
    else if (name === 'event') event = value;
    else if (name === 'id' && !value.includes('\0')) id = value;
    else if (name === 'retry' && /^\d{1,9}$/.test(value)) sink.onRetry(Number(value));
  }

  function addToLine(part: string): void {
    length += part.length;
    if (!isOversized && length > maxLength) [isOversized, line, data] = [true, [], []];
    // A part of an oversized line is kept as one character: only an empty line ends the event.
    if (!isOversized) line.push(part);
    else if (part !== '' && line.length === 0) line.push(':');
  }

  function endLine(): void {
    const text = line.join('');
    line = [];
    // Comments are complete by themselves. They must not add up to an oversized event.
    if (text.startsWith(':') && !isOversized) length -= text.length;
    if (text === '') dispatch();
    else parseLine(text);
  }

  return (chunk) => {
    const text = decoder.decode(chunk, { stream: true });
    if (text === '') return;
    // The LF of a CRLF that a chunk boundary has divided.
    let start = endsWithCr && text[0] === '\n' ? 1 : 0;
    endsWithCr = text.endsWith('\r');
    LINE_END.lastIndex = start;
    for (let end = LINE_END.exec(text); end !== null; end = LINE_END.exec(text)) {
      addToLine(text.slice(start, end.index));
      endLine();
      start = LINE_END.lastIndex;
    }
    if (start < text.length) addToLine(text.slice(start));
  };
}
