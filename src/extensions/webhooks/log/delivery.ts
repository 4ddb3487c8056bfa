/** The states of a delivery. */
export const DELIVERY_STATUSES = ['pending', 'sending', 'succeeded', 'failed'] as const;

export type DeliveryStatus = (typeof DELIVERY_STATUSES)[number];

/** Bytes of a body that the log shows. */
export const PREVIEW_BYTES = 2048;

/** A delivery's row as the log selects it. */
export type DeliveryRow = [
  id: string,
  type: string,
  messageId: string,
  status: DeliveryStatus,
  attempts: number,
  statusCode: number | null,
  durationMs: number | null,
  error: string | null,
  nextAttemptAt: string | null,
  response: string | null,
  /** Size of the body, as stored. */
  bytes: number,
  attemptLog: object[],
  /** Ciphertext of the answer, in the place of `response`. */
  encryptedResponse: string | null,
];

/** The start of a text that fits into `bytes` of UTF-8, cut between characters. */
export function cutBytes(text: string, bytes: number): string {
  const encoded = Buffer.from(text);
  if (encoded.length <= bytes) return text;
  let end = bytes;
  // A byte 10xxxxxx continues a character.
  while (end > 0 && (encoded[end]! & 0xc0) === 0x80) end -= 1;
  return encoded.toString('utf8', 0, end);
}

/** What of a delivery may repeat the record that it tells of. */
export interface DeliveryPreview {
  payload: string;
  payloadTruncated: boolean;
  response: string | null;
}

export type ShownDelivery = ReturnType<typeof showDelivery>;

/**
 * A delivery as the endpoint's owner sees it.
 *
 * @param preview the start of its body, and the receiver's answer; undefined when the owner may not read the body, which the answer may
 *   repeat
 */
export function showDelivery(row: DeliveryRow, preview: DeliveryPreview | undefined) {
  const [id, type, messageId, status, attempts, statusCode, durationMs, error, nextAttemptAt, , , attemptLog] = row;
  return {
    id,
    type,
    messageId,
    status,
    attempts,
    statusCode,
    durationMs,
    error,
    nextAttemptAt: status === 'pending' ? nextAttemptAt : null,
    response: preview?.response ?? null,
    payload: preview?.payload ?? null,
    payloadTruncated: preview?.payloadTruncated ?? false,
    attemptLog,
  };
}
