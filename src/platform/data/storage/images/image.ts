/** The formats of images that are inspected. */
export type ImageFormat = 'png' | 'jpeg' | 'gif' | 'webp' | 'avif' | 'heic';

/** What the header of an image says, before its orientation is applied. */
export interface ImageHeader {
  format: ImageFormat;
  width: number;
  height: number;
  /** The orientation of Exif, 1 to 8. */
  orientation: number;
  /** The number of frames that a decoder has to look at; 1 for a still image. */
  frames: number;
}

/**
 * Why an image is refused: its format is not supported, its bytes are malformed, it is too large to be decoded, or too many images are being
 * processed. Clients may see the message.
 */
type ImageErrorReason = 'unsupported' | 'malformed' | 'too_large' | 'busy';

/** An image is refused. The message says what is wrong with the image, and may be sent to clients. */
export class ImageError extends Error {
  override readonly name = 'ImageError';
  readonly reason: ImageErrorReason;

  constructor(reason: ImageErrorReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}
