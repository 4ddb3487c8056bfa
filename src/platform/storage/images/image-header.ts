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
