/**
 * Why an image is refused: its format is not supported, its bytes are malformed, it is too large to be decoded, or too many images are being
 * processed. Clients may see the message.
 */
export type ImageErrorReason = 'unsupported' | 'malformed' | 'too_large' | 'busy';

/** An image is refused. The message says what is wrong with the image, and may be sent to clients. */
export class ImageError extends Error {
  override readonly name = 'ImageError';
  readonly reason: ImageErrorReason;

  constructor(reason: ImageErrorReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}
